"""Programs whose words no table can tell: ps and dd."""

import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.tool_table import TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word

_BSD: Final = re.compile(r"[0-9,]+|[axufjlsvXrwhnSTgLmHcZ]*(?:([oO])|[pUkt])?")
_SELECTS: Final = ("-u", "-U", "-g", "-G", "-t", "-s", "-p", "-q")
_COLUMNS: Final = ("-o", "-O", "--format")
_FORMATS: Final = ("-f", "-F", "-j", "-l", "-y", "-c", "-M", "-Z")
_EVERY_LETTER: Final = frozenset("acefghjklmnoOprstuUvwxXZTLSHNMV0123456789,")


def inspect_ps(args: "Sequence[Word]") -> CommandFacts:
    """Let `ps` list processes without their environment (`ps e`, unlike `ps -e`, prints it)."""
    found = scan(TOOLS["ps"], args)
    letters, words = "", iter(found.operands)
    for word in words:
        cluster = _BSD.fullmatch(word.text)
        if cluster is None or not word.static:
            found.refuse(f"ps {word.text!r} may print the environment of processes")
        elif not word.text.strip("0123456789,"):
            continue
        elif word.text[-1] in "oOpUkt" and (value := next(words, None)) is not None and cluster[1]:
            found.look(value, "column")
        letters += word.text
    if any(value.text[:1] == "-" for value in found.values(*_SELECTS)):
        found.refuse("ps takes an option for a value")
    shown = {value.text for value in found.values(*_COLUMNS, "--sort")}
    has_e = any("e" in word.text for word in args if word.text[:2] != "--" and word.text not in shown)
    if has_e and _may_be_read_again(found, letters):
        found.refuse("ps may print the environment of processes")
    return found.facts()


def _may_be_read_again(found: Scan, letters: str) -> bool:
    """Tell whether `ps` may take all words as BSD letters, as it does whenever the dashed words do not fit together.

    `ps -auxe` asks for the user `xe`; without such a user it means `ps auxe`, which prints environments. So does
    `ps -axe`, since there is no `-x`, and what mixes formats, or threads with a forest.
    """
    selected = [value.text for value in found.values(*_SELECTS) if not value.text.replace(",", "").isdigit()]
    unknown = bool(selected) and all(set(name) <= _EVERY_LETTER for name in selected)
    forest = "f" in letters or found.has("-H", "--forest")
    clash = (found.has(*_COLUMNS) and found.has(*_FORMATS)) or (forest and found.has("-L", "-T", "-m"))
    return unknown or clash or found.has("-x")


def inspect_dd(args: "Sequence[Word]") -> CommandFacts:
    """Report what `dd` copies; it is never read-only."""
    pairs = [word.text.partition("=") for word in args if word.static]
    reads = tuple(value for key, _, value in pairs if key == "if")
    writes = tuple(value for key, _, value in pairs if key == "of")
    return CommandFacts("dd copies raw data", reads, writes, kind="edit")

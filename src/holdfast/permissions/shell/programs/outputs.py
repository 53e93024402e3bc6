"""Files that programs write because an option or their own small language says so, for rules and protected paths.

`strace -o f` and `openssl -out f` write what they are told to; nothing is allowed because of these names.
"""

import posixpath
import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.git_calls import git_front
from holdfast.permissions.shell.programs.operands import inside, option_values
from holdfast.permissions.shell.programs.program import git_having, having, names_of, told
from holdfast.permissions.shell.words.quoting import known_literal
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.permissions.shell.programs.awk import AwkFiles
    from holdfast.permissions.shell.programs.sed import SedFiles
    from holdfast.permissions.shell.words.parts import Part

__all__ = ["SCRIPTED", "TELLING", "handed_texts", "outputs_of", "writes_untold"]

_AWK: Final = names_of("awk")
SCRIPTED: Final = names_of("sed") | _AWK
"""Programs with a small language of their own."""
_OUT: Final = (
    *("-o", "--output", "--output-file", "--output-dir", "--output-directory", "--out", "--outfile", "--out-file"),
    *("--outdir", "--out-dir", "--log-file", "--logfile", "--save-to", "--dump-to"),
)
_ONE_DASH: Final = names("-out -output -outfile -outdir -keyout -logfile -Logfile -csr -crl_out -sigfile -writerand")
"""Long options that start with one dash."""
_NO_FILE: Final = having("o-is-no-file")
"""Programs to which `-o` says something else, or whose outputs other tables name."""
_OUTPUTS: Final = {name: tuple(text.split()) for name, text in told("outputs").items()}
"""Further options that name a file or a directory to write."""
_GIT_WRITES: Final = git_having("writes-named")
_EDITORS: Final = having("vi")
_SAVES: Final = re.compile(
    r"(?:^\+?|[|:])[ \t]*(?:w|wq|x|xit|up|update|write|sav|saveas)!?[ \t]+(?:>>[ \t]*)?([^\s|]+)"
)
"""What an editor is told to write, in its own commands."""
_FIRST: Final = having("writes-first")
_LAST: Final = having("writes-last")
_COPYING_SUBCOMMAND: Final = having("in-container")
"""Of those, programs that only write with `cp`."""
_IN_PLACE: Final = {name: text.split() for name, text in told("rewrites-with").items()}
"""Programs that rewrite the files they are given, and the words with which they do."""
_ARCHIVING: Final = having("archives")
_ONLY_SAYS: Final = names("--check --diff --check-only --dry-run --list-different -l -n")
TELLING: Final = (
    SCRIPTED | _LAST | _ARCHIVING | frozenset(_IN_PLACE) | _EDITORS | _FIRST | having("edits-named") | {"git"}
)
"""Programs that are told what to write without an option."""


def outputs_of(part: "Part") -> "Iterator[str]":
    """What the options of a command name as its output."""
    if part.refusal is None or not part.texts:
        return
    name, texts = part.name, part.texts
    options = _OUTPUTS.get(name, ())
    if name not in _NO_FILE:
        options = (*_OUT, *options)
    if options and any(text[:1] == "-" for text in texts):
        yield from filter(None, option_values(part, options))
    yield from (texts[at + 1] for at, text in enumerate(texts[:-1]) if text in _ONE_DASH)
    if name == "git":
        yield from _of_git(part)
    if name in _EDITORS:
        yield from (found[1] for text in texts[1:] for found in _SAVES.finditer(text))
    yield from _by_operands(part)
    if name in _FIRST:
        yield from next(([text] for text in texts[1:] if text[:1] != "-"), ())


def _by_operands(part: "Part") -> "Iterator[str]":
    """What a program writes because it stands among its operands; in a directory, anything."""
    name, texts = part.name, part.texts
    operands = [text for text in texts[1:] if text[:1] != "-"]
    found: list[str] = []
    if name in _LAST and (name not in _COPYING_SUBCOMMAND or "cp" in texts):
        found = [place for place in operands[1:][-1:] if ":" not in place]
    elif name in _IN_PLACE and _ONLY_SAYS.isdisjoint(texts):
        needed = _IN_PLACE[name]
        found = operands if not needed or not set(needed).isdisjoint(texts) else []
    elif name in _ARCHIVING and operands[:1] and operands[0][:1] in ("a", "u", "d", "r", "q"):
        found = operands[1:2]
    for place in found:
        yield place
        yield inside(place)


def _of_git(part: "Part") -> "Iterator[str]":
    """Files of the working directory that a git command removes, moves or brings back, and directories it makes."""
    texts, front = part.texts, git_front([known_literal(text) for text in part.texts[1:]])
    at = front.end + 1
    subcommand, rest = (texts[at], texts[at + 1 :]) if at < len(texts) else ("", ())
    places = [word.text for word in front.values("-C")] or [""]
    operands = [text for text in rest if text[:1] != "-"]
    if subcommand == "config":
        operands = list(option_values(part, ("-f", "--file")))
    elif subcommand in ("checkout", "reset", "stash"):
        operands = list(rest[rest.index("--") + 1 :]) if "--" in rest else []
    elif subcommand in ("worktree", "bundle", "submodule"):
        operands = operands[1:]
    elif subcommand not in _GIT_WRITES:
        return
    for name in operands:
        yield from (posixpath.join(place, name) for place in places)
        yield from (posixpath.join(place, name, "x") for place in places if subcommand in ("rm", "mv", "clean"))


def handed_texts(part: "Part") -> "tuple[str, ...]":
    """Texts that the small language of a command gives to a shell."""
    return () if (opened := _opened_by_script(part)) is None else opened.commands


def writes_untold(part: "Part") -> bool:
    """Whether a script in a command may write a file whose name is not in the text."""
    return (opened := _opened_by_script(part)) is not None and not opened.understood


def _opened_by_script(part: "Part") -> "AwkFiles | SedFiles | None":
    """What the script of a command does that is not proven to read; None where there is no script."""
    if part.refusal is None or part.name not in SCRIPTED:
        return None
    from holdfast.permissions.shell.programs.awk import awk_files  # noqa: PLC0415 - few programs come here
    from holdfast.permissions.shell.programs.sed import SedFiles, script_of, sed_files  # noqa: PLC0415 - see above

    if part.name in _AWK:
        return awk_files(part.argv[1:])
    script = script_of(part.argv[1:])
    return SedFiles(understood=script is not None) if not script else sed_files(script)

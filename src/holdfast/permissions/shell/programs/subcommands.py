"""Where the subcommand of a program stands: behind options, some of which take a value."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.options import Scan
from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.programs.tool_table import named, read_tool
from holdfast.permissions.shell.words.quoting import known_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word

FRONTS: Final = {name: read_tool(text, kind="wrapper") for name, text in told("front").items()}
"""Programs with subcommands, and the options in front of those; of others nobody knows."""
_MAX_PLACES: Final = 32


def front(name: str, words: "Sequence[Word]") -> Scan:
    """Read the options in front of the subcommand of a program; `words` are its arguments."""
    found = Scan(FRONTS[name], words)
    found.sort()
    return found


def after_global_options(name: str, texts: "Sequence[str]") -> int:
    """Where the subcommand of a program stands; the first argument of a program that has none."""
    if name not in FRONTS:
        return 1
    return len(texts) - len(front(name, [known_literal(text) for text in texts[1:]]).operands)


def subcommand_places(name: str, texts: "Sequence[str]") -> list[int]:
    """Every place where the subcommand may stand: an option that is not known takes the next word, or does not."""
    tool, reached, found = FRONTS.get(name), {1}, list[int]()
    for at in range(1, min(len(texts), _MAX_PLACES)):
        text = texts[at]
        if at not in reached:
            continue
        option = None if tool is None else named(tool, text)
        if text[:1] != "-" or text == "-":
            found.append(at)
        elif option is not None and option.takes == "value":
            reached.add(at + 2)
        elif text == "--" or "=" in text or option is not None:
            reached.add(at + 1)
        else:
            reached |= {at + 1, at + 2}
    return found

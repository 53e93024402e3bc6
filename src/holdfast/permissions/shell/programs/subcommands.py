"""Where the subcommand of a program stands: behind options, some of which take a value."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.programs.tool_table import parse_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.permissions.shell.programs.tool_table import Option

_FRONT: Final = {name: parse_options(text) for name, text in told("front").items()}


def _options_of(short: "Mapping[str, Option]", long: "Mapping[str, Option]", *takes: str) -> frozenset[str]:
    known = {
        **{f"-{name}": option for name, option in short.items()},
        **{f"--{name}": one for name, one in long.items()},
    }
    return frozenset(name for name, option in known.items() if option.takes in takes)


GLOBAL_VALUED: Final = {name: _options_of(*front, "value") for name, front in _FRONT.items()}
"""Programs with subcommands, and their options with a value that stand in front of those."""
_FLAGS: Final = {name: _options_of(*front, "none", "glued") for name, front in _FRONT.items()}
"""Options without a value in front of a subcommand; of others nobody knows."""
_MAX_PLACES: Final = 32


def after_global_options(name: str, texts: "Sequence[str]") -> int:
    """Where the subcommand of a program stands; the first argument of a program that has none."""
    valued, at = GLOBAL_VALUED.get(name), 1
    while valued is not None and at < len(texts) and texts[at][:1] == "-":
        at += 2 if texts[at] in valued else 1
    return at


def subcommand_places(name: str, texts: "Sequence[str]") -> list[int]:
    """Every place where the subcommand may stand: an option that is not known takes the next word, or does not."""
    valued, flags = GLOBAL_VALUED.get(name, frozenset[str]()), _FLAGS.get(name, frozenset[str]())
    reached, found = {1}, list[int]()
    for at in range(1, min(len(texts), _MAX_PLACES)):
        text = texts[at]
        if at not in reached:
            continue
        if text[:1] != "-" or text == "-":
            found.append(at)
        elif text == "--":
            reached.add(at + 1)
        elif text in valued:
            reached.add(at + 2)
        elif "=" in text or text in flags:
            reached.add(at + 1)
        else:
            reached |= {at + 1, at + 2}
    return found

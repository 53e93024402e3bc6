"""Names that one command hands to another: `echo /proc/self/environ | xargs cat` reads what `cat` does not name."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.parts import Part

_SPECIAL: Final = re.compile(r"proc|dev(?!/null)|\s\"?'?/(?:[\s\"';|)]|$)")
_PATTERN: Final = frozenset("*?[{")
_LISTING: Final = frozenset({"find", "ls", "fd", "fdfind", "rg", "tree", "du"})


def may_be_special(command: str) -> bool:
    """Whether the text holds something without which nothing is the name of a device or of a process."""
    return _SPECIAL.search(command) is not None or ("/" in command and not _PATTERN.isdisjoint(command))


def passed_on(parts: "Sequence[Part]", inputs: "Sequence[str]") -> str:
    """Why a device or the environment of a process may be read by a name that arrives at run time, or "".

    Args:
        parts: commands, of which at least one reads files whose names the text does not tell.
        inputs: what the text itself gives to standard input.
    """
    from holdfast.permissions.shell.commands.devices import path_refusal, special_read_refusal  # noqa: PLC0415 - heavy

    for part in parts:
        listing = part.name in _LISTING
        for word in part.argv[1:]:
            text = word.text
            if text[:1] == "/" or ".." in text:
                reason = special_read_refusal(word, recursive=listing)
                if reason is not None:
                    return f"{reason}, and its name is passed on"
    for given in inputs:
        for text in given.split():
            reason = path_refusal(text)
            if reason is not None:
                return f"{reason}, and its name is passed on"
    return ""

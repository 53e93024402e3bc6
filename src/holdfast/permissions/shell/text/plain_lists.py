"""Lists of plain commands, read without the grammar: `cd src && grep -rn 'a b' . 2>/dev/null | head -5; ls`.

Much of what models run is this simple, and the tree costs a third of the whole time. What is found is, field by field,
what the walk of the tree finds.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.words.quoting import certain_texts
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_CHARS: Final = 1_000
_MAX_COMMANDS: Final = 64
_COMMAND: Final = re.compile(
    r"""([A-Za-z./][A-Za-z0-9_./+-]*(?![^ |;&])"""
    r"""(?:[A-Za-z_./:=@%+,^ -]+(?![A-Za-z_./:=@%+,^ -])|[0-9]+(?![0-9>])|(?<=[A-Za-z0-9^])~|'[^']*'|"[^"$`\\]*")*)"""
    r"((?:(?<= )2>(?: ?/dev/null|&1)(?![^ ;|&]) ?)*)(\|\|?|&&|;|\Z) ?"
)
"""One command, its redirects and what joins it to the next."""
_REDIRECT: Final = re.compile(r"2> ?[^ ]+")
_NOT_COMMANDS: Final = names(
    "if then else elif fi do done case esac while until for select in function coproc time"
    " declare typeset export readonly local unset unsetenv"
)
"""Words that begin something else than a simple command, for the shell or for the grammar."""


class PlainCommand(NamedTuple):
    """One command of a list.

    Attributes:
        joint: what joins it to the one before: "|", "||", "&&", ";", or "" for the first.
        start: where it starts in the text; `end`: where it ends, with its redirects.
        texts: its words with quotes removed.
        redirects: the usual ones, as written.
    """

    joint: str
    start: int
    end: int
    texts: list[str]
    redirects: "Sequence[str]"


def plain_commands(text: str) -> list[PlainCommand] | None:
    """Cut a text into commands whose every word is certain, or None when there is anything else in it."""
    if len(text) > _MAX_CHARS or not (text.isascii() and text.isprintable()) or " =" in text:
        return None
    found: list[PlainCommand] = []
    joint, at = "", 0
    while True:
        piece = _COMMAND.match(text, at)
        if piece is None or len(found) == _MAX_COMMANDS:
            return None
        words, redirects, following = piece.groups()
        source = words.rstrip(" ")
        texts = certain_texts(source) if "'" in source or '"' in source else source.split()
        if not texts or texts[0] in _NOT_COMMANDS:
            return None
        end = at + len(source)
        if redirects:
            if texts[-1] == "-" or "<" in source:  # there the grammar goes its own ways
                return None
            end = piece.end(2) - (redirects[-1] == " ")
        found.append(PlainCommand(joint, at, end, texts, _REDIRECT.findall(redirects) if redirects else ()))
        if not following:
            return found
        joint, at = following, piece.end()

"""Substitutions that are known not to start with a dash, so that no tool takes them for an option."""

import re
from typing import Final

_REVISION: Final = r"[A-Za-z0-9_@][A-Za-z0-9_./~^@-]*"
_HASHES: Final = re.compile(
    rf"\$\(git (?:merge-base(?: {_REVISION}){{2,4}}|rev-parse(?: --(?:short|verify|quiet))* {_REVISION}"
    rf"|rev-list(?: -n ?[0-9]+| -[0-9]+| --max-count=[0-9]+| --reverse| --no-merges)* {_REVISION})\)"
)
"""These print the names of commits; `rev-parse` prints a revision that it does not know as it stands."""
_NOT_GLUED: Final = re.compile(r"\"?(?:[\s;|&).~^:]|\Z)")
"""What follows in the text: of an expansion that gives nothing, the rest of the word alone is left."""


def gives_hashes(text: str, view: str, end: int) -> bool:
    """Whether a substitution, which ends there in the text, gives names of commits or nothing."""
    return _HASHES.fullmatch(text) is not None and _NOT_GLUED.match(view, end) is not None

"""What the operators of `${name…}` make of a value that is known."""

import re
from typing import Final

from holdfast.permissions.shell.words.patterns import is_wild, matches_text

_MAX_CHARS: Final = 512
_CUT: Final = re.compile(r"(%%?|##?)(.*)", re.DOTALL)
_SLICE: Final = re.compile(r":\s*(-?[0-9]{1,9})(?::\s*(-?[0-9]{1,9}))?")
_REPLACE: Final = re.compile(r"/([/#%]?)([^/]+)(?:/(.*))?", re.DOTALL)
_UNCERTAIN: Final = frozenset("$`'\"\\")


def applied(value: str, operator: str) -> str | None:
    """Give what is left of a value behind `%`, `#`, `/` or `:` and their kin; None when that is not certain."""
    if len(value) > _MAX_CHARS or len(operator) > _MAX_CHARS or not _UNCERTAIN.isdisjoint(operator):
        return None
    cut = _CUT.fullmatch(operator)
    if cut is not None:
        return _without(value, cut[1], cut[2])
    part = _SLICE.fullmatch(operator)
    if part is not None:
        start = int(part[1])
        rest = value[start:] if start >= 0 or -start <= len(value) else ""
        return rest if part[2] is None else rest[: int(part[2])]
    swap = _REPLACE.fullmatch(operator)
    if swap is None or is_wild(swap[2]):
        return None
    where, old, new = swap[1], swap[2], swap[3] or ""
    if where in ("#", "%"):
        fits = value.startswith(old) if where == "#" else value.endswith(old)
        short = value.removeprefix(old) if where == "#" else value.removesuffix(old)
        return (new + short if where == "#" else short + new) if fits else value
    return value.replace(old, new) if where else value.replace(old, new, 1)


def _without(value: str, operator: str, pattern: str) -> str:
    """Cut off the shortest or longest end or beginning that a pattern matches."""
    ends = operator[0] == "%"
    places = range(len(value) + 1)
    shortest = len(operator) == 1
    for at in reversed(places) if ends == shortest else places:
        if matches_text(pattern, value[at:] if ends else value[:at]):
            return value[:at] if ends else value[at:]
    return value

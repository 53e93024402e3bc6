"""Patterns for one name: `*`, `?` and `[…]` as `fnmatch` reads them, on every Python alike and in linear time.

The standard module makes atomic groups of them, which CPython 3.11.0 to 3.11.4 match wrongly.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["fnmatchcase", "matching_paths"]

_WILD = re.compile(r"[*?\[]")


class _Pattern(NamedTuple):
    """What stands before, between and behind the stars: each of a fixed length."""

    head: re.Pattern[str]
    middle: tuple[re.Pattern[str], ...]
    tail: re.Pattern[str] | None
    tail_chars: int


def fnmatchcase(name: str, pattern: str) -> bool:
    """Whether the whole name fits the pattern, letter case included."""
    head, middle, tail, tail_chars = _compiled(pattern)
    if tail is None:
        return head.fullmatch(name) is not None
    found = head.match(name)
    for piece in middle:
        found = found and piece.search(name, found.end())
    at = len(name) - tail_chars
    return found is not None and found.end() <= at and tail.match(name, at) is not None


@lru_cache(maxsize=4_096)
def _compiled(pattern: str) -> _Pattern:
    pieces: list[list[str]] = [[]]
    for atom in _atoms(pattern):
        if atom:
            pieces[-1].append(atom)
        else:
            pieces.append([])
    head, *rest = (re.compile("".join(piece), re.DOTALL) for piece in pieces)
    middle = tuple(piece for piece in rest[:-1] if piece.pattern)
    return _Pattern(head, middle, rest[-1] if rest else None, len(pieces[-1]))


def _atoms(pattern: str) -> Iterator[str]:
    """One regular expression for each character of a name; an empty text for a star."""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            yield ""
        elif char == "?":
            yield "."
        elif char == "[" and (end := pattern.find("]", at + 1 + pattern.startswith("!", at))) > 0:
            yield _set(pattern[at:end])
            at = end + 1
        else:
            yield re.escape(char)


def _set(inside: str) -> str:
    negated = inside.startswith("!")
    at, found = int(negated), list[str]()
    while at < len(inside):
        low = high = inside[at]
        if inside.startswith("-", at + 1) and at + 2 < len(inside):
            high = inside[at + 2]
            at += 2
        at += 1
        if low <= high:
            found.append(f"\\U{ord(low):08x}-\\U{ord(high):08x}")
    if not found:
        return "." if negated else "(?!)"
    return f"[{'^' * negated}{''.join(found)}]"


def matching_paths(pattern: str, directory: str) -> Iterator[str]:
    """Paths that exist and fit a pattern; a star takes no slash, and no dot at the start of a name.

    Args:
        pattern: relative or absolute, as are the paths.
        directory: where a relative one starts.
    """
    lead = "/" if pattern.startswith("/") else ""
    segments = [segment for segment in pattern.split("/") if segment]
    for path in _below(lead, segments, directory):
        if not pattern.endswith("/"):
            yield path
        elif os.path.isdir(os.path.join(directory, path)):
            yield path + "/"


def _below(path: str, segments: list[str], directory: str) -> Iterator[str]:
    if not segments:
        if path and os.path.lexists(os.path.join(directory, path)):
            yield path
        return
    lead = path + "/" if path and not path.endswith("/") else path
    segment, *rest = segments
    names = [segment] if not _WILD.search(segment) else _names(os.path.join(directory, path), segment)
    for name in names:
        yield from _below(lead + name, rest, directory)


def _names(place: str, segment: str) -> Iterator[str]:
    try:
        with os.scandir(place or ".") as entries:
            for entry in entries:
                if (segment[0] == "." or entry.name[0] != ".") and fnmatchcase(entry.name, segment):
                    yield entry.name
    except OSError:
        return

"""Wildcards as bash reads them: which names a pattern may match, and what patterns have in common."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_T = TypeVar("_T")
_MAX_PATTERN: Final = 512
"""Longer patterns for one name are not read: they may match anything."""
WILD: Final = frozenset("*?[")
"""Characters without which a name is no pattern."""
_MAX_NAMED: Final = 256
_NOTHING: Final = "x"
_EXTENDED: Final = re.compile(r"[?*+@!]\(")
_ORDINARY: Final = ("src", "docs", "tests", "main.py", "node_modules", "package.json")
_HIDDEN: Final = (".git", ".config", ".cache", ".local", ".ssh", ".env")
_ALL: Final = names("* .* ** .[!.]* ..?*")


def is_wild(text: str) -> bool:
    """Whether some character of a name is a wildcard."""
    return not WILD.isdisjoint(text) or _EXTENDED.search(text) is not None


def takes_all(pattern: str) -> bool:
    """Whether a pattern stands for nearly everything in a directory, or for every hidden name there."""
    if pattern in _ALL or not is_wild(pattern):
        return pattern in _ALL
    return any(all(fits(pattern, name) for name in samples) for samples in (_ORDINARY, _HIDDEN))


def fits(pattern: str, name: str, *, dotted: bool = False) -> bool:
    """Whether a pattern for one component may match a name, in whichever case.

    Args:
        pattern: without quotes; what it does not tell for certain (`[[:alpha:]]`, `@(a|b)`) matches anything.
        name: the name.
        dotted: whether a wildcard also matches a leading dot.
    """
    if name[:1] == "." and pattern[:1] != "." and not dotted:
        return False
    return len(pattern) > _MAX_PATTERN or covers(_atoms(pattern.casefold()), name.casefold(), _atom_fits)


def matches_text(pattern: str, text: str) -> bool:
    """Whether a short pattern matches all of a text that is no name: wildcards match slashes and dots too."""
    return len(pattern) <= _MAX_PATTERN and covers(_atoms(pattern), text, _atom_fits)


def covers(pattern: "Sequence[_T | None]", items: "Sequence[str]", fit: "Callable[[_T, str], bool]") -> bool:
    """Whether a pattern matches a sequence as a whole; None in it stands for any number of items."""
    at, item, star, back = 0, 0, -1, 0
    while item < len(items):
        atom = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and atom is None:
            star, back = at, item
            at += 1
        elif atom is not None and fit(atom, items[item]):
            at, item = at + 1, item + 1
        elif star >= 0:
            back += 1
            at, item = star + 1, back
        else:
            return False
    return all(atom is None for atom in pattern[at:])


def _atom_fits(atom: str, char: str) -> bool:
    """Whether one character of a name is one that an atom stands for: `x`, `?`, `[abc]` or `[!abc]`."""
    if len(atom) == 1:
        return atom in ("?", char)
    negated = atom[1] in "!^"
    inside = atom[2 if negated else 1 : -1]
    at, found = 0, False
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            found = found or inside[at] <= char <= inside[at + 2]
            at += 3
        else:
            found = found or inside[at] == char
            at += 1
    return found != negated


@lru_cache(maxsize=256)
def _atoms(pattern: str) -> tuple[str | None, ...]:
    return tuple(_each_atom(pattern))


def _each_atom(pattern: str) -> "Iterator[str | None]":
    at = 0
    while at < len(pattern):
        char, end = pattern[at], at + 1
        if _EXTENDED.match(pattern, at):
            yield None  # what stands behind it is left to the last bracket
            end = pattern.rfind(")") + 1 or len(pattern)
        elif char == "*":
            yield None
        elif char == "[" and (close := _closing(pattern, at)) > 0:
            end = close + 1
            yield "?" if any(mark in pattern[at + 1 : end] for mark in ("[:", "[.", "[=")) else pattern[at:end]
        else:
            yield char
        at = max(end, at + 1)


def _closing(pattern: str, start: int) -> int:
    """Where the set that is opened here ends, or -1."""
    at = start + (2 if pattern[start + 1 : start + 2] in ("!", "^") else 1)
    at += pattern[at : at + 1] == "]"
    while at < len(pattern):
        if pattern[at] == "]":
            return at
        named = pattern[at] == "[" and pattern[at + 1 : at + 2] in (":", ".", "=")
        end = pattern.find(pattern[at + 1] + "]", at + 2) if named else -1
        at = end + 2 if end > 0 else at + 1
    return -1


def named_by(pattern: str, wanted: "Collection[str]") -> "Iterator[str]":
    """Paths the pattern would match when the directories hold files with these names."""
    paths = [""]
    for position, segment in enumerate(pattern.split("/")):
        fitting = [segment]
        if not WILD.isdisjoint(segment):
            shell = segment.replace("[^", "[!")
            fitting = [name for name in wanted if fnmatchcase(name, shell) and (name[0] != "." or segment[0] == ".")]
            fitting = fitting or [_NOTHING]
        lead = "/" if position else ""
        paths = [path + lead + name for path in paths for name in fitting][:_MAX_NAMED]
    yield from paths


def merged_names(pattern: str, wanted: "Collection[str]") -> "Iterator[str]":
    """Names that fit a component of a pattern and a wanted pattern at once, built from the ends of both."""
    for segment in pattern.split("/"):
        for other in () if WILD.isdisjoint(segment) else wanted:
            if WILD.isdisjoint(other):
                continue
            (head, tail), (other_head, other_tail) = _ends(segment), _ends(other)
            for middle in ("", "x"):
                name = max(head, other_head, key=len) + middle + max(tail, other_tail, key=len)
                if name and fnmatchcase(name, segment) and fnmatchcase(name, other):
                    yield name


def patterns_meet(one: str, two: str) -> bool:
    """Whether some name may match both, as far as their ends tell."""
    if WILD.isdisjoint(one):
        return fnmatchcase(one, two)
    if WILD.isdisjoint(two):
        return fnmatchcase(two, one)
    (head, tail), (other_head, other_tail) = _ends(one), _ends(two)
    heads = head.startswith(other_head) or other_head.startswith(head)
    return heads and (tail.endswith(other_tail) or other_tail.endswith(tail))


def longest_literal(pattern: str) -> str:
    """The longest text that every name matching a pattern holds."""
    plain = pattern.replace("?", "*").replace("\\", "*")
    head, opened, rest = plain.partition("[")
    runs = head.split("*") + (rest.rpartition("]")[2].split("*") if opened else [])
    return max(runs, key=len)


def _ends(pattern: str) -> tuple[str, str]:
    """The literal text at both ends of a pattern."""
    at = min(position for position, char in enumerate(pattern) if char in WILD)
    end = max(position for position, char in enumerate(pattern) if char in "*?]" or position == at)
    return pattern[:at], pattern[end + 1 :]

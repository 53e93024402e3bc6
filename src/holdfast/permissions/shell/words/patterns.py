"""Braces and wildcards as bash reads them: which names a word that is not quoted may become."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from holdfast.permissions.shell.words.braces import TooManyWordsError, expand_braces
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["brace_words", "covers", "fits", "is_wild", "matches_text", "takes_all"]

_T = TypeVar("_T")
_MAX_WORDS: Final = 1_024
_MAX_WORK: Final = 100_000
"""How many words, and characters on the way to them, are made of braces; beyond that nobody follows them."""
_MAX_PATTERN: Final = 512
"""Longer patterns for one name are not read: they may match anything."""
_WILD: Final = frozenset("*?[")
_OPAQUE: Final = frozenset("'\"\\`$(")
_EXTENDED: Final = re.compile(r"[?*+@!]\(")
_TOKEN: Final = re.compile(r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.|`[^`]*`|\$[{(]|[{},()]""", re.DOTALL)
_NUMBERS: Final = re.compile(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?:\.\.-?[0-9]{1,18})?")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?[0-9]{1,18})?")
_ANY_NUMBER: Final = "[0-9-]*"
_ORDINARY: Final = ("src", "docs", "tests", "main.py", "node_modules", "package.json")
_HIDDEN: Final = (".git", ".config", ".cache", ".local", ".ssh", ".env")
_ALL: Final = names("* .* ** .[!.]* ..?*")


def brace_words(form: str) -> list[str] | None:
    """Give the words that the braces of one word make, `${…}` and quotes left as they are; None when too many."""
    if "{" not in form:
        return [form]
    if len(form) > _MAX_WORK:
        return None
    try:
        return expand_braces(form, _MAX_WORDS, _members, _past_opaque)
    except TooManyWordsError:
        return None


def _past_opaque(text: str, at: int) -> int:
    """Where a quote, an expansion or a parenthesis ends that starts here; else the same place."""
    if text[at] not in _OPAQUE:
        return at
    token = _TOKEN.match(text, at)
    if token is None:
        return at
    opened = 0
    for token in _TOKEN.finditer(text, at):
        sign = token.group()
        if sign in ("${", "$(", "(") or (sign == "{" and opened):
            opened += 1
        elif sign in ("}", ")"):
            opened -= 1
        if opened <= 0:
            return token.end()
    return len(text)


def _members(inside: str) -> list[str]:
    letters, numbers = _LETTERS.fullmatch(inside), _NUMBERS.fullmatch(inside)
    if letters is not None:
        low, high = sorted(map(ord, letters.groups()))
        return [chr(code) for code in range(low, high + 1)]
    if numbers is None:
        return []
    one, two = numbers.groups()
    low, high = sorted((int(one), int(two)))
    if high - low >= _MAX_WORDS:
        return [_ANY_NUMBER]
    padded = any(len(number.lstrip("-")) > 1 and number.lstrip("-")[0] == "0" for number in (one, two))
    return [str(number).zfill(max(len(one), len(two)) if padded else 0) for number in range(low, high + 1)]


def is_wild(text: str) -> bool:
    """Whether some character of a name is a wildcard."""
    return not _WILD.isdisjoint(text) or _EXTENDED.search(text) is not None


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

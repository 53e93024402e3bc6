"""Wildcards and braces as bash reads them: which names a pattern may match, and which words braces make.

Braces are read here alone, as bash has them: `a{b,c}`, `{1..3}`, and `{x}b,c}`, whose first brace closes nothing.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.words.word import names

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


MAX_BRACE_WORDS: Final = 256
"""So many words are made of one; beyond that the text does not tell which."""
_MAX_OPENED: Final = 64
_MAX_WORK: Final = 400_000
_SEQUENCE: Final = re.compile(r"(-?[0-9]{1,18}|[A-Za-z])\.\.(-?[0-9]{1,18}|[A-Za-z])(?:\.\.(-?[0-9]{1,9}))?")
_OPAQUE: Final = frozenset("'\"\\`$(")
_TOKEN: Final = re.compile(r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.|`[^`]*`|\$[{(]|[{},()]""", re.DOTALL)
_COMMA: Final = re.compile(r"(?<!\\),")
"""Where bash sees one it takes `{a..','}` for a list of one, though the comma is quoted."""
_ANY_NUMBER: Final = "[0-9-]*"


class _TooManyWordsError(Exception):
    """Braces that stand for more words than are followed."""


def brace_words(form: str, limit: int = MAX_BRACE_WORDS, *, ranges_as_patterns: bool = False) -> list[str] | None:
    """Every word that a word becomes by its braces, in the order of bash, quotes and `$…` left as they are.

    Args:
        form: one word as written.
        limit: so many words are made at most; None is given for more.
        ranges_as_patterns: a longer range of numbers is one pattern that matches them all.
    """
    if "{" not in form:
        return [form]
    if form.count("{") > _MAX_OPENED or len(form) * form.count("{") > _MAX_WORK:
        return None
    try:
        return _Braces(limit, ranges_as_patterns=ranges_as_patterns).expand(form)
    except _TooManyWordsError:
        return None


class _Braces:
    """The expansion of one word."""

    __slots__ = ("_limit", "_ranges_as_patterns")

    def __init__(self, limit: int, *, ranges_as_patterns: bool) -> None:
        self._limit = limit
        self._ranges_as_patterns = ranges_as_patterns

    def expand(self, text: str) -> list[str]:
        group = _first_group(text)
        if group is None:
            return [text]
        opened, closed, commas = group
        words = self._inside(text[opened + 1 : closed], [comma - opened - 1 for comma in commas])
        rest = self.expand(text[closed + 1 :])
        count = len(words) * len(rest)
        if count > self._limit or count * len(text) > _MAX_WORK:
            raise _TooManyWordsError
        return [f"{text[:opened]}{word}{tail}" for word in words for tail in rest]

    def _inside(self, inside: str, commas: list[int]) -> list[str]:
        if not commas and _COMMA.search(inside) is None:
            return self._sequence(inside) or [f"{{{inside}}}"]
        found: list[str] = []
        for start, end in zip([-1, *commas], [*commas, len(inside)], strict=True):
            found += self.expand(inside[start + 1 : end])
            if len(found) > self._limit:
                raise _TooManyWordsError
        return found

    def _sequence(self, inside: str) -> list[str]:
        """The members of `1..3` or `a..e..2`; nothing for other text."""
        found = _SEQUENCE.fullmatch(inside)
        if found is None or found[1].isalpha() != found[2].isalpha():
            return []
        letters = found[1].isalpha()
        first, last = (ord(found[1]), ord(found[2])) if letters else (int(found[1]), int(found[2]))
        step = abs(int(found[3] or 1)) or 1
        if abs(last - first) // step >= self._limit:
            if not self._ranges_as_patterns:
                raise _TooManyWordsError
            return [_ANY_NUMBER]
        members = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        if letters:
            return [chr(member) for member in members]
        padded = any(len(one.lstrip("-")) > 1 and one.lstrip("-")[0] == "0" for one in found.group(1, 2))
        width = max(len(found[1]), len(found[2])) if padded else 0
        return [str(member).zfill(width) for member in members]


def _past_opaque(text: str, at: int) -> int:
    """Where a quote, an expansion or a parenthesis ends that starts here; else the same place."""
    if text[at] not in _OPAQUE or _TOKEN.match(text, at) is None:
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


def _first_group(text: str) -> tuple[int, int, list[int]] | None:
    """The first braces that bash takes for some: where they open and close, and their commas."""
    at = 0
    while at < len(text):
        after = _past_opaque(text, at)
        if after == at and text[at] == "{" and not (at == 0 and text.startswith("{}")):
            group = _closed(text, at)
            if group is not None:
                return (at, *group)
        at = max(after, at + 1)
    return None


def _closed(text: str, opened: int) -> tuple[int, list[int]] | None:
    """Where the brace that opens here closes: not before a comma or two dots were seen in it."""
    at, depth, commas, dots = opened + 1, 0, list[int](), False
    while at < len(text):
        after, letter = _past_opaque(text, at), text[at]
        if after > at:
            at = after
            continue
        if letter == "{":
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
        elif letter == "}" and (commas or dots):
            return at, commas
        elif letter == "," and not depth:
            commas.append(at)
        elif letter == "." and not depth and text.startswith("..", at) and text[at + 2 : at + 3] != "}":
            dots = True
        at += 1
    return None

"""What the shell makes of a word with braces and wildcards: its alternatives, and the files that are there.

Quotes are minded: what stands in them has no meaning to the shell. Where a set of characters cannot be followed
exactly (`[[:alpha:]]`), it counts as any character.
"""

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.words.braces import TooManyWordsError, expand_braces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Globber", "Spread", "is_wild", "merged_names", "spread"]

MAX_LISTED: Final = 10_000
"""So many entries of directories are compared with the patterns of one command."""
MAX_MATCHED: Final = 1_000
"""So many files behind the patterns of one command are held against rules."""
_MAX_WORDS: Final = 256
_MAX_BRACES: Final = 64
_MAX_CHARS: Final = 1_024
_SPECIAL: Final = frozenset("*?[]{},~!^-")
_SHIELD: Final = 0xD800
"""Quoted characters stand shifted by this while a word is read: no text holds such a half of a character."""
_SHIELDED: Final = re.compile("[\ud800-\ud87f]")
_WILD: Final = frozenset("*?[")
_ESCAPED: Final = '$`"\\'
_BRACKET: Final = re.compile(r"\[(?=([!^]?\]?(?:\[[:.=][^\]]*\]|[^\]])*))\1\]")
_ODD_SET: Final = re.compile(r"\[[:.=]|[\ud800-\ud87f]")
_NUMBERS: Final = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.-?([0-9]{1,9}))?\Z")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?([0-9]{1,9}))?\Z")


class Spread(NamedTuple):
    """What one word becomes."""

    names: tuple[str, ...] = ()
    """Words that are certain."""
    patterns: tuple[str, ...] = ()
    """Words that the shell compares with files, in the syntax of `fnmatch`."""
    untold: bool = False
    """There are too many, or it starts in a directory that the text does not tell."""


_UNTOLD: Final = Spread(untold=True)


def spread(form: str, home: str) -> Spread:
    """Read a word as written, without expansions by `$`: braces, then the home directory, then quotes and wildcards."""
    if len(form) > _MAX_CHARS or _SHIELDED.search(form) or form.count("{") > _MAX_BRACES:
        return _UNTOLD
    names: dict[str, None] = {}
    patterns: dict[str, None] = {}
    try:
        words = expand_braces(_shielded(form), _MAX_WORDS, _sequence)
    except TooManyWordsError:
        return _UNTOLD
    for word in words:
        placed = _from_home(word, home)
        if placed is None:
            return _UNTOLD
        if _WILD.isdisjoint(placed):
            names[_plain(placed)] = None
        else:
            patterns["/".join(map(_segment, placed.split("/")))] = None
    return Spread(tuple(names), tuple(patterns))


def is_wild(text: str) -> bool:
    """Whether a text holds a wildcard."""
    return not _WILD.isdisjoint(text)


def _shielded(form: str) -> str:
    """The word without its quotes; what was quoted is shielded."""
    found: list[str] = []
    quote, at = "", 0
    while at < len(form):
        char = form[at]
        at += 1
        if char == "\\" and quote != "'" and (not quote or form[at : at + 1] in _ESCAPED):
            found.append(_shield(form[at : at + 1]))
            at += 1
        elif char == quote:
            quote = ""
        elif quote:
            found.append(_shield(char))
        elif char in "'\"":
            quote = char
        else:
            found.append(char)
    return "".join(found)


def _shield(char: str) -> str:
    return chr(_SHIELD + ord(char)) if char in _SPECIAL else char


def _plain(text: str) -> str:
    return _SHIELDED.sub(lambda found: chr(ord(found[0]) - _SHIELD), text)


def _from_home(word: str, home: str) -> str | None:
    """The word with `~` and `~+` in its place; None for the home of somebody else and earlier directories."""
    if not word.startswith("~"):
        return word
    whose, slash, rest = word[1:].partition("/")
    if whose == "":
        return home.rstrip("/") + slash + rest
    return (rest or ".") if whose == "+" else None


def _segment(text: str) -> str:
    """One component of a path in the syntax of `fnmatch`; a set that it reads otherwise becomes any character."""
    if _WILD.isdisjoint(text):
        plain = _plain(text)
        return plain if _WILD.isdisjoint(plain) else "".join(f"[{char}]" if char in _WILD else char for char in plain)
    closed = text.rfind("]") + 1  # behind that no set ends, and looking for one would take long
    return _SHIELDED.sub(_as_set, _BRACKET.sub(_set, text[:closed]) + text[closed:])


def _set(found: "re.Match[str]") -> str:
    return "?" if _ODD_SET.search(found[0], 1) else found[0].replace("[^", "[!", 1)


def _as_set(found: "re.Match[str]") -> str:
    char = chr(ord(found[0]) - _SHIELD)
    return f"[{char}]" if char in _WILD else char


def _sequence(shielded: str) -> list[str]:
    body = _plain(shielded)
    found = _NUMBERS.match(body) or _LETTERS.match(body)
    if found is None:
        return []
    first, last, by = found[1], found[2], int(found[3] or 1) or 1
    letters = first.isalpha()
    start, end = (ord(first), ord(last)) if letters else (int(first), int(last))
    if abs(end - start) // by >= _MAX_WORDS:
        raise TooManyWordsError
    numbers = range(start, end + 1, by) if start <= end else range(start, end - 1, -by)
    if letters:
        return [chr(number) for number in numbers]
    padded = any(text.lstrip("-").startswith("0") and len(text.lstrip("-")) > 1 for text in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [str(number).zfill(width) for number in numbers]


class Globber:
    """Compares the patterns of one command with what is on the disk, within bounds for all of them together."""

    __slots__ = ("_found", "_left", "exhausted")

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}
        self._left = MAX_LISTED
        self.exhausted = False
        """There was too much to look through: what was found is not all."""

    def files(self, pattern: str, directory: str) -> list[str]:
        """The files behind a pattern, links and directories too.

        Args:
            pattern: in the syntax of `fnmatch`, relative or absolute.
            directory: where a relative pattern starts.
        """
        key = (pattern, directory)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._walk(pattern, directory)
            self.exhausted = self.exhausted or sum(map(len, self._found.values())) > MAX_MATCHED
        return found[:MAX_MATCHED]

    def _walk(self, pattern: str, directory: str) -> list[str]:
        places = ["" if pattern.startswith("/") else directory.rstrip("/")]
        sure = True
        for segment in pattern.split("/"):
            if not segment:
                continue
            if is_wild(segment):
                places, sure = [f"{place}/{name}" for place in places for name in self._names(place, segment)], False
            else:
                places = [f"{place}/{segment}" for place in places]
                places = places if sure else [place for place in places if os.path.lexists(place)]
        return places

    def _names(self, place: str, segment: str) -> "Iterator[str]":
        hidden = segment.startswith(".")
        if hidden:  # older shells match these too
            yield from (name for name in (".", "..") if fnmatchcase(name, segment))
        try:
            with os.scandir(place or "/") as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        self.exhausted = True
                        return
                    if (hidden or entry.name[0] != ".") and fnmatchcase(entry.name, segment):
                        yield entry.name
        except OSError:
            return


def merged_names(pattern: str, wanted: "Collection[str]") -> "Iterator[str]":
    """Names that fit a component of a pattern and a wanted pattern at once, built from the ends of both."""
    for segment in filter(is_wild, pattern.split("/")):
        head, tail = _ends(segment)
        for other in filter(is_wild, wanted):
            other_head, other_tail = _ends(other)
            for middle in ("", "x"):
                name = max(head, other_head, key=len) + middle + max(tail, other_tail, key=len)
                if name and fnmatchcase(name, segment) and fnmatchcase(name, other):
                    yield name


def _ends(pattern: str) -> tuple[str, str]:
    """The literal text at both ends of a pattern."""
    at = min(position for position, char in enumerate(pattern) if char in _WILD)
    end = max(position for position, char in enumerate(pattern) if char in "*?]" or position == at)
    return pattern[:at], pattern[end + 1 :]

"""Match one path component against a pattern of git's wildmatch: literals, `?`, bracket expressions and `*`.

Between two stars stands a chunk of fixed length. The leftmost place of each chunk is always good enough, so nothing
here backtracks; the time is linear in the length of the name.
"""

import re
import string
from collections.abc import Sequence
from typing import Final

__all__ = ["Item", "NeverMatchesError", "Segment", "read_item", "read_segment"]

Item = frozenset[str] | str | None
"""One place of a pattern: the accepted characters, `None` for any one, a string for a star."""

_LONG_CHUNK: Final = 32
"""Wildcard chunks longer than this are searched bit-parallel instead of by a regular expression."""

_CLASSES: Final = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(1, 32), 127])),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class NeverMatchesError(ValueError):
    """The pattern is broken (open bracket, trailing backslash, empty segment): git lets it match nothing."""


class _Chunk:
    """A run of single-character matchers between two stars; always the same length."""

    __slots__ = ("_regex", "_sets", "length", "literal")

    def __init__(self, sets: Sequence[frozenset[str] | None]) -> None:
        self.length = len(sets)
        self._sets = sets
        singles = [next(iter(s)) for s in sets if s is not None and len(s) == 1]
        self.literal = "".join(singles) if len(singles) == len(sets) else None
        self._regex = None if self.literal is not None else re.compile("".join(map(_set_regex, sets)), re.DOTALL)

    def at(self, text: str, position: int) -> bool:
        if self._regex is None:
            return text.startswith(self.literal or "", position)
        return self._regex.match(text, position) is not None

    def find(self, text: str, start: int, stop: int) -> int:
        """The first place in text[start:stop] where the whole chunk fits, or -1."""
        if self._regex is None:
            return text.find(self.literal or "", start, stop)
        if self.length <= _LONG_CHUNK:
            found = self._regex.search(text, start, stop)
            return -1 if found is None else found.start()
        return self._find_long(text, start, stop)

    def _find_long(self, text: str, start: int, stop: int) -> int:
        masks: dict[str, int] = {}
        accept = 1 << (self.length - 1)
        state = 0
        for position in range(start, stop):
            char = text[position]
            mask = masks.get(char)
            if mask is None:
                mask = sum(1 << i for i, allowed in enumerate(self._sets) if allowed is None or char in allowed)
                masks[char] = mask
            state = ((state << 1) | 1) & mask
            if state & accept:
                return position - self.length + 1
        return -1


def _set_regex(allowed: frozenset[str] | None) -> str:
    if allowed is None:
        return "."
    if not allowed:
        return "[^\\x00-\\U0010ffff]"
    return "[" + "".join(f"\\x{ord(c):02x}" for c in sorted(allowed)) + "]"


class Segment:
    """A pattern for one path component."""

    __slots__ = ("any", "chunks", "least", "literal")

    def __init__(self, items: Sequence[Item]) -> None:
        chunks: list[_Chunk] = []
        run: list[frozenset[str] | None] = []
        for item in items:
            if isinstance(item, str):
                chunks.append(_Chunk(run))
                run = []
            else:
                run.append(item)
        chunks.append(_Chunk(run))
        self.chunks = chunks
        self.least = sum(chunk.length for chunk in chunks)
        self.literal = chunks[0].literal if len(chunks) == 1 else None
        self.any = len(chunks) > 1 and self.least == 0

    def matches(self, text: str) -> bool:
        """Whether the whole component fits."""
        if self.literal is not None:
            return text == self.literal
        if self.any:
            return True
        size = len(text)
        if size < self.least:
            return False
        chunks = self.chunks
        head = chunks[0]
        if len(chunks) == 1:
            return size == head.length and head.at(text, 0)
        tail = chunks[-1]
        stop = size - tail.length
        if not (tail.at(text, stop) and head.at(text, 0)):
            return False
        position = head.length
        for chunk in chunks[1:-1]:
            found = chunk.find(text, position, stop)
            if found < 0:
                return False
            position = found + chunk.length
        return position <= stop


def read_segment(body: str) -> Segment | None:
    """Compile a pattern without a slash; `None` when it can match nothing."""
    items: list[Item] = []
    position = 0
    try:
        while position < len(body):
            if body[position] == "*":
                items.append("*")
                position += 1
            else:
                item, position = read_item(body, position)
                items.append(item)
    except NeverMatchesError:
        return None
    return Segment(items) if items else None


def read_item(body: str, position: int) -> tuple[frozenset[str] | None, int]:
    """Read the single-character matcher at `position`; returns it and the position behind it."""
    char = body[position]
    if char == "?":
        return None, position + 1
    if char == "[":
        return _bracket(body, position + 1)
    if char == "\\":
        if position + 1 >= len(body):
            raise NeverMatchesError
        return frozenset((body[position + 1],)), position + 2
    return frozenset((char,)), position + 1


def _bracket(body: str, position: int) -> tuple[frozenset[str], int]:
    """Read a bracket expression as git's wildmatch does; returns the characters it accepts."""
    negated = body[position : position + 1] in ("!", "^") and position < len(body)
    if negated:
        position += 1
    accepted: set[str] = set()
    previous: str | None = None
    first = True
    while True:
        if position >= len(body):
            raise NeverMatchesError
        char = body[position]
        if char == "]" and not first:
            break
        first = False
        if char == "-" and previous and not body.startswith("]", position + 1):
            position = _range(body, position + 1, low=previous, accepted=accepted)
            previous = None
        elif body.startswith("[:", position):
            position, previous = _named_class(body, position, accepted)
        else:
            if char == "\\":
                position += 1
                if position >= len(body):
                    raise NeverMatchesError
                char = body[position]
            accepted.add(char)
            previous = char
            position += 1
    if negated:
        accepted = {chr(code) for code in range(1, 256)} - accepted
    accepted.discard("/")
    return frozenset(accepted), position + 1


def _range(body: str, position: int, *, low: str, accepted: set[str]) -> int:
    if body.startswith("\\", position):
        position += 1
    if position >= len(body):
        raise NeverMatchesError
    accepted.update(chr(code) for code in range(ord(low), ord(body[position]) + 1))
    return position + 1


def _named_class(body: str, position: int, accepted: set[str]) -> tuple[int, str | None]:
    end = body.find("]", position + 2)
    if end < 0:
        raise NeverMatchesError
    if end - position < 3 or body[end - 1] != ":":
        accepted.add("[")
        return position + 1, "["
    members = _CLASSES.get(body[position + 2 : end - 1])
    if members is None:
        raise NeverMatchesError
    accepted.update(members)
    return end + 1, None

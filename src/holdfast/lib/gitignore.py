"""Match paths against gitignore patterns in linear time, with the exact answers of `git check-ignore`.

A pattern is compiled once into path segments. `**` splits them into blocks, and each block is searched at its
leftmost place, which is complete because every other segment consumes exactly one path segment. Inside a segment the
same holds for `*`. Nothing here backtracks, so a hostile path or pattern costs time proportional to its length.

git compares bytes, so text that is not ASCII is matched as its UTF-8 bytes (`?` is one byte).
"""

import unicodedata
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import msgspec

from holdfast.lib.wildmatch import Item, NeverMatchesError, Segment, read_item, read_segment

__all__ = ["Pattern", "Shape", "as_bytes_text", "fold_case", "strip_trailing_spaces"]

_SPECIAL: Final = "*?[\\"


def as_bytes_text(text: str) -> str:
    """The UTF-8 bytes of `text`, one character per byte; ASCII text is returned as it is."""
    if text.isascii():
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogatepass")
    return raw.decode("latin-1")


def fold_case(text: str) -> str:
    """The form in which a case-insensitive file system compares names."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFD", text).casefold()


class _Block:
    """Neighbouring segments without `**` between them."""

    __slots__ = ("_literals", "_wild", "segments")

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        self._literals: dict[str, int] = {}
        self._wild: list[tuple[int, Segment]] = []
        for index, segment in enumerate(self.segments):
            if segment.literal is not None:
                self._literals[segment.literal] = self._literals.get(segment.literal, 0) | (1 << index)
            else:
                self._wild.append((1 << index, segment))

    def at(self, names: Sequence[str], position: int) -> bool:
        if position + len(self.segments) > len(names):
            return False
        return all(segment.matches(names[position + i]) for i, segment in enumerate(self.segments))

    def end_of_first(self, names: Sequence[str], start: int) -> int:
        """The position after the first place at or after `start` where the block fits, or -1."""
        if len(self.segments) == 1:
            only = self.segments[0]
            return next((i + 1 for i in range(start, len(names)) if only.matches(names[i])), -1)
        accept = 1 << (len(self.segments) - 1)
        masks: dict[str, int] = {}
        state = 0
        for position in range(start, len(names)):
            name = names[position]
            mask = masks.get(name)
            if mask is None:
                mask = self._literals.get(name, 0)
                for bit, segment in self._wild:
                    if segment.matches(name):
                        mask |= bit
                masks[name] = mask
            state = ((state << 1) | 1) & mask
            if state & accept:
                return position + 1
        return -1


class _Alternative:
    """One reading of a pattern with a slash; only `name**/rest` has two."""

    __slots__ = ("blocks", "floating")

    def __init__(self, parts: Sequence[Segment | None]) -> None:
        groups: list[list[Segment]] = [[]]
        for part in parts:
            if part is not None:
                groups[-1].append(part)
            elif groups[-1] or len(groups) == 1:
                groups.append([])
        self.floating = not groups[0] and len(groups) > 1
        self.blocks = tuple(_Block(group) for group in groups if group)

    def shortest(self, names: Sequence[str]) -> int:
        """How many leading names the pattern consumes at least, or -1 when it fits nowhere."""
        end = 0
        for index, block in enumerate(self.blocks):
            if index == 0 and not self.floating:
                if not block.at(names, 0):
                    return -1
                end = len(block.segments)
            else:
                end = block.end_of_first(names, end)
                if end < 0:
                    return -1
        return end


class Shape(msgspec.Struct, frozen=True):
    """What an index may know about a pattern without running it: what every matching path contains."""

    directory: tuple[str, ...] = ()
    """The literal leading components of an anchored pattern."""
    components: tuple[str, ...] = ()
    """Components, somewhere in the path, that are exactly these."""
    heads: tuple[str, ...] = ()
    """How components, somewhere in the path, start."""
    tails: tuple[str, ...] = ()
    """How components, somewhere in the path, end."""


class Pattern:
    """One compiled gitignore line."""

    __slots__ = ("_alternatives", "_basename", "dir_only", "negated", "never", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        body = as_bytes_text(text)
        self.negated = body.startswith("!")
        if self.negated:
            body = body[1:]
        self.dir_only = body.endswith("/")
        if self.dir_only:
            body = body[:-1]
        self._basename: Segment | None = None
        self._alternatives: tuple[_Alternative, ...] = ()
        if "/" in body:
            parts = [_parts_or_none(reading) for reading in _readings(body.removeprefix("/"))]
            self._alternatives = tuple(_Alternative(found) for found in parts if found is not None)
        else:
            self._basename = read_segment(body)
        self.never = self._basename is None and not self._alternatives

    def matches(self, path: str, *, is_dir: bool = False) -> bool:
        """Whether the pattern names `path` (relative, no leading slash) or a directory that holds it."""
        return self.matches_names(as_bytes_text(path).split("/"), is_dir=is_dir)

    def matches_names(self, names: Sequence[str], *, is_dir: bool = False) -> bool:
        """As `matches`, for a path already split into byte-text segments."""
        last_counts = is_dir or not self.dir_only
        if self._basename is not None:
            limit = len(names) if last_counts else len(names) - 1
            return any(self._basename.matches(names[i]) for i in range(limit))
        for alternative in self._alternatives:
            used = alternative.shortest(names)
            if 0 <= used < len(names) or (used == len(names) and last_counts):
                return True
        return False

    def shape(self) -> Shape:
        """The literal parts of the pattern, for an index over many patterns."""
        directory: list[str] = []
        segments: list[Segment] = []
        if self._basename is not None:
            segments = [self._basename]
        elif len(self._alternatives) == 1:
            alternative = self._alternatives[0]
            segments = [segment for block in alternative.blocks for segment in block.segments]
            first = () if alternative.floating else alternative.blocks[0].segments
            directory = [segment.literal or "" for segment in takewhile(lambda s: s.literal is not None, first)]
        wild = [segment.chunks for segment in segments if segment.literal is None]
        return Shape(
            tuple(directory),
            tuple(segment.literal for segment in segments if segment.literal is not None),
            tuple(chunks[0].literal for chunks in wild if chunks[0].literal),
            tuple(chunks[-1].literal for chunks in wild if chunks[-1].literal),
        )


def _readings(body: str) -> list[str]:
    """The plain patterns that a pattern with a slash stands for: one, or more where git has a quirk.

    git compares the literal start of a pattern apart from the rest, so a `**` right behind it counts as leading:
    `foo**/bar` also names `foobar` and `foox/y/bar`.
    """
    first_special = next((i for i, char in enumerate(body) if char in _SPECIAL), len(body))
    literal, rest = body[:first_special], body[first_special:]
    readings: list[str] = []
    while literal and literal[-1] != "/" and rest.startswith("**"):
        after = rest.lstrip("*")
        if after.startswith("/"):
            readings.append(f"{literal}*/**{after}")
            rest = after[1:]
            continue
        if after.startswith("\\/"):
            after = after[1:]
            return [*readings, f"{literal}*/**{after}"]
        break
    return [*readings, literal + rest]


def _parts_or_none(body: str) -> list[Segment | None] | None:
    try:
        return _parts(body)
    except NeverMatchesError:
        return None


def _parts(body: str) -> list[Segment | None]:
    parts: list[Segment | None] = []
    items: list[Item] = []
    position, size = 0, len(body)
    while position < size:
        char = body[position]
        if char == "/" or body.startswith("\\/", position):
            _close(parts, items)
            position += 1 if char == "/" else 2
            if position == size:
                raise NeverMatchesError
        elif char == "*":
            end = size - len(body[position:].lstrip("*"))
            leading = not items and (position == 0 or body[position - 1] == "/")
            if end - position > 1 and leading and (end == size or body[end] == "/" or body.startswith("\\/", end)):
                position = _close_double_star(parts, body, end)
            else:
                items.append("*")
                position = end
        else:
            item, position = read_item(body, position)
            items.append(item)
    if items or not parts:
        _close(parts, items)
    return parts


def _close(parts: list[Segment | None], items: list[Item]) -> None:
    if not items:
        raise NeverMatchesError
    parts.append(Segment(items))
    items.clear()


def _close_double_star(parts: list[Segment | None], body: str, end: int) -> int:
    """Add a `**` component and return the position behind the slash that follows it."""
    if end == len(body):
        parts.append(Segment(["*"]))  # `d/**`: any child, and with it all that the child holds
        return end
    after = end + 1 if body[end] == "/" else end + 2
    if after == len(body):
        raise NeverMatchesError
    if body[end] == "/":
        parts.append(None)
        return after
    parts.extend((Segment(["*"]), None))  # `**\/`: git skips the shortcut for "no directory at all"
    return after


def strip_trailing_spaces(line: str) -> str:
    """Remove trailing spaces that are not escaped, as git does when it reads an ignore file."""
    last_space: int | None = None
    position = 0
    while position < len(line):
        char = line[position]
        if char == "\\":
            position += 1
            if position >= len(line):
                return line
            last_space = None
        elif char == " ":
            last_space = position if last_space is None else last_space
        else:
            last_space = None
        position += 1
    return line if last_space is None else line[:last_space]

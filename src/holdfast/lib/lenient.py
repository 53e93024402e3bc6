"""Find text that differs from what was asked for only in ways nobody can see.

The search goes by an anchor: the longest stretch of the wanted text that no forgiveness touches. Its places are found
at the speed of a byte search, and only there are lines compared, so a large file costs no more than a few scans.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

import msgspec

_MAX_PLACES = 2_000
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTES = str.maketrans("\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f", "''''\"\"\"\"")
_ANCHOR_BREAK = re.compile("[\"'\u2018-\u201f]")
_BLANK = " \t"


class Level(Enum):
    """What is forgiven; each level forgives what those before it do."""

    LINE_ENDINGS = "line endings"
    TRAILING = "trailing white space"
    QUOTES = "quote style"
    INDENTATION = "tabs and spaces in the indentation"

    @property
    def words(self) -> str:
        """Name the level for a message."""
        return self.value

    @property
    def rank(self) -> int:
        """Position in the order of forgiveness."""
        return _RANKS[self]


LEVELS = tuple(Level)
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}


class MatchedLine(msgspec.Struct, frozen=True):
    """The part of one file line that belongs to a match."""

    text: str
    end: str
    """The line's own line end; empty at the end of the file and after the last part."""


class Match(msgspec.Struct, frozen=True):
    """A place that equals the wanted text but for what was forgiven."""

    start: int
    end: int
    level: Level
    lines: tuple[MatchedLine, ...]
    """As many as the wanted text has segments between line ends."""
    indents: tuple[tuple[str, str], ...] = ()
    """Pairs of indentation: in the file, and as asked for."""
    tab_width: int = 0
    """The width of a tab under which all pairs agree."""
    lost_final_end: bool = False
    """The wanted text ends with a line end that the file, at its end, does not have."""


class Segment(NamedTuple):
    """One line of text, taken apart."""

    indent: str
    core: str
    trail: str


class _FileLine(msgspec.Struct, frozen=True):
    start: int
    text: str
    end: str


class _Fit(msgspec.Struct, frozen=True):
    """Where a segment lies in a file line, in characters."""

    start: int
    end: int
    indents: tuple[str, str] | None = None


def split_lines(text: str) -> list[str]:
    """Split at every kind of line end; a final line end leaves an empty last segment."""
    return _LINE_END.split(text)


def straight(text: str) -> str:
    """Replace curly quotes by straight ones, character by character."""
    return text.translate(_QUOTES)


def find_lenient(data: bytes, old: str, level: Level) -> list[Match]:
    """Find the places in UTF-8 content that equal the wanted text when one level of differences is forgiven."""
    segments = [take_apart(text) for text in split_lines(old)]
    anchor = _anchor(segments)
    if anchor is None or (level is Level.LINE_ENDINGS and len(segments) == 1):
        return []
    which, offset, needle = anchor
    hay = data.replace(b"\r", b"\n") if b"\n" not in data else data
    found: dict[tuple[int, int], Match] = {}
    position = hay.find(needle)
    places = 0
    while position >= 0 and places < _MAX_PLACES:
        places += 1
        match = _compare(hay, data, position, segments, (which, offset), level)
        if match is not None:
            found[match.start, match.end] = match
        position = hay.find(needle, position + 1)
    # An anchor this common cannot prove that there is only one place.
    return list(found.values()) if places < _MAX_PLACES else []


def take_apart(text: str) -> Segment:
    """Split a line into indentation, core and trailing blanks."""
    without = text.lstrip(_BLANK)
    indent = text[: len(text) - len(without)]
    core = without.rstrip(_BLANK)
    return Segment(indent, core, without[len(core) :])


def _anchor(segments: list[Segment]) -> tuple[int, int, bytes] | None:
    """Choose the longest quote-free stretch: which segment, where in its core, and its bytes."""
    best: tuple[int, int, bytes] | None = None
    for which, segment in enumerate(segments):
        offset = 0
        for piece in _ANCHOR_BREAK.split(segment.core):
            encoded = piece.encode("utf-8", "surrogatepass")
            if piece and (best is None or len(encoded) > len(best[2])):
                best = (which, offset, encoded)
            offset += len(piece) + 1
    return best


def _compare(
    hay: bytes, data: bytes, position: int, segments: list[Segment], anchor: tuple[int, int], level: Level
) -> Match | None:
    which, offset = anchor
    lines = _lines_around(hay, data, position, before=which, count=len(segments))
    lost_end = len(lines) == len(segments) - 1 and segments[-1] == Segment("", "", "")
    if len(lines) != len(segments) and not lost_end:
        return None
    if lost_end:
        lines.append(_FileLine(len(data), "", ""))
    core_at = len(data[lines[which].start : position].decode("utf-8", "surrogateescape")) - offset
    fits: list[_Fit] = []
    for number, (line, segment) in enumerate(zip(lines, segments, strict=True)):
        fit = _fit(line.text, segment, (number, len(segments)), core_at if number == which else None, level)
        if fit is None:
            return None
        fits.append(fit)
    indents = tuple(fit.indents for fit in fits if fit.indents is not None)
    width = _tab_width(indents)
    if width is None:
        return None
    start = lines[0].start + _byte_length(lines[0].text[: fits[0].start])
    end = lines[-1].start + _byte_length(lines[-1].text[: fits[-1].end])
    matched = tuple(
        MatchedLine(line.text[fit.start : fit.end], line.end if number < len(segments) - 1 else "")
        for number, (line, fit) in enumerate(zip(lines, fits, strict=True))
    )
    return Match(start, end, level, matched, indents, width, lost_final_end=lost_end)


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _lines_around(hay: bytes, data: bytes, position: int, *, before: int, count: int) -> list[_FileLine]:
    """Take `count` lines, the one at `position` having `before` lines in front of it; fewer at the end of the file."""
    start = hay.rfind(b"\n", 0, position) + 1
    for _ in range(before):
        if start == 0:
            return []
        start = hay.rfind(b"\n", 0, start - 1) + 1
    lines: list[_FileLine] = []
    while len(lines) < count and start <= len(hay):
        newline = hay.find(b"\n", start)
        stop = newline if newline >= 0 else len(hay)
        content = stop - 1 if newline > start and data[stop - 1 : stop] == b"\r" and hay is data else stop
        end = data[content : stop + 1].decode("ascii") if newline >= 0 else ""
        if newline < 0 and start == len(hay) and lines and not lines[-1].end:
            break
        lines.append(_FileLine(start, data[start:content].decode("utf-8", "surrogateescape"), end))
        if newline < 0:
            break
        start = newline + 1
    return lines


def _fit(line: str, segment: Segment, place: tuple[int, int], core_at: int | None, level: Level) -> _Fit | None:
    """Lay a segment onto a file line: the first may start late, the last may end early, the others fill theirs."""
    number, count = place
    first, last = number == 0, number == count - 1
    forgive_trail = level.rank >= Level.TRAILING.rank
    if not segment.core:
        return _fit_blank(line, segment, first=first, last=last, forgiving=forgive_trail)
    filled = line.rstrip(_BLANK) if forgive_trail else line
    if core_at is None and first:
        core_at = len(filled) - len(segment.core) - (0 if forgive_trail else len(segment.trail))
    elif not first:
        own_indent = len(line) - len(line.lstrip(_BLANK))
        if core_at is not None and core_at != own_indent:
            return None
        core_at = own_indent
    if core_at is None or core_at < 0:
        return None
    core_end = core_at + len(segment.core)
    if not _same(line[core_at:core_end], segment.core, level):
        return None
    end = _fit_right(line, segment, core_end, last=last, forgiving=forgive_trail)
    left = _fit_left(line, segment, core_at, first=first, level=level)
    if end is None or left is None:
        return None
    return _Fit(left[0], end, left[1])


def _same(found: str, wanted: str, level: Level) -> bool:
    if found == wanted:
        return True
    return level.rank >= Level.QUOTES.rank and straight(found) == straight(wanted)


def _fit_blank(line: str, segment: Segment, *, first: bool, last: bool, forgiving: bool) -> _Fit | None:
    wanted = segment.indent + segment.trail
    if last and not first:
        return _Fit(0, len(wanted)) if line.startswith(wanted) else None
    if first:
        return _Fit(len(line) - len(wanted), len(line)) if line.endswith(wanted) else None
    if line == wanted or (forgiving and not line.strip(_BLANK)):
        return _Fit(0, len(line))
    return None


def _fit_right(line: str, segment: Segment, core_end: int, *, last: bool, forgiving: bool) -> int | None:
    rest = line[core_end:]
    if last:
        if rest.startswith(segment.trail):
            return core_end + len(segment.trail)
        return len(line) if forgiving and not rest.strip(_BLANK) else None
    if rest == segment.trail or (forgiving and not rest.strip(_BLANK)):
        return len(line)
    return None


def _fit_left(
    line: str, segment: Segment, core_at: int, *, first: bool, level: Level
) -> tuple[int, tuple[str, str] | None] | None:
    before = line[:core_at]
    if first and before.endswith(segment.indent):
        return core_at - len(segment.indent), None
    if not first and before == segment.indent:
        return 0, (before, segment.indent) if before else None
    if level is Level.INDENTATION and not before.strip(_BLANK) and segment.indent:
        return 0, (before, segment.indent)
    return None


def _tab_width(indents: tuple[tuple[str, str], ...]) -> int | None:
    """Find one width of a tab under which the indentations agree: 0 if none is needed, None if there is none."""
    if all(found == wanted for found, wanted in indents):
        return 0
    for width in (4, 2, 8, 3, 1, 5, 6, 7):
        if all(found.expandtabs(width) == wanted.expandtabs(width) for found, wanted in indents):
            return width
    return None

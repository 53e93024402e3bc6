"""Windows of lines out of files of any size, without loading them.

Scanning counts line ends in fixed blocks and remembers the count at every block's start. A later window in the same
file, wherever it is, then costs one block and its own lines.
"""

from __future__ import annotations

import codecs
import os
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from holdfast.lib.line_index import LineIndex, Scan, ScanStoppedError, after_nth
from holdfast.lib.text import UTF8, Encoding
from holdfast.lib.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["CHUNK_BYTES", "LineReader", "Numbered", "Scan", "ScanStoppedError", "Window", "number_lines"]

CHUNK_BYTES = 256 * 1024
_SAMPLE_BYTES = 64 * 1024
MAX_LINE_CHARS = 2_000
_MAX_LINE_BYTES = MAX_LINE_CHARS * 4 + 4
_KEPT_INDEXES = 16
_MAX_COUNTED_REST_BYTES = 16 * 1024 * 1024


class Window(msgspec.Struct, frozen=True):
    """Consecutive lines of a file."""

    first: int
    """Number of the first line, from 1."""
    lines: list[bytes]
    """Without their line ends; of an overlong line only the beginning."""
    overlong: dict[int, int]
    """Position in `lines` and true length in bytes of each line that was cut."""
    start_byte: int
    end_byte: int
    """Byte after the last line shown, its line end included."""
    total: int | None
    """Lines in the whole file, when they were counted."""
    ended: bool
    """Whether the window reaches the end of the file."""


class LineReader:
    """Reads windows of lines and keeps the sparse indexes of the files it scanned last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[object, ...], LineIndex] = OrderedDict()
        self._lock = Lock()

    def window(
        self,
        fd: int,
        *,
        first: int,
        limit: int,
        encoding: Encoding = UTF8,
        end: bytes = b"\n",
        scan: Scan | None = None,
    ) -> Window:
        """Read up to `limit` lines from line `first` (from 1) of an open regular file.

        Args:
            fd: The open file; its position is not used.
            first: Number of the first wanted line.
            limit: How many lines at most.
            encoding: How the file is stored; UTF-16 and UTF-32 are converted on the way and not indexed.
            end: What ends a line: a newline, or a carriage return in files that have only those.
            scan: How much may be read to find the lines.

        Raises:
            ScanStoppedError: The limit of `scan` was reached.
        """
        scan = scan or Scan()
        if encoding.is_wide:
            return _window_of_stream(_as_utf8(fd, encoding, scan), first, limit, end)
        index = self._index(fd, end)
        position, skipped = index.seek(fd, first - 1, scan)
        if skipped < first - 1:
            return Window(first, [], {}, position, position, index.total, ended=True)
        chunks = _chunks(fd, position, scan, size=_size_of(index, limit))
        lines, overlong, stop, ended = _collect(chunks, limit, end, position)
        total = _count_rest(fd, index) if not ended else first - 1 + len(lines)
        if ended and index.total is None and lines:
            index.total = total
        return Window(first, lines, overlong, position, stop, total, ended=ended)

    def _index(self, fd: int, end: bytes) -> LineIndex:
        stat = os.fstat(fd)
        key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, end)
        with self._lock:
            index = self._indexes.get(key)
            if index is None:
                index = self._indexes[key] = LineIndex(end)
            self._indexes.move_to_end(key)
            while len(self._indexes) > _KEPT_INDEXES:
                self._indexes.popitem(last=False)
        return index


def _count_rest(fd: int, index: LineIndex) -> int | None:
    """Count all lines, unless that means reading much more than was asked for."""
    if index.total is None and os.fstat(fd).st_size - index.scanned_bytes <= _MAX_COUNTED_REST_BYTES:
        index.seek(fd, 2**62, Scan())
    return index.total


def _size_of(index: LineIndex, lines: int) -> int:
    """How much to read at first for so many lines: with luck all of them, and little more."""
    guess = index.bytes_of(lines)
    return _SAMPLE_BYTES if guess is None else min(guess + guess // 16 + _MAX_LINE_BYTES, CHUNK_BYTES)


def _chunks(fd: int, position: int, scan: Scan, *, size: int = _SAMPLE_BYTES) -> Generator[bytes]:
    while chunk := os.pread(fd, size, position):
        scan.spend(len(chunk))
        yield chunk
        position += len(chunk)
        size = CHUNK_BYTES


def _as_utf8(fd: int, encoding: Encoding, scan: Scan) -> Generator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding.codec)("backslashreplace")
    for chunk in _chunks(fd, len(encoding.mark), scan):
        yield decoder.decode(chunk).encode("utf-8", "backslashreplace")
    yield decoder.decode(b"", final=True).encode("utf-8", "backslashreplace")


def _collect(
    chunks: Generator[bytes], limit: int, end: bytes, position: int
) -> tuple[list[bytes], dict[int, int], int, bool]:
    """Gather up to `limit` lines; returns them, the overlong ones, the byte after them, and whether the file ended."""
    lines: list[bytes] = []
    overlong: dict[int, int] = {}
    kept, length = b"", 0

    def finish(part: bytes) -> None:
        whole = length + len(part)
        if whole > _MAX_LINE_BYTES:
            overlong[len(lines)] = whole
        lines.append(kept + part[: _MAX_LINE_BYTES - len(kept)])

    for chunk in chunks:
        parts = chunk.split(end, limit - len(lines))
        tail = parts.pop()
        position += len(chunk) - len(tail)
        if parts:
            finish(parts[0])
            kept, length = b"", 0
            if max(map(len, parts)) <= _MAX_LINE_BYTES:
                lines += parts[1:]
            else:
                for part in parts[1:]:
                    finish(part)
        if len(lines) == limit:
            return lines, overlong, position, not tail and not next(chunks, b"")
        kept += tail[: _MAX_LINE_BYTES - len(kept)]
        length += len(tail)
        position += len(tail)
    if length:
        finish(b"")
    return lines, overlong, position, True


def _window_of_stream(chunks: Generator[bytes], first: int, limit: int, end: bytes) -> Window:
    skipped = 0
    rest = b""
    for chunk in chunks:
        here = chunk.count(end)
        if skipped + here >= first - 1:
            rest = chunk[after_nth(chunk, end, first - 1 - skipped) :]
            skipped = first - 1
            break
        skipped += here
    if skipped < first - 1:
        return Window(first, [], {}, 0, 0, None, ended=True)

    def onward() -> Generator[bytes]:
        if rest:
            yield rest
        yield from chunks

    lines, overlong, stop, ended = _collect(onward(), limit, end, 0)
    total = first - 1 + len(lines) if ended else None
    return Window(first, lines, overlong, 0, stop, total, ended=ended)


class Numbered(msgspec.Struct, frozen=True):
    """Lines formatted for reading."""

    text: str
    lines: list[str]
    """The lines of the text, each with its number."""
    shown: int
    """How many lines are in the text."""
    cut: int
    """How many of those were shortened."""
    over_budget: bool
    """Whether lines were left out because the text would have cost too many tokens."""

    @property
    def bare(self) -> str:
        """The same lines without their numbers."""
        return "\n".join([line.partition("\t")[2] for line in self.lines])


def number_lines(window: Window, *, encoding: Encoding = UTF8, max_tokens: int) -> Numbered:
    """Format lines as `cat -n` does, each cut at 2,000 characters, as many as the token budget allows."""
    out: list[str] = []
    cut: list[int] = []
    is_utf8 = encoding.codec == "utf-8"
    for number, line in enumerate(window.lines, window.first):
        if is_utf8 and number > 1 and len(line) < MAX_LINE_CHARS and line.isascii():
            text = line.decode("ascii").removesuffix("\r")
        else:
            text, shortened = _shown(window, number - window.first, encoding)
            if shortened:
                cut.append(number - window.first)
        out.append(f"{number:>6}\t{text}")
    whole = "\n".join(out)
    if "\0" in whole:
        out = [entry.replace("\0", "\u2400") for entry in out]
        whole = "\n".join(out)
    if estimate_tokens(whole) <= max_tokens:  # one look at all lines is a hundred times faster than one at each
        return Numbered(whole, out, len(out), len(cut), over_budget=False)
    shown = _affordable(out, max_tokens)
    kept = sum(index < shown for index in cut)
    return Numbered("\n".join(out[:shown]), out[:shown], shown, kept, over_budget=shown < len(out))


def _shown(window: Window, index: int, encoding: Encoding) -> tuple[str, bool]:
    """One line as text, whatever is in it, and whether it had to be cut."""
    line = window.lines[index]
    length = window.overlong.get(index, len(line))
    data = line[:-1] if length == len(line) and line.endswith(b"\r") else line
    if window.first + index == 1 and encoding.mark:
        data = data.removeprefix(encoding.mark)
    text = (UTF8 if encoding.is_wide else encoding).show(data)
    if len(text) <= MAX_LINE_CHARS and length <= len(line):
        return text, False
    return f"{text[:MAX_LINE_CHARS]}… [line is {length:,} bytes long]", True


def _affordable(entries: list[str], max_tokens: int) -> int:
    """How many entries the budget allows; one always."""
    spent = 0
    for index, entry in enumerate(entries):
        spent += estimate_tokens(entry)
        if spent > max_tokens and index:
            return index
    return len(entries)

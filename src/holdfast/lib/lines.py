"""Windows of lines out of files of any size, without loading them.

Scanning counts line ends in fixed chunks and remembers the count at every chunk's start. A later window in the same
file, wherever it is, then costs one seek and a fraction of a chunk.
"""

from __future__ import annotations

import codecs
import os
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from holdfast.lib.text import UTF8, Encoding
from holdfast.lib.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

CHUNK_BYTES = 256 * 1024
MAX_LINE_CHARS = 2_000
_MAX_LINE_BYTES = MAX_LINE_CHARS * 4 + 4
_KEPT_INDEXES = 16
_MAX_COUNTED_REST_BYTES = 16 * 1024 * 1024


class ScanStoppedError(Exception):
    """Finding the lines would read more than the caller allows, or the caller gave up."""


class Scan:
    """What one request may read: a number of bytes, and as long as nobody asks it to stop."""

    __slots__ = ("_left", "_stopped")

    def __init__(self, limit_bytes: int = 8 * 1024**3, stopped: Callable[[], bool] = lambda: False) -> None:
        self._left = limit_bytes
        self._stopped = stopped

    def spend(self, size: int) -> None:
        """Count bytes that were read."""
        self._left -= size
        if self._left < 0:
            raise ScanStoppedError("the wanted lines are too far into the file")
        if self._stopped():
            raise ScanStoppedError("the request was cancelled")


@dataclass(frozen=True, slots=True)
class Window:
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


@dataclass(slots=True)
class _Index:
    """Line ends before the start of each chunk; `starts[i]` belongs to byte `i * CHUNK_BYTES`."""

    before: array[int] = field(default_factory=lambda: array("Q", [0]))
    total: int | None = None
    lock: Lock = field(default_factory=Lock)
    """Two threads may look into one file at once; the counts must be added in order."""


class LineReader:
    """Reads windows of lines and keeps the sparse indexes of the files it scanned last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[tuple[object, ...], _Index] = OrderedDict()
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
        position, skipped = self._seek(fd, index, first, end=end, scan=scan)
        if skipped < first - 1:
            return Window(first, [], {}, position, position, index.total, ended=True)
        lines, overlong, stop, ended = _collect(_chunks(fd, position, scan), limit, end, position)
        total = self._count_rest(fd, index, end) if not ended else first - 1 + len(lines)
        if ended and index.total is None and lines:
            index.total = total
        return Window(first, lines, overlong, position, stop, total, ended=ended)

    def _index(self, fd: int, end: bytes) -> _Index:
        stat = os.fstat(fd)
        key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, end)
        with self._lock:
            index = self._indexes.get(key)
            if index is None:
                index = self._indexes[key] = _Index()
            self._indexes.move_to_end(key)
            while len(self._indexes) > _KEPT_INDEXES:
                self._indexes.popitem(last=False)
        return index

    def _seek(self, fd: int, index: _Index, first: int, *, end: bytes, scan: Scan) -> tuple[int, int]:
        """Find the byte where line `first` starts; returns it and the number of line ends before it."""
        wanted = first - 1
        if wanted <= 0:
            return 0, 0
        with index.lock:
            return self._scan(fd, index, wanted, end=end, scan=scan)

    @staticmethod
    def _scan(fd: int, index: _Index, wanted: int, *, end: bytes, scan: Scan) -> tuple[int, int]:
        chunk = bisect_right(index.before, wanted - 1) - 1
        buffer = bytearray(CHUNK_BYTES)
        while True:
            size = os.preadv(fd, [buffer], chunk * CHUNK_BYTES)
            scan.spend(size)
            passed = index.before[chunk]
            here = buffer.count(end, 0, size)
            if passed + here >= wanted:
                return chunk * CHUNK_BYTES + _after_nth(buffer, end, wanted - passed, size), wanted
            if size < CHUNK_BYTES:
                index.total = passed + here + (not _ends_line(fd, chunk * CHUNK_BYTES + size, end))
                return chunk * CHUNK_BYTES + size, passed + here
            chunk += 1
            if chunk == len(index.before):
                index.before.append(passed + here)

    def _count_rest(self, fd: int, index: _Index, end: bytes) -> int | None:
        """Count all lines, unless that means reading much more than was asked for."""
        if index.total is not None:
            return index.total
        size = os.fstat(fd).st_size
        if size - (len(index.before) - 1) * CHUNK_BYTES > _MAX_COUNTED_REST_BYTES:
            return None
        self._seek(fd, index, 2**62, end=end, scan=Scan())
        return index.total


def _ends_line(fd: int, size: int, end: bytes) -> bool:
    return size == 0 or os.pread(fd, 1, size - 1) == end


def _after_nth(buffer: bytearray, end: bytes, nth: int, size: int) -> int:
    """Position after the nth line end; narrows by counting halves before stepping."""
    low, high = 0, size
    while nth > 32:
        middle = (low + high) // 2
        here = buffer.count(end, low, middle)
        if here >= nth:
            high = middle
        else:
            low, nth = middle, nth - here
    position = low
    for _ in range(nth):
        position = buffer.index(end, position) + 1
    return position


def _chunks(fd: int, position: int, scan: Scan) -> Generator[bytes]:
    size = 64 * 1024
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
            rest = chunk[_after_nth(bytearray(chunk), end, first - 1 - skipped, len(chunk)) :]
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


@dataclass(frozen=True, slots=True)
class Numbered:
    """Lines formatted for reading."""

    text: str
    shown: int
    """How many lines are in the text."""
    cut: int
    """How many of those were shortened."""
    over_budget: bool
    """Whether lines were left out because the text would have cost too many tokens."""


def number_lines(window: Window, *, encoding: Encoding = UTF8, max_tokens: int) -> Numbered:
    """Format lines as `cat -n` does, each cut at 2,000 characters, as many as the token budget allows."""
    show = UTF8.show if encoding.is_wide else encoding.show
    out: list[str] = []
    cut: list[int] = []
    for index, line in enumerate(window.lines):
        number, length = window.first + index, window.overlong.get(index, len(line))
        data = line[:-1] if length == len(line) and line.endswith(b"\r") else line
        if number == 1 and encoding.mark and data.startswith(encoding.mark):
            data = data[len(encoding.mark) :]
        text = show(data).replace("\0", "\u2400")
        if len(text) > MAX_LINE_CHARS or length > len(line):
            text = f"{text[:MAX_LINE_CHARS]}… [line is {length:,} bytes long]"
            cut.append(index)
        out.append(f"{number:>6}\t{text}")
    whole = "\n".join(out)
    if estimate_tokens(whole) <= max_tokens:  # one look at all lines is a hundred times faster than one at each
        return Numbered(whole, len(out), len(cut), over_budget=False)
    shown = _affordable(out, max_tokens)
    kept = sum(index < shown for index in cut)
    return Numbered("\n".join(out[:shown]), shown, kept, over_budget=shown < len(out))


def _affordable(entries: list[str], max_tokens: int) -> int:
    """How many entries the budget allows; one always."""
    spent = 0
    for index, entry in enumerate(entries):
        spent += estimate_tokens(entry)
        if spent > max_tokens and index:
            return index
    return len(entries)

"""Where the lines of a large file start: line ends counted in fixed blocks, each byte counted at most once."""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_right
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_BYTES = 64 * 1024
# Several blocks in one read, each in a buffer of its own: some processors (AMD Zen 3) copy from the kernel three times
# slower into memory that starts 16 bytes after a page, where `malloc` puts what is larger than 128 KB.
_BLOCKS_AT_ONCE = 4
# Until Python 3.13 `count` compares byte by byte, while `replace` leaps from one line end to the next with `memchr`. It
# does so twice, and copies, and still is the faster way to count lines that are longer than this.
_LONG_LINE_BYTES = 80 if sys.version_info < (3, 14) else sys.maxsize
_STEPPED_LINES = 32


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


class LineIndex(msgspec.Struct):
    """How many line ends there are before each block of one state of a file, as far as it was scanned."""

    end: bytes
    """What ends a line, one byte."""
    total: int | None = None
    """Lines in the file, once its end was seen."""
    _before: array[int] = msgspec.field(default_factory=lambda: array("Q", [0]))
    _lock: Lock = msgspec.field(default_factory=Lock)
    """Two threads may look into one file at once; the counts must be added in order."""

    @property
    def scanned_bytes(self) -> int:
        """How far the file was scanned."""
        return (len(self._before) - 1) * BLOCK_BYTES

    def bytes_of(self, lines: int) -> int | None:
        """Guess how many bytes so many lines take, by those that were scanned; None if that tells nothing."""
        passed = self._before[-1]
        return lines * self.scanned_bytes // passed if passed else None

    def seek(self, fd: int, wanted: int, scan: Scan) -> tuple[int, int]:
        """Find the byte after so many line ends; returns it and their number, less if the file has not that many.

        Raises:
            ScanStoppedError: The limit of `scan` was reached; what was counted until then is kept.
        """
        if wanted <= 0:
            return 0, 0
        with self._lock:
            block = bisect_right(self._before, wanted - 1) - 1
            if block == len(self._before) - 1:
                return self._advance(fd, wanted, scan)
            passed = self._before[block]
        start, data = block * BLOCK_BYTES, bytearray(BLOCK_BYTES)
        size = read_into(fd, [memoryview(data)], start)
        scan.spend(size)
        if size < BLOCK_BYTES:  # cut off since it was counted
            here = data.count(self.end, 0, size)
            if passed + here < wanted:
                return start + size, passed + here
        return start + after_nth(data, self.end, wanted - passed), wanted

    def _advance(self, fd: int, wanted: int, scan: Scan) -> tuple[int, int]:
        """Count on from where counting ended, up to the wanted line end or the end of the file."""
        blocks = [bytearray(BLOCK_BYTES) for _ in range(_BLOCKS_AT_ONCE)]
        views = [memoryview(block) for block in blocks]
        end, before, start = self.end, self._before, self.scanned_bytes
        passed, here = before[-1], BLOCK_BYTES
        while True:
            size = read_into(fd, views, start)
            scan.spend(size)
            for block in blocks:
                if size < BLOCK_BYTES:
                    here = block.count(end, 0, size)
                elif here * _LONG_LINE_BYTES < BLOCK_BYTES:
                    here = BLOCK_BYTES - len(block.replace(end, b""))
                else:
                    here = block.count(end)
                if passed + here >= wanted:
                    return start + after_nth(block, end, wanted - passed), wanted
                passed += here
                if size < BLOCK_BYTES:
                    start += size
                    self.total = passed + (start > 0 and os.pread(fd, 1, start - 1) != end)
                    return start, passed
                before.append(passed)
                start += BLOCK_BYTES
                size -= BLOCK_BYTES


def after_nth(data: bytes | bytearray, end: bytes, nth: int) -> int:
    """Position after the nth line end, of which there must be so many; counts halves before it steps."""
    low, high = 0, len(data)
    while nth > _STEPPED_LINES:
        middle = (low + high) // 2
        here = data.count(end, low, middle)
        if here >= nth:
            high = middle
        else:
            low, nth = middle, nth - here
    for _ in range(nth):
        low = data.index(end, low) + 1
    return low


def read_into(fd: int, views: list[memoryview], position: int) -> int:
    """Fill buffers from a place in a file; returns the number of bytes, less than they hold only at the file's end."""
    wanted = sum(map(len, views))
    size = last = _preadv(fd, views, position)
    while last and size < wanted:
        size += (last := _preadv(fd, _unfilled(views, size), position + size))
    return size


def _unfilled(views: list[memoryview], size: int) -> list[memoryview]:
    rest: list[memoryview] = []
    for view in views:
        if size < len(view):
            rest.append(view[size:])
        size = max(0, size - len(view))
    return rest


def _pread_first(fd: int, views: list[memoryview], position: int) -> int:
    """Stand in for `os.preadv` where the system has none: fills the first buffer."""
    data = os.pread(fd, len(views[0]), position)
    views[0][: len(data)] = data
    return len(data)


_preadv: Callable[[int, list[memoryview], int], int] = getattr(os, "preadv", _pread_first)

"""Append whole lines to a file, whatever the disk does: after an error the file still ends at a line's end."""

import errno
import os
from typing import NamedTuple

__all__ = ["Appended", "LineAppender"]

_TAIL_BYTES = 64 * 1024
_INTERRUPTS = 100
"""A write interrupted this often without writing a byte has failed."""


class Appended(NamedTuple):
    """How an append went."""

    kept_bytes: int
    """How much of the data, in whole lines, is in the file."""
    error: OSError | None


class LineAppender:
    """The end of an append-only file of lines. The caller holds the lock that makes it the only writer."""

    __slots__ = ("_end", "_handle", "_interrupts", "_torn")

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._interrupts = 0
        self._torn = False
        """The file ends in part of a line that could not be removed; the next write ends that line first."""
        self._end = os.fstat(handle).st_size
        self._mend_tail()

    @property
    def end(self) -> int:
        """How many bytes of whole lines the file holds."""
        return self._end

    def append(self, lines: bytes) -> Appended:
        """Write whole lines; after an error as many of them as were written whole stay, and nothing of the next."""
        fence = b"\n" if self._torn else b""
        data = fence + lines
        done, error = self._write(data)
        if done == len(data):
            self._end += done
            self._torn = False
            return Appended(len(lines), None)
        if done:
            self._settle(data, done)
        return Appended(max(0, data.rfind(b"\n", 0, done) + 1 - len(fence)), error)

    def _write(self, data: bytes) -> tuple[int, OSError | None]:
        done = 0
        while done < len(data):
            try:
                written = os.write(self._handle, memoryview(data)[done:] if done else data)
            except InterruptedError as interrupt:
                if self._is_stuck():
                    return done, interrupt
                continue
            except OSError as refusal:
                return done, refusal
            if written == 0:
                return done, OSError(errno.EIO, "the file takes no more bytes")
            self._interrupts = 0
            done += written
        return done, None

    def _is_stuck(self) -> bool:
        self._interrupts += 1
        return self._interrupts >= _INTERRUPTS

    def _settle(self, data: bytes, done: int) -> None:
        """Remember where whole lines end, and take back the part of a line behind them."""
        whole = data.rfind(b"\n", 0, done) + 1
        if whole < done:
            try:
                os.ftruncate(self._handle, self._end + whole)
            except OSError:
                self._end += done
                self._torn = True
                return
            if whole == 0:
                return  # an older torn line, if any, is still there
        self._end += whole
        self._torn = False

    def _mend_tail(self) -> None:
        """What a crash left behind the last line's end was never acknowledged: it goes, or is fenced off."""
        end = self._last_line_end()
        if end == self._end:
            return
        try:
            os.ftruncate(self._handle, end)
        except OSError:
            self._torn = True
        else:
            self._end = end

    def _last_line_end(self) -> int:
        end = self._end
        while end > 0:
            start = max(0, end - _TAIL_BYTES)
            chunk = os.pread(self._handle, end - start, start)
            found = chunk.rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

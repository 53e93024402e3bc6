"""Append whole lines to a file, whatever the disk does: after an error the file still ends at a line's end."""

import errno
import os
from typing import NamedTuple, Protocol

from holdfast.session.flusher import sync_file

__all__ = ["Appended", "LineAppender", "LineFile", "PathAppender"]

_TAIL_BYTES = 64 * 1024
_INTERRUPTS = 100
"""A write interrupted this often without writing a byte has failed."""


class Appended(NamedTuple):
    """How an append went."""

    kept_bytes: int
    """How much of the data, in whole lines, is in the file."""
    error: OSError | None


class LineFile(Protocol):
    """A file that lines are added to."""

    @property
    def end(self) -> int:
        """How many bytes of whole lines it holds."""
        ...

    def append(self, lines: bytes) -> Appended:
        """Write whole lines."""
        ...

    def sync(self) -> None:
        """Wait until the disk has it."""
        ...

    def close(self) -> None:
        """Nothing more is written."""
        ...


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

    def sync(self) -> None:
        """Wait until the disk has it."""
        sync_file(self._handle)

    def close(self) -> None:
        """The file is closed."""
        os.close(self._handle)

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


class PathAppender:
    """The same for a file that is open only while it is written, because there are many of its kind."""

    __slots__ = ("_end", "_is_whole", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = 0
        self._is_whole = False
        """We have seen that the file ends with a line's end."""

    @property
    def end(self) -> int:
        """How many bytes of whole lines the file holds, as far as we have looked."""
        return self._end

    def append(self, lines: bytes) -> Appended:
        """Open it, write whole lines, close it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            handle = os.open(self._path, flags, 0o600)
        except OSError as error:
            return Appended(0, error)
        try:
            if self._is_whole and os.write(handle, lines) == len(lines):
                self._end += len(lines)
                return Appended(len(lines), None)
            if self._is_whole:
                return self._mend(handle)
            file = LineAppender(handle)
            done = file.append(lines)
            self._end, self._is_whole = file.end, done.error is None
        except OSError as error:
            self._is_whole = False
            return Appended(0, error)
        else:
            return done
        finally:
            os.close(handle)

    def _mend(self, handle: int) -> Appended:
        """Only a part was written: what is no whole line of it goes."""
        before, self._is_whole = self._end, False
        self._end = LineAppender(handle).end
        return Appended(max(0, self._end - before), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def sync(self) -> None:
        """Wait until the disk has it."""
        handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            sync_file(handle)
        finally:
            os.close(handle)

    def close(self) -> None:
        """It is closed already."""

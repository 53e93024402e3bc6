"""Append whole lines to a file, whatever the disk does: after an error the file still ends at a line's end."""

import errno
import os

__all__ = ["LineAppender"]

_TAIL_BYTES = 64 * 1024
_INTERRUPTS = 100
"""A write interrupted this often without writing a byte has failed."""


class LineAppender:
    """The end of an append-only file of lines. The caller holds the lock that makes it the only writer."""

    __slots__ = ("_end", "_handle", "_torn")

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._torn = False
        """The file ends in part of a line that could not be removed; the next write ends that line first."""
        self._end = os.fstat(handle).st_size
        self._mend_tail()

    @property
    def end(self) -> int:
        """How many bytes of whole lines the file holds."""
        return self._end

    def append(self, lines: bytes) -> None:
        """Write lines, all or none of them; raises OSError after taking back what had been written of them."""
        view = memoryview(b"\n" + lines if self._torn else lines)
        done = 0
        interrupts = 0
        while done < len(view):
            try:
                written = os.write(self._handle, view[done:])
            except InterruptedError:
                interrupts += 1
                if interrupts < _INTERRUPTS:
                    continue
                self._take_back(done)
                raise
            except OSError:
                self._take_back(done)
                raise
            if written == 0:
                self._take_back(done)
                raise OSError(errno.EIO, "the file takes no more bytes")
            done += written
        self._end += len(view)
        self._torn = False

    def _take_back(self, written: int) -> None:
        if written == 0:
            return
        try:
            os.ftruncate(self._handle, self._end)
        except OSError:
            self._end += written
            self._torn = True

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

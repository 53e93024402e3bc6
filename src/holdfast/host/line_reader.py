"""Whole lines from pieces of a stream, with a limit on how long one may be: a line without an end must not fill memory.

A line over the limit is not lost silently: its first and last bytes are handed on, so that whoever reads can still say
which answer it was.
"""

from collections.abc import Callable

__all__ = ["LineReader"]

_KEPT_BYTES = 4096


class LineReader:
    """Feed it pieces; it calls back for each whole line, without its end."""

    __slots__ = ("_dropped", "_head", "_length", "_limit", "_on_line", "_on_long", "_rest", "_tail")

    def __init__(
        self, limit_bytes: int, on_line: Callable[[bytes], None], on_long: Callable[[bytes, bytes, int], None]
    ) -> None:
        """Take the limit and who is told.

        Args:
            limit_bytes: A longer line is dropped while it comes.
            on_line: Told each line.
            on_long: Told the first and the last bytes of a line that was too long, and how long it was.
        """
        self._limit = limit_bytes
        self._on_line = on_line
        self._on_long = on_long
        self._rest: list[bytes] = []
        self._length = 0
        self._dropped = False
        self._head = self._tail = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        start = 0
        while (cut := data.find(b"\n", start)) >= 0:
            self._end(data[start:cut])
            start = cut + 1
        if start < len(data):
            self._keep(data[start:] if start else data)

    def finish(self) -> None:
        """The stream has ended: what is left is a line too."""
        if self._length:
            self._end(b"")

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._dropped:
            self._tail = (self._tail + piece[-_KEPT_BYTES:])[-_KEPT_BYTES:]
        else:
            self._rest.append(piece)
            if self._length > self._limit:
                whole = b"".join(self._rest)
                self._dropped, self._rest = True, []
                self._head, self._tail = whole[:_KEPT_BYTES], whole[-_KEPT_BYTES:]

    def _end(self, piece: bytes) -> None:
        if not self._length and len(piece) <= self._limit:  # most lines come in one piece
            self._on_line(piece)
            return
        self._keep(piece)
        line, length, was_dropped = b"".join(self._rest), self._length, self._dropped
        head, tail = self._head, self._tail
        self._rest, self._length, self._dropped, self._head, self._tail = [], 0, False, b"", b""
        if was_dropped:
            self._on_long(head, tail, length)
        else:
            self._on_line(line)

"""Server-sent events from bytes that come in any pieces. Linear time, bounded size, no decoding of text."""

from typing import Protocol

import msgspec

__all__ = ["EventSplitter", "EventTooLarge", "ServerEvent", "Splitter"]

_BOM = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """One event has more bytes than are taken."""


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its name, empty where it has none, and its data with lines joined by a newline."""

    name: bytes
    data: bytes


class Splitter(Protocol):
    """Cuts the bytes of a stream into events."""

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes. Raises `EventTooLarge`."""
        ...

    def finish(self) -> list[ServerEvent]:
        """What is left when the stream ends."""
        ...


class EventSplitter:
    """Feed it the bytes of a stream; it gives the events that are complete.

    Lines end in LF, CR or CRLF, also split between two pieces. Splitting happens at ASCII bytes only, so that a
    character cut in the middle stays whole.
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        """Begin before the first byte."""
        self._max_bytes = max_event_bytes
        self._partial: list[bytes] = []
        """The pieces of a line that has not ended yet."""
        self._held_bytes = 0
        self._name = b""
        self._data: list[bytes] = []
        self._after_cr = False
        self._is_first = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes."""
        if self._after_cr and piece:
            self._after_cr = False
            if piece[0] == 10:
                piece = piece[1:]
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._held_bytes += len(piece)
        if b"\n" not in piece:
            if piece:
                self._partial.append(piece)
            self._check_size()
            return []
        if self._partial:
            self._partial.append(piece)
            piece = b"".join(self._partial)
            self._partial.clear()
        lines = piece.split(b"\n")
        rest = lines.pop()
        events = self._take(lines)
        if rest:
            self._partial.append(rest)
        self._held_bytes = len(rest) + sum(map(len, self._data))
        if not events:  # what is complete goes out first; the next piece, or the end, is refused
            self._check_size()
        return events

    def finish(self) -> list[ServerEvent]:
        """What is left when the stream ends: servers exist that leave out the last empty line."""
        self._check_size()
        rest = b"".join(self._partial)
        self._partial.clear()
        return self._take([rest, b""])

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        data = self._data
        if self._is_first and lines:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if data:
                    events.append(ServerEvent(self._name, data[0] if len(data) == 1 else b"\n".join(data)))
                    data.clear()
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[7:] if line[6:7] == b" " else line[6:]
            elif line == b"data":
                data.append(b"")
        return events

    def _check_size(self) -> None:
        if self._held_bytes > self._max_bytes:
            raise EventTooLarge(f"an event has more than {self._max_bytes} bytes")

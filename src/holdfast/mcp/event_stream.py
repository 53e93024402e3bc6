"""Server-sent events from pieces of a body, with a limit on how large one may be."""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.host.http_errors import HttpError
from holdfast.mcp.wire import BOM

__all__ = ["EventReader", "ServerEvent"]


class ServerEvent(NamedTuple):
    """One event."""

    kind: str = "message"
    data: bytes = b""
    id: str = ""
    retry_ms: int | None = None


class EventReader:
    """Feed it pieces; it yields whole events."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._rest: list[bytes] = []
        self._lines: list[bytes] = []
        self._held = 0
        self._is_first = True
        self._skips_newline = False
        """The last piece ended with a carriage return: a newline right behind it is the same end."""

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Take the next piece.

        Raises:
            HttpError: An event is larger than the limit.
        """
        self._held += len(piece)
        if self._held > self._limit:
            raise HttpError(f"an event has more than {self._limit} bytes", "too_large", has_begun=True)
        piece = self._with_newlines(piece)
        self._rest.append(piece)
        if b"\n" not in piece:
            return
        lines = b"".join(self._rest).split(b"\n")
        rest = lines.pop()
        self._rest = [rest] if rest else []
        for line in lines:
            if line:
                self._lines.append(line)
                continue
            if self._lines:
                yield _event(self._lines)
            self._lines = []
            self._held = len(rest)

    def _with_newlines(self, piece: bytes) -> bytes:
        """Without the mark that some streams begin with, and every end of a line as a newline: there are three."""
        if self._is_first:
            piece = piece.removeprefix(BOM)
        if self._skips_newline:
            piece = piece.removeprefix(b"\n")
        self._is_first, self._skips_newline = False, piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece


def _event(lines: list[bytes]) -> ServerEvent:
    kind, identity, retry_ms = "message", "", None
    data: list[bytes] = []
    for line in lines:
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            identity = value.decode("latin-1")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            retry_ms = int(value)
    return ServerEvent(kind, b"\n".join(data), identity, retry_ms)

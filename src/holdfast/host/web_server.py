"""HTTP/1.1 requests in, answers out: a small server on h11, for loopback and for few clients.

What a request may be is bounded before anybody looks at it: its head, its body, the time it takes to arrive, and how
many connections there are. Whoever answers is told when the client goes away.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import h11

__all__ = ["Handler", "Responder", "WebRequest", "WebServer"]

_log = logging.getLogger(__name__)
_MAX_HEAD_BYTES = 64 << 10
_ARRIVAL_S = 30.0
_IDLE_S = 120.0
_REASONS = {200: b"OK", 202: b"Accepted", 400: b"Bad Request", 401: b"Unauthorized", 403: b"Forbidden"}


class WebRequest(NamedTuple):
    """One whole request."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    """Names in lower case, in their order."""
    body: bytes

    def header(self, name: str) -> str | None:
        """The first of this name."""
        return next((value for known, value in self.headers if known == name), None)

    def count(self, name: str) -> int:
        """How often it is there."""
        return sum(known == name for known, _ in self.headers)


Handler = Callable[[WebRequest, "Responder"], Awaitable[None]]


class Responder:
    """Answers one request: whole, or in parts."""

    def __init__(self, connection: "_Connection") -> None:
        self._connection = connection
        self.has_begun = False
        self.has_ended = False

    async def whole(self, status: int, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()) -> None:
        """Answer at once."""
        await self.begin(status, [*headers, ("content-length", str(len(body)))])
        if body:
            await self.part(body)
        self.end()

    async def begin(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head; without a length the parts follow as chunks."""
        self.has_begun = True
        await self._connection.send(
            h11.Response(status_code=status, headers=list(headers), reason=_REASONS.get(status, b""))
        )

    async def part(self, data: bytes) -> None:
        """Send some of the body; waits while the client reads slowly."""
        await self._connection.send(h11.Data(data=data))

    def end(self) -> None:
        """Nothing follows."""
        if not self.has_ended:
            self.has_ended = True
            self._connection.send_now(h11.EndOfMessage())

    async def gone(self) -> None:
        """Wait until the client is gone."""
        await asyncio.shield(self._connection.lost)


class _Connection(asyncio.Protocol):
    """One client's connection: one request at a time."""

    def __init__(self, server: "WebServer") -> None:
        self._server = server
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._server.connections) >= self._server.max_connections:
            transport.close()
            return
        self._server.connections.add(self)
        self._expect(_ARRIVAL_S)

    def data_received(self, data: bytes) -> None:
        try:
            self._h11.receive_data(data)
            self._advance()
        except h11.RemoteProtocolError as error:
            self._refuse(getattr(error, "error_status_hint", 400) or 400)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._server.connections.discard(self)
        self._expect(None)
        self._may_write.set()
        if not self.lost.done():
            self.lost.set_result(None)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    # Requests.

    def _advance(self) -> None:
        while self._task is None:
            event = self._h11.next_event()
            if isinstance(event, h11.Request):
                self._head, self._body = event, bytearray()
                if self._h11.they_are_waiting_for_100_continue:
                    self.send_now(h11.InformationalResponse(status_code=100, headers=[]))
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._server.max_body_bytes:
                    self._refuse(413)
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._expect(None)
                self._task = asyncio.ensure_future(self._answer())
            elif isinstance(event, h11.ConnectionClosed):
                self.close()
                return
            else:  # more data is needed
                return

    async def _answer(self) -> None:
        head = self._head
        assert head is not None
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in head.headers]
        request = WebRequest(head.method.decode(), head.target.decode("latin-1"), headers, bytes(self._body))
        responder = Responder(self)
        try:
            await self._server.handler(request, responder)
        except ConnectionError:
            self.close()
        except Exception:  # noqa: BLE001 - the edge of the server: one request must not end the others
            _log.exception("the request %s %s could not be answered", request.method, request.target[:200])
            self._refuse(500)
        finally:
            self._task = None
        self._next(responder)

    def _next(self, responder: Responder) -> None:
        if not responder.has_ended or self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
            self.close()
            return
        self._h11.start_next_cycle()
        self._expect(_IDLE_S)
        try:
            self._advance()
        except h11.RemoteProtocolError:
            self._refuse(400)

    def _refuse(self, status: int) -> None:
        if self._h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with contextlib.suppress(h11.LocalProtocolError, ConnectionError):
                headers = [("content-length", "0"), ("connection", "close")]
                self.send_now(h11.Response(status_code=status, headers=headers, reason=_REASONS.get(status, b"")))
                self.send_now(h11.EndOfMessage())
        self.close()

    # Answers.

    async def send(self, event: h11.Event) -> None:
        """Send a part of an answer; waits while the client is slow.

        Raises:
            ConnectionError: The client is gone.
        """
        self.send_now(event)
        await self._may_write.wait()
        if self.lost.done():
            raise ConnectionError("the client is gone")

    def send_now(self, event: h11.Event) -> None:
        """The same, without the wait."""
        assert self._transport is not None
        if self.lost.done() or self._transport.is_closing():
            raise ConnectionError("the client is gone")
        data = self._h11.send(event)
        if data:
            self._transport.write(data)

    def close(self) -> None:
        """End the connection, and what works for it."""
        if self._transport is not None:
            self._transport.close()

    def _expect(self, seconds: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        loop = asyncio.get_running_loop()
        self._alarm = None if seconds is None else loop.call_later(seconds, self.close)

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """What answers now."""
        return self._task


class WebServer:
    """Listens on one address."""

    def __init__(self, handler: Handler, *, max_body_bytes: int, max_connections: int = 100) -> None:
        self.handler = handler
        self.max_body_bytes = max_body_bytes
        self.max_connections = max_connections
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, which the system chooses for 0.

        Raises:
            OSError: The address cannot be used.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Listen no more, and end every connection."""
        if self._server is not None:
            self._server.close()
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)
        for connection in list(self.connections):
            connection.close()

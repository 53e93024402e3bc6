"""The one way to web servers: HTTP/1.1 with streamed answers, kept connections, proxies, TLS, and limits.

h11 reads and writes the protocol, `http_wire` moves the bytes. Nothing else is loaded, because the first request to a
model waits for this module: a larger client costs more to import than all of ours together. Redirects are not
followed and nothing is sent twice; both are decisions of the caller.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote, urlsplit

import h11

from holdfast.host.http_errors import HttpError
from holdfast.host.http_wire import Addresses, Connect, Route, Wire, basic, connect
from holdfast.host.proxies import proxy_for, tls_context

if TYPE_CHECKING:
    from holdfast.host.http_packing import Unpacker

__all__ = ["HttpClient", "HttpError", "Request", "Response", "without_login"]

_MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_IDLE: Final = 10
_KEEP_S: Final = 60.0
_PORTS: Final = {"http": 80, "https": 443}


class Request(NamedTuple):
    """What is sent. The headers that the protocol needs are added; `accept-encoding` is `identity` unless given."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes = b""
    idle_timeout_s: float | None = None
    """How long nothing may come, at each step of reading; None: the caller watches."""
    max_body_bytes: int | None = None
    """Of the answer, unpacked."""


class HttpClient:
    """Sends requests and keeps connections for the next ones. It belongs to one event loop."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        connect_timeout_s: float = 15.0,
        addresses: Addresses | None = None,
        connect_by: Connect = connect,
    ) -> None:
        """Proxies and certificates come from `environ`; `addresses` decides where a name may lead (none: anywhere).

        `connect_by` opens connections; the test kit has one that leads to a server of its own.
        """
        self._connect_by = connect_by
        self._environ = environ
        self._connect_timeout_s = connect_timeout_s
        self._addresses = addresses
        self._idle: list[tuple[Route, _Connection, float]] = []
        self._coming: dict[Route, asyncio.Task[_Connection]] = {}
        self._tls: asyncio.Task[ssl.SSLContext] | None = None

    def expect(self, url: str) -> None:
        """A request to this address will follow: begin to connect. What fails is told by the request."""
        route = self._route(url)
        if route not in self._coming and not any(known == route for known, _, _ in self._idle):
            task = self._coming[route] = asyncio.create_task(self._connect(route))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its request tells it

    async def send(self, request: Request) -> "Response":
        """Send, and wait for the head of the answer.

        Raises:
            HttpError: There is no connection, it broke, or the request cannot be sent.
        """
        route = self._route(request.url)
        connection = await self._connection(route)
        try:
            await connection.send(_lines(request, route), request.body)
            return Response(await connection.head(request.idle_timeout_s), request, _Lease(self, route, connection))
        except BaseException:
            await connection.close()
            raise

    @asynccontextmanager
    async def exchange(self, request: Request) -> "AsyncGenerator[Response]":
        """The same for a block: leaving it ends the request."""
        response = await self.send(request)
        try:
            yield response
        finally:
            await response.close()

    async def close(self) -> None:
        """Close every connection that nobody uses."""
        for task in (*self._coming.values(), self._tls):
            if task is not None:
                task.cancel()
        await asyncio.gather(*self._coming.values(), return_exceptions=True)
        idle = [connection for _, connection, _ in self._idle]
        idle += [task.result() for task in self._coming.values() if not task.cancelled() and task.exception() is None]
        self._idle, self._coming, self._tls = [], {}, None
        for connection in idle:
            await connection.close()

    def keep(self, route: Route, connection: "_Connection") -> None:
        """Keep a connection for the next request."""
        now_s = asyncio.get_running_loop().time()
        self._idle.append((route, connection, now_s))
        while len(self._idle) > _MAX_IDLE:
            self._idle.pop(0)[1].abort()

    def _route(self, url: str) -> Route:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS[parts.scheme]
            host = (parts.hostname or "").encode("ascii" if (parts.hostname or "").isascii() else "idna").decode()
        except (ValueError, KeyError) as error:
            raise HttpError(f"{without_login(url)!r} is no http:// or https:// address", "invalid") from error
        if not host:
            raise HttpError(f"{without_login(url)!r} names no server", "invalid")
        return Route(parts.scheme == "https", host, port, proxy_for(url, self._environ))

    async def _connection(self, route: Route) -> "_Connection":
        now_s = asyncio.get_running_loop().time()
        for item in reversed(self._idle):
            known, connection, since_s = item
            if known == route:
                self._idle.remove(item)
                if connection.is_usable and now_s - since_s < _KEEP_S:
                    return connection
                connection.abort()
        coming = self._coming.pop(route, None)
        if coming is None:
            return await self._connect(route)
        try:
            return await coming
        except asyncio.CancelledError:
            coming.cancel()
            raise

    async def _connect(self, route: Route) -> "_Connection":
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                return _Connection(await self._connect_by(route, tls=self._certificates, addresses=self._addresses))
        except TimeoutError as error:
            raise HttpError(f"no connection in {self._connect_timeout_s:g} s", "connect_timeout") from error

    async def _certificates(self) -> ssl.SSLContext:
        """What to trust: read once, beside the event loop, because it takes tens of milliseconds."""
        if self._tls is None or (self._tls.done() and (self._tls.cancelled() or self._tls.exception())):
            self._tls = asyncio.create_task(asyncio.to_thread(tls_context, self._environ))
        return await asyncio.shield(self._tls)


class _Connection:
    """A wire and where the protocol stands on it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._state = _protocol()

    @property
    def is_usable(self) -> bool:
        return self._wire.is_usable and self._state.our_state is h11.IDLE

    async def send(self, head: h11.Request, body: bytes) -> None:
        try:
            pieces = [self._state.send(head)]
            if body:
                pieces.append(self._state.send(h11.Data(data=body)))
            pieces.append(self._state.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise HttpError(str(error), "invalid") from error
        self._wire.write(b"".join(filter(None, pieces)))

    async def head(self, timeout_s: float | None) -> h11.Response:
        """The answer's head; what only announces it is passed over."""
        while True:
            event = await self.event(timeout_s, has_begun=False)
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise HttpError("the server wants to speak another protocol", "cut")

    async def event(self, timeout_s: float | None, *, has_begun: bool = True) -> Any:
        """What the protocol says next."""
        state = self._state
        try:
            while True:
                event = state.next_event()
                if event is h11.PAUSED:
                    raise HttpError("the server wants to speak another protocol", "cut", has_begun=has_begun)
                if event is not h11.NEED_DATA:
                    return event
                async with asyncio.timeout(timeout_s):
                    data = await self._wire.read()
                if not data and not has_begun:
                    raise HttpError("the server hung up without an answer", "cut")
                state.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise HttpError(str(error), "cut", has_begun=has_begun) from error
        except TimeoutError as error:
            raise HttpError(f"nothing came for {timeout_s:g} s", "silent", has_begun=has_begun) from error
        except OSError as error:
            raise HttpError(error.strerror or str(error), "cut", has_begun=has_begun) from error

    def begin_anew(self) -> bool:
        """Whether another request can follow on this connection; it is ready for it then."""
        state = self._state
        if (state.our_state, state.their_state) != (h11.DONE, h11.DONE):
            return False
        state.start_next_cycle()
        return self._wire.is_usable

    async def close(self) -> None:
        await self._wire.close()

    def abort(self) -> None:
        self._wire.abort()


class _Lease(NamedTuple):
    """A connection that is used, and where it goes afterwards."""

    client: HttpClient
    route: Route
    connection: _Connection


class Response:
    """One answer: its head is here, its body is read piece by piece."""

    def __init__(self, head: h11.Response, request: Request, lease: _Lease) -> None:
        self.status: int = head.status_code
        self.headers: dict[str, str] = {}
        """Names in lower case; one that came several times is joined by commas."""
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._request = request
        self._lease: _Lease | None = lease
        self._unpack = _unpacker_for(self.headers.get("content-encoding", ""))
        self._read_bytes = 0

    @property
    def is_success(self) -> bool:
        """The server did what it was asked."""
        return 200 <= self.status < 300

    async def read(self) -> bytes | None:
        """The next bytes of the body, as they come; None at the end.

        Raises:
            HttpError: The body broke off, fell silent, is packed in a way that was not asked for, or is too large.
        """
        while self._lease is not None:
            unpacked = b"" if self._unpack is None else self._unpack.take()
            if piece := unpacked or await self._next(self._lease):
                return self._counted(piece)
        return None

    async def read_all(self, limit_bytes: int) -> bytes:
        """The whole body; more than the limit is an error."""
        parts: list[bytes] = []
        held = 0
        while (piece := await self.read()) is not None:
            held += len(piece)
            if held > limit_bytes:
                raise HttpError(f"the answer has more than {limit_bytes} bytes", "too_large", has_begun=True)
            parts.append(piece)
        return b"".join(parts)

    async def close(self) -> None:
        """End the request: a body that was not read to its end closes the connection."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await lease.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _next(self, lease: _Lease) -> bytes:
        """What comes next, unless it came packed: then it is fed, and nothing is given."""
        unpack = self._unpack
        if unpack is not None and unpack.is_over:
            await self.close()
            return b""
        event = await lease.connection.event(self._request.idle_timeout_s)
        if isinstance(event, h11.Data):
            if unpack is None:
                return bytes(event.data)
            unpack.feed(bytes(event.data))
            return b""
        self._lease = None
        if isinstance(event, h11.EndOfMessage) and lease.connection.begin_anew():
            lease.client.keep(lease.route, lease.connection)
        else:
            await lease.connection.close()
        if unpack is not None and not unpack.is_whole:
            raise HttpError("the packed answer broke off", "cut", has_begun=True)
        return b""

    def _counted(self, piece: bytes) -> bytes:
        self._read_bytes += len(piece)
        limit = self._request.max_body_bytes
        if limit is not None and self._read_bytes > limit:
            raise HttpError(f"the answer has more than {limit} bytes", "too_large", has_begun=True)
        return piece


def without_login(url: str) -> str:
    """An address as messages may tell it: without its login."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url.rpartition("@")[2]


def _unpacker_for(encoding: str) -> "Unpacker | None":
    if not encoding:
        return None
    from holdfast.host.http_packing import unpacker_for  # noqa: PLC0415 - models answer unpacked

    return unpacker_for(encoding)


def _protocol() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)


def _lines(request: Request, route: Route) -> h11.Request:
    parts = urlsplit(request.url)
    is_usual = route.port == _PORTS[parts.scheme]
    host = route.authority.rpartition(":")[0] if is_usual else route.authority
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")
    headers = {"host": host, "accept": "*/*", "accept-encoding": "identity", "user-agent": "holdfast"}
    if (login := basic(request.url)) is not None:
        headers["authorization"] = login
    if request.body or request.method in {"POST", "PUT", "PATCH"}:
        headers["content-length"] = str(len(request.body))
    headers |= {name.lower(): value for name, value in request.headers.items()}
    if route.proxy is not None and not route.is_tls:  # a proxy wants to be told the whole address
        target = f"http://{host}{target}"
        if (login := basic(route.proxy)) is not None:
            headers["proxy-authorization"] = login
    try:
        return h11.Request(method=request.method, target=target, headers=list(headers.items()))
    except (h11.LocalProtocolError, UnicodeEncodeError) as error:
        raise HttpError(str(error), "invalid") from error

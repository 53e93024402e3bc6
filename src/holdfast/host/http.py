"""The one way to web servers: HTTP/1.1 with streamed answers, kept connections, proxies, TLS, and limits.

h11 reads and writes the protocol (`http_protocol`), `http_wire` moves the bytes. Nothing else is loaded, because the
first request to a model waits for this module: a larger client costs more to import than all of ours together. A plain
first request leaves even before h11 is loaded. Redirects are not followed and nothing is sent twice; both are decisions
of the caller.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from holdfast.host.http_errors import HttpError
from holdfast.host.http_request import Head, plain_bytes
from holdfast.host.http_wire import Addresses, Connect, Route, Wire, basic, connect
from holdfast.host.proxies import proxy_for, tls_context
from holdfast.lib.closing import ClosedAtExit

if TYPE_CHECKING:
    from holdfast.host.http_packing import Unpacker
    from holdfast.host.http_protocol import AnswerHead, Protocol

__all__ = ["HttpClient", "HttpError", "Request", "Response", "without_login"]

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
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    def expect(self, url: str) -> None:
        """A request to this address will follow: begin to connect. What fails is told by the request."""
        route = self._route(url)
        if route not in self._coming and not any(known == route for known, _, _ in self._idle):
            if route.is_tls:
                self._read_certificates()  # while the connection opens, and while the caller does something else
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
            connection.send(_head(request, route), request.body)
            head = await connection.protocol.head(request.idle_timeout_s)
            return Response(head, request, _Lease(self, route, connection))
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
            raise HttpError(f"{without_login(url)!r} is not an http:// or https:// address", "invalid") from error
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
        return await asyncio.shield(self._read_certificates())

    def _read_certificates(self) -> asyncio.Future[ssl.SSLContext]:
        """What to trust: read once, and in a thread that begins at once, because it takes tens of milliseconds."""
        if self._tls is None or (self._tls.done() and (self._tls.cancelled() or self._tls.exception())):
            self._tls = asyncio.get_running_loop().run_in_executor(None, tls_context, self._environ)
            self._tls.add_done_callback(lambda done: done.cancelled() or done.exception())  # its connection tells it
        return self._tls


class _Connection:
    """A wire, and the protocol on it from the first request on."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._protocol: Protocol | None = None

    @property
    def protocol(self) -> "Protocol":
        if self._protocol is None:
            from holdfast.host.http_protocol import Protocol  # noqa: PLC0415 - behind the bytes of a first request

            self._protocol = Protocol(self._wire)
        return self._protocol

    @property
    def is_usable(self) -> bool:
        return self._wire.is_usable and (self._protocol is None or self._protocol.is_idle)

    def send(self, head: Head, body: bytes) -> None:
        data = plain_bytes(head, body) if self._protocol is None else None
        if data is not None:
            self._wire.write(data)
        asked = self.protocol.ask(head, body)
        if data is None:
            self._wire.write(asked)

    async def close(self) -> None:
        await self._wire.close()

    def abort(self) -> None:
        self._wire.abort()


class _Lease(msgspec.Struct, frozen=True):
    """A connection that is used, and where it goes afterwards."""

    client: HttpClient
    route: Route
    connection: _Connection


class Response(ClosedAtExit):
    """One answer: its head is here, its body is read piece by piece."""

    def __init__(self, head: "AnswerHead", request: Request, lease: _Lease) -> None:
        self.status: int = head.status
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

    async def _next(self, lease: _Lease) -> bytes:
        """What comes next, unless it came packed: then it is fed, and nothing is given."""
        unpack = self._unpack
        if unpack is not None and unpack.is_over:
            await self.close()
            return b""
        piece = await lease.connection.protocol.piece(self._request.idle_timeout_s)
        if piece is not None:
            if unpack is None:
                return piece
            unpack.feed(piece)
            return b""
        self._lease = None
        if lease.connection.protocol.begin_anew():
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


def _head(request: Request, route: Route) -> Head:
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
    return Head(request.method, target, headers)

"""One connection to a web server: bytes in, bytes out, with TLS, and through a proxy where there is one.

A thin `asyncio.Protocol` instead of streams: a tunnel changes to TLS in the midst of a connection, reading must stop
while nobody reads, and a connection that is left must be gone at once.
"""

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast
from urllib.parse import unquote, urlsplit

import msgspec

from holdfast.host.http_errors import HttpError

__all__ = ["Addresses", "Connect", "Route", "Wire", "basic", "connect"]

Addresses = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses that a name may be reached at; raises `HttpError` to refuse it."""
_HIGH_BYTES = 256 * 1024
_MAX_PROXY_ANSWER_BYTES = 64 * 1024
_CLOSE_S = 1.0


class Connect(Protocol):
    """Opens a connection along a route."""

    async def __call__(
        self, route: "Route", *, tls: Callable[[], Awaitable[ssl.SSLContext]], addresses: Addresses | None = None
    ) -> "Wire":
        """Ask `addresses` where the name may lead, and `tls` what to trust."""
        ...


class Route(msgspec.Struct, frozen=True):
    """Where a connection leads; two requests of one route can share it."""

    is_tls: bool
    host: str
    port: int
    proxy: str | None = None

    @property
    def authority(self) -> str:
        """Host and port, as a tunnel is asked for."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Wire(asyncio.Protocol):
    """The bytes of one connection. One reader at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._held = bytearray()
        self._news: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._error: Exception | None = None
        self._has_ended = False
        self._is_paused = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._held += data
        if len(self._held) > _HIGH_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Nothing more will come."""
        self._has_ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._has_ended = True
        self._error = exc
        if not self._lost.done():
            self._lost.set_result(None)
        self._wake()

    # What the owner calls.

    @property
    def is_usable(self) -> bool:
        """Nothing has come unasked, and the other side has not hung up."""
        return not self._held and not self._has_ended and self._transport is not None

    def write(self, data: bytes) -> None:
        """Send; what the kernel does not take at once is sent while the answer is waited for."""
        if self._transport is not None:
            self._transport.write(data)

    async def read(self) -> bytes:
        """What came, at least one byte; nothing at the end. Raises OSError when the connection broke."""
        while not self._held and not self._has_ended:
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None
        if not self._held and self._error is not None:
            raise self._error
        data = bytes(self._held)
        self._held.clear()
        if self._is_paused and self._transport is not None and not self._has_ended:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def secure(self, context: ssl.SSLContext, name: str) -> None:
        """Go on with TLS on this connection."""
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self._transport = await loop.start_tls(self._transport, self, context, server_hostname=name)

    async def close(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()
            await asyncio.wait([self._lost], timeout=_CLOSE_S)

    def abort(self) -> None:
        """The same where nobody can wait."""
        if self._transport is not None:
            self._transport.abort()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


async def connect(
    route: Route, *, tls: Callable[[], Awaitable[ssl.SSLContext]], addresses: Addresses | None = None
) -> Wire:
    """Open a connection along this route. `tls` is asked for certificates only where there is TLS.

    Raises:
        HttpError: There is none to be had.
    """
    wire: Wire | None = None
    try:
        if route.proxy is None:
            wire = await _open(route.host, route.port, addresses)
        else:
            wire = await _open_proxy(route.proxy, tls)
            if route.is_tls:
                await _tunnel(wire, route)
        if route.is_tls:
            await wire.secure(await tls(), route.host)
    except BaseException as error:
        if wire is not None:
            await wire.close()
        if isinstance(error, OSError):  # also everything that TLS says
            raise HttpError(_reason(error), "unreachable") from error
        raise
    return wire


async def _open(host: str, port: int, addresses: Addresses | None = None) -> Wire:
    loop = asyncio.get_running_loop()
    if addresses is None:
        # A race between addresses that is cancelled just as it is won loses the socket: none where there is but one.
        _, wire = await loop.create_connection(Wire, host, port, happy_eyeballs_delay=None if _is_one(host) else 0.25)
        return wire
    failed: OSError | None = None
    for address in await addresses(host, port):  # already checked: the name is not looked up again
        try:
            _, wire = await loop.create_connection(Wire, address, port)
        except OSError as error:
            failed = error
        else:
            return wire
    raise failed or OSError(f"no address was found for {host!r}")


def _is_one(host: str) -> bool:
    """Whether a host is an address already."""
    return ":" in host or host.rpartition(".")[2].isdecimal()


async def _open_proxy(proxy: str, tls: Callable[[], Awaitable[ssl.SSLContext]]) -> Wire:
    parts = urlsplit(proxy)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        raise HttpError(f"The proxy {shown!r} cannot be used: only http:// and https:// proxies can.", "unreachable")
    wire = await _open(parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme])
    if parts.scheme == "https":
        await wire.secure(await tls(), parts.hostname)
    return wire


async def _tunnel(wire: Wire, route: Route) -> None:
    lines = [f"CONNECT {route.authority} HTTP/1.1", f"Host: {route.authority}", "User-Agent: holdfast"]
    if (login := basic(route.proxy or "")) is not None:
        lines.append(f"Proxy-Authorization: {login}")
    wire.write("\r\n".join([*lines, "", ""]).encode("ascii"))
    head = b""
    while b"\r\n\r\n" not in head:
        data = await wire.read()
        head += data
        if not data or len(head) > _MAX_PROXY_ANSWER_BYTES:
            raise HttpError("the proxy hung up, or its answer is not HTTP", "unreachable")
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    words = status.split(" ", 2)
    if len(words) < 2 or not words[1].startswith("2"):
        raise HttpError(f"the proxy refuses the way to {route.authority}: {status!r}", "unreachable")


def basic(url: str) -> str | None:
    """The login that an address carries, as a header wants it."""
    parts = urlsplit(url)
    if not parts.username and not parts.password:
        return None
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(login.encode()).decode()}"


def _reason(error: OSError) -> str:
    """The machine's words, without the address that asyncio puts among them."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); SSL_CERT_FILE can name one that is"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__

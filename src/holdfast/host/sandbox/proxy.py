"""The way out of a sandbox: HTTP and SOCKS on one port, and only to hosts that a border lets pass.

A name is judged as it stands, looked up once, and what is dialled is an address that was checked. Where the user's own
environment names a proxy, that one looks the name up.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

import h11

from holdfast.host.http_errors import HttpError
from holdfast.host.http_wire import basic
from holdfast.host.proxies import proxy_for, tls_context

__all__ = ["Border", "Proxy", "Refused"]

_PIECE_BYTES: Final = 64 * 1024
_MAX_HEAD_BYTES: Final = 64 * 1024
_HEAD_S: Final = 60.0
_DIAL_S: Final = 30.0
_MAX_CONNECTIONS: Final = 256
_SOCKS4, _SOCKS5 = 4, 5
_NO_LOGIN, _NO_METHOD = 0, 0xFF
_REFUSED_BY_RULE, _UNREACHABLE, _NOT_KNOWN = 2, 4, 7
_OF_ONE_HOP: Final = frozenset(
    {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade", b"host"}
)


class Refused(Exception):
    """A host that may not be reached; the text says why and what to do."""


class Border(Protocol):
    """Who may be reached."""

    def admit(self, host: str, port: int) -> str:
        """The host as it is to be looked up.

        Raises:
            Refused: It may not be reached.
        """
        ...

    def check(self, host: str, address: str) -> None:
        """Look at an address that the host has.

        Raises:
            Refused: It may not be dialled.
        """
        ...

    @property
    def own_http_port(self) -> int:
        """The port of the user's own HTTP proxy on this machine, which decides by itself; 0: none."""
        ...

    @property
    def own_socks_port(self) -> int:
        """The same for SOCKS."""
        ...


class _Ends(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Proxy:
    """Serves the door of one command until the command is gone."""

    def __init__(self, border: Border, environ: Mapping[str, str] = os.environ) -> None:
        self._border = border
        self._environ = environ
        self._server: asyncio.Server | None = None
        self._guests: set[asyncio.Task[None]] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Begin."""
        self._server = await asyncio.start_server(self._meet, sock=listener, limit=_MAX_HEAD_BYTES)

    def close(self) -> None:
        """End every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for guest in self._guests:
            guest.cancel()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._guests.add(task)
        try:
            if len(self._guests) <= _MAX_CONNECTIONS and self._server is not None:
                await self._serve(_Ends(reader, writer))
        except (OSError, EOFError, h11.ProtocolError, asyncio.CancelledError):
            pass  # whoever is left hangs up
        finally:
            self._guests.discard(task)
            writer.transport.abort()

    async def _serve(self, guest: _Ends) -> None:
        async with asyncio.timeout(_HEAD_S):
            first = await guest.reader.readexactly(1)
        is_socks = first[0] in (_SOCKS4, _SOCKS5)
        own = self._border.own_socks_port if is_socks else self._border.own_http_port
        if own:
            onward = await _dialled("127.0.0.1", own)
            onward.writer.write(first)
            await _join(guest, onward)
        elif first[0] == _SOCKS5:
            await self._socks(guest)
        elif first[0] == _SOCKS4:
            guest.writer.write(bytes([0, 0x5B, 0, 0, 0, 0, 0, 0]))  # it knows no names: refused
            await guest.writer.drain()
        else:
            await self._http(guest, first)

    # SOCKS, version 5.

    async def _socks(self, guest: _Ends) -> None:
        async with asyncio.timeout(_HEAD_S):
            methods = await guest.reader.readexactly((await guest.reader.readexactly(1))[0])
            knows = _NO_LOGIN in methods
            guest.writer.write(bytes([_SOCKS5, _NO_LOGIN if knows else _NO_METHOD]))
            if not knows:
                await guest.writer.drain()
                return
            version, wish, _, kind = await guest.reader.readexactly(4)
            host = await _socks_host(guest.reader, kind)
            port = int.from_bytes(await guest.reader.readexactly(2), "big")
        if version != _SOCKS5 or wish != 1 or host is None:
            await _answer_socks(guest, _NOT_KNOWN)
            return
        try:
            onward = await self._reach(host, port)
        except Refused:
            await _answer_socks(guest, _REFUSED_BY_RULE)
            return
        except OSError:
            await _answer_socks(guest, _UNREACHABLE)
            return
        await _answer_socks(guest, 0)
        await _join(guest, onward)

    # HTTP.

    async def _http(self, guest: _Ends, first: bytes) -> None:
        state = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        state.receive_data(first)
        async with asyncio.timeout(_HEAD_S):
            asked = await _event(state, guest.reader)
        if not isinstance(asked, h11.Request):
            return
        try:
            if asked.method == b"CONNECT":
                await self._tunnel(guest, asked, state.trailing_data[0])
            else:
                await self._forward(guest, asked, state)
        except Refused as refusal:
            await _answer_http(guest, "403 Forbidden", str(refusal))
        except OSError as problem:
            await _answer_http(guest, "502 Bad Gateway", problem.strerror or str(problem) or "nobody answered in time")

    async def _tunnel(self, guest: _Ends, asked: h11.Request, early: bytes) -> None:
        host, port = _authority(asked.target.decode("latin-1"), None)
        onward = await self._reach(host, port)
        guest.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        onward.writer.write(early)
        await _join(guest, onward)

    async def _forward(self, guest: _Ends, asked: h11.Request, state: h11.Connection) -> None:
        """Say one request anew, so that what is sent is what was understood; the connection ends with its answer."""
        scheme, mark, rest = asked.target.decode("latin-1").partition("://")
        if scheme.lower() != "http" or not mark:
            raise Refused("This is a proxy: it wants the whole address, beginning with http://, or CONNECT.")
        authority, slash, path = rest.partition("/")
        bare, question, query = authority.partition("?")
        host, port = _authority(bare, 80)
        target = f"{slash or '/'}{path}{question}{query}"
        name = f"{f'[{host}]' if ':' in host else host}{'' if port == 80 else f':{port}'}"
        headers = [item for item in asked.headers.raw_items() if item[0].lower() not in _OF_ONE_HOP]
        headers += [(b"Host", name.encode("latin-1")), (b"Connection", b"close")]
        upstream = proxy_for(f"http://{name}/", self._environ)
        if upstream is None:
            onward = await self._dial(self._border.admit(host, port), port)
        else:
            self._border.admit(host, port)
            onward = await self._open_upstream(upstream)
            target = f"http://{name}{target}"
            if (login := basic(upstream)) is not None:
                headers.append((b"Proxy-Authorization", login.encode()))
        again = h11.Connection(h11.CLIENT)
        request = h11.Request(method=asked.method, target=target.encode("latin-1"), headers=headers)
        answering = asyncio.create_task(_pour(onward.reader, guest.writer))
        try:
            onward.writer.write(again.send(request) or b"")
            await _say_body(state, guest.reader, again, onward.writer)
            await answering
        finally:
            answering.cancel()
            onward.writer.transport.abort()

    # The way on.

    async def _reach(self, host: str, port: int) -> _Ends:
        """A connection to a host that may be reached."""
        name = self._border.admit(host, port)
        shown = f"[{name}]" if ":" in name else name
        upstream = proxy_for(f"https://{shown}:{port}/", self._environ)
        if upstream is None:
            return await self._dial(name, port)
        onward = await self._open_upstream(upstream)
        login = basic(upstream)
        lines = [f"CONNECT {shown}:{port} HTTP/1.1", f"Host: {shown}:{port}"]
        onward.writer.write(
            "\r\n".join([*lines, *([f"Proxy-Authorization: {login}"] if login else []), "", ""]).encode()
        )
        async with asyncio.timeout(_DIAL_S):
            head = await onward.reader.readuntil(b"\r\n\r\n")
        if head.split(b" ", 2)[1:2] == [b"200"]:
            return onward
        onward.writer.transport.abort()
        raise OSError(f"the proxy of this machine refuses the way to {name!r}")

    async def _dial(self, name: str, port: int) -> _Ends:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_DIAL_S):
            found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
            for address in addresses:
                self._border.check(name, address)
            return await _first(addresses, port)

    async def _open_upstream(self, proxy: str) -> _Ends:
        from urllib.parse import urlsplit  # noqa: PLC0415 - few machines have one

        parts = urlsplit(proxy)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise OSError("the proxy that this machine's environment names is not an http:// or https:// one")
        context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            try:
                context = await asyncio.to_thread(tls_context, self._environ)
            except HttpError as problem:
                raise OSError(str(problem)) from problem
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        async with asyncio.timeout(_DIAL_S):
            return _Ends(*await asyncio.open_connection(parts.hostname, port, ssl=context))


async def _first(addresses: list[str], port: int) -> _Ends:
    failed: OSError | None = None
    for address in addresses:
        try:
            return await _dialled(address, port)
        except OSError as problem:
            failed = problem
    raise failed or OSError("no address was found")


async def _dialled(address: str, port: int) -> _Ends:
    async with asyncio.timeout(_DIAL_S):
        return _Ends(*await asyncio.open_connection(address, port))


async def _event(state: h11.Connection, reader: asyncio.StreamReader) -> h11.Event | type[h11.PAUSED]:
    while True:
        event = state.next_event()
        if event is not h11.NEED_DATA:
            return event  # pyright: ignore[reportReturnType]
        state.receive_data(await reader.read(_PIECE_BYTES))


async def _say_body(
    state: h11.Connection, reader: asyncio.StreamReader, again: h11.Connection, writer: asyncio.StreamWriter
) -> None:
    while True:
        event = await _event(state, reader)
        if not isinstance(event, h11.Data | h11.EndOfMessage):
            return
        writer.write(again.send(event) or b"")
        await writer.drain()
        if isinstance(event, h11.EndOfMessage):
            return


async def _join(guest: _Ends, onward: _Ends) -> None:
    """Carry bytes both ways until both are done."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_pour(guest.reader, onward.writer, ends=True))
            group.create_task(_pour(onward.reader, guest.writer, ends=True))
    except* OSError:
        pass  # one of them hung up
    finally:
        onward.writer.transport.abort()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, ends: bool = False) -> None:
    while data := await reader.read(_PIECE_BYTES):
        writer.write(data)
        await writer.drain()
    if ends and writer.can_write_eof():
        writer.write_eof()


def _authority(text: str, default_port: int | None) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text, "" if default_port is None else str(default_port)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or "@" in host:
        raise Refused(f"{text[:80]!r} is not a host with a port.")
    return host, int(port)


async def _socks_host(reader: asyncio.StreamReader, kind: int) -> str | None:
    if kind == 1:
        return socket.inet_ntop(socket.AF_INET, await reader.readexactly(4))
    if kind == 4:
        return f"[{socket.inet_ntop(socket.AF_INET6, await reader.readexactly(16))}]"
    if kind == 3:
        return (await reader.readexactly((await reader.readexactly(1))[0])).decode("latin-1")
    return None


async def _answer_socks(guest: _Ends, code: int) -> None:
    guest.writer.write(bytes([_SOCKS5, code, 0, 1, 0, 0, 0, 0, 0, 0]))
    await guest.writer.drain()


async def _answer_http(guest: _Ends, status: str, text: str) -> None:
    body = f"{text}\n".encode("utf-8", "replace")
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "X-Proxy-Error: blocked-by-sandbox\r\nConnection: close\r\n\r\n"
    )
    guest.writer.write(head.encode("ascii") + body)
    await guest.writer.drain()
    guest.writer.write_eof()
    await guest.reader.read(_PIECE_BYTES)  # who is still sending must not lose the answer

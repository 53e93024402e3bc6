"""A server inside the user's editor: one WebSocket on this machine, with a word that only the user's programs know."""

import asyncio
import base64
import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from holdfast.mcp.session import Session
from holdfast.mcp.wire import McpError

__all__ = ["WebSocketTransport"]

_MOST_BYTES = 32 << 20
_MOST_HEAD_BYTES = 16 << 10
_PIECE_BYTES = 64
"""What a piece of a message costs besides its text; an empty one is not for nothing."""
_CLOSE_S = 0.5
_NO_EDITOR = (OSError, EOFError, ValueError, asyncio.LimitOverrunError)
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10


class WebSocketTransport:
    """The connection to one editor."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self, port: int, token: str, *, limit_s: float) -> None:
        """Connect, and show the word.

        Raises:
            McpError: Nobody is there, it is no such server, or it says nothing in this time.
        """
        try:
            async with asyncio.timeout(limit_s):
                reader, self._writer = await asyncio.open_connection("127.0.0.1", port, limit=_MOST_HEAD_BYTES)
                await self._greet(reader, port, token)
        except BaseException as error:
            is_there = self._writer is not None
            await self.close()
            if isinstance(error, TimeoutError):
                raise McpError(f"What listens at port {port} did not answer within {limit_s:g} s.") from error
            if isinstance(error, OSError) and not is_there:
                raise McpError(f"The editor does not answer at port {port}: {error.strerror or error}.") from error
            if isinstance(error, _NO_EDITOR):
                raise McpError(f"What answers at port {port} is no editor: {error}.") from error
            raise
        self._reading = asyncio.create_task(self._read(reader))

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Send one message."""
        del key, method, params
        await self._write(_TEXT, message)

    def abandon(self, key: int) -> bool:
        """The server must be told by a message."""
        del key
        return False

    async def close(self) -> None:
        """End the connection."""
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
            await asyncio.wait([self._reading])
        writer, self._writer = self._writer, None
        if writer is None:
            return
        with suppress(OSError):
            writer.write(_frame(_CLOSE, b"\x03\xe8"))
        writer.close()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), _CLOSE_S)

    async def _greet(self, reader: asyncio.StreamReader, port: int, token: str) -> None:
        assert self._writer is not None
        key = base64.b64encode(os.urandom(16))
        head = (
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mcp\r\n"
            f"X-Claude-Code-Ide-Authorization: {token}\r\n\r\n"
        )
        self._writer.write(head.encode())
        await self._writer.drain()
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        if status.split(b" ")[1:2] != [b"101"]:
            raise ValueError(f"it answered {status[:80]!r}")
        headers = dict(line.split(b":", 1) for line in lines if b":" in line)
        said = {name.strip().lower(): value.strip() for name, value in headers.items()}
        wanted = base64.b64encode(hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest())
        if said.get(b"sec-websocket-accept") != wanted:
            raise ValueError("it does not speak WebSocket")

    async def _write(self, kind: int, data: bytes) -> None:
        if self._writer is None:
            raise McpError(f"The MCP server {self._session.name!r} is not connected any more.")
        try:
            self._writer.write(_frame(kind, data))
            await self._writer.drain()
        except OSError as error:
            raise McpError(f"The MCP server {self._session.name!r} is gone: {error}.") from error

    async def _read(self, reader: asyncio.StreamReader) -> None:
        how = "closed the connection"
        parts, size = list[bytes](), 0
        try:
            while True:
                is_last, kind, data = await _next_frame(reader, size)
                if kind == _CLOSE:
                    break
                if kind == _PING:
                    await self._write(_PONG, data)
                elif kind != _PONG:
                    parts.append(data)
                    size += len(data) + _PIECE_BYTES
                    if is_last:
                        self._session.take(b"".join(parts))
                        parts, size = [], 0
        except (OSError, EOFError, McpError):
            pass
        except ValueError as error:
            how = f"sent what cannot be read: {error}"
        self._session.lost(how)


async def _next_frame(reader: asyncio.StreamReader, so_far: int) -> tuple[bool, int, bytes]:
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8))
    if second & 0x80 or first & 0x70:
        raise ValueError("a frame is not as a server sends it")
    if length + so_far > _MOST_BYTES:
        raise ValueError(f"a message has more than {_MOST_BYTES >> 20} MiB")
    return bool(first & 0x80), first & 0x0F, await reader.readexactly(length)


def _frame(kind: int, data: bytes) -> bytes:
    """One whole message as a client sends it: hidden by a mask."""
    size = len(data)
    if size < 126:
        head = bytes((0x80 | kind, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((0x80 | kind, 0xFE)) + size.to_bytes(2)
    else:
        head = bytes((0x80 | kind, 0xFF)) + size.to_bytes(8)
    mask = os.urandom(4)
    repeated = (mask * (size // 4 + 1))[:size]
    return head + mask + (int.from_bytes(data) ^ int.from_bytes(repeated)).to_bytes(size)

"""A server inside this process: an object of the SDK of the protocol's authors, given in Python."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from holdfast.lib.visible import visible
from holdfast.mcp.session import Session
from holdfast.mcp.wire import McpError

__all__ = ["InProcessTransport", "served_object"]

_CLOSE_S = 2.0
_WRAPPED = ("_lowlevel_server", "_mcp_server", "instance")
"""Where servers of a higher level keep the one that speaks the protocol."""


def served_object(given: object) -> Any:
    """The server that speaks the protocol; None where the object is none."""
    for _ in range(len(_WRAPPED)):
        if callable(getattr(given, "run", None)) and callable(getattr(given, "create_initialization_options", None)):
            return given
        found = [getattr(given, name) for name in _WRAPPED if getattr(given, name, None) is not None]
        if not found:
            return None
        given = found[0]
    return None


class InProcessTransport:
    """Hands messages over in memory. The server runs as a task of the event loop that connected to it."""

    def __init__(self, session: Session, server: Any) -> None:
        self._session = session
        self._server = server
        self._serving: asyncio.Task[None] | None = None
        self._to_server: Any = None
        self._adapter: Any = None
        self._message: Any = None

    async def open(self) -> None:
        """Start the server.

        Raises:
            McpError: The SDK is not installed.
        """
        try:
            from mcp.shared.message import SessionMessage  # noqa: PLC0415 - it takes a second to load
            from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - the same
        except ImportError as error:
            raise McpError("a server given in Python needs its SDK: pip install 'holdfast[mcp]'") from error
        self._adapter, self._message = jsonrpc_message_adapter, SessionMessage
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve(ready))
        await asyncio.wait([ready, self._serving], return_when=asyncio.FIRST_COMPLETED)

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Hand one message over."""
        del key, method, params
        if self._to_server is None:
            raise McpError(f"The MCP server {self._session.name!r} is not running any more.")
        await self._to_server.send(self._message(self._adapter.validate_json(message)))

    def abandon(self, key: int) -> bool:
        """The server must be told by a message."""
        del key
        return False

    async def close(self) -> None:
        """End its input, then what is left of it."""
        stream, self._to_server = self._to_server, None
        if stream is not None:
            await stream.aclose()
        task = self._serving
        if task is None or task is asyncio.current_task():
            return
        await asyncio.wait([task], timeout=_CLOSE_S)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CLOSE_S)

    async def _serve(self, ready: "asyncio.Future[None]") -> None:
        from mcp.shared.memory import create_client_server_memory_streams  # noqa: PLC0415 - it takes a second to load

        how = "ended"
        try:
            async with create_client_server_memory_streams() as ((from_server, to_server), (read, write)):
                self._to_server = to_server
                listening = asyncio.create_task(self._listen(from_server))
                ready.set_result(None)
                try:
                    await self._server.run(read, write, self._server.create_initialization_options())
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])
        except Exception as error:  # noqa: BLE001 - the user's own code
            how = f"ended: {visible(str(error) or type(error).__name__, limit_chars=300)}"
        finally:
            self._to_server = None
            self._session.lost(how)

    async def _listen(self, stream: Any) -> None:
        with suppress(StopAsyncIteration):
            async for sent in stream:
                if not isinstance(sent, Exception):
                    self._session.take(self._adapter.dump_json(sent.message, by_alias=True, exclude_none=True))

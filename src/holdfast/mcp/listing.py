"""Lists that come in pages, with bounds on how many and how long: a server cannot keep us listing for ever."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Protocol

import msgspec

from holdfast.mcp.remote_tool import Listed, read_listed
from holdfast.mcp.session import Limits, Session
from holdfast.mcp.wire import McpError

__all__ = ["Again", "list_all", "list_offers", "list_tools"]

_log = logging.getLogger(__name__)

_MAX_PAGES = 200
_MAX_ENTRIES = 20_000
_MAX_BYTES = 48 << 20
"""Of all pages together; a list that goes on is cut there."""
_PAUSE_S = 1.0


class Again:
    """Lists something again when the server says that it changed: at most once a second, however often it says so."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._is_wanted = False
        self._task: asyncio.Task[None] | None = None

    def wanted(self, spawn: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]) -> None:
        """It changed."""
        self._is_wanted = True
        if self._task is None or self._task.done():
            self._task = spawn(self._go())

    async def _go(self) -> None:
        while self._is_wanted:
            self._is_wanted = False
            await self._work()
            await asyncio.sleep(_PAUSE_S)


class _Page(msgspec.Struct, frozen=True, rename="camel"):
    next_cursor: str | None = None
    tools: list[msgspec.Raw] = []


_page = msgspec.json.Decoder(_Page)


async def list_tools(session: Session, limits: Limits) -> list[Listed]:
    """All tools of a server, the first of each name; an entry that is no tool is left out.

    Raises:
        McpError: The list cannot be had.
    """
    found: dict[str, Listed] = {}
    cursor: str | None = None
    left = _MAX_BYTES
    for _ in range(_MAX_PAGES):
        raw = await session.request("tools/list", {} if cursor is None else {"cursor": cursor}, limits)
        left -= len(bytes(raw))
        try:
            page = _page.decode(raw or b"{}")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise McpError(f"The MCP server {session.name!r} lists its tools in a broken way: {error}.") from error
        for entry in page.tools:
            try:
                tool = read_listed(entry)
            except ValueError:
                continue
            found.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if not cursor or len(found) >= _MAX_ENTRIES or left <= 0:
            break
    return list(found.values())[:_MAX_ENTRIES]


class Offered(Protocol):
    """What a server offers beside tools: prompts, skills."""

    async def refresh(self) -> None:
        """Ask for the list; raises `McpError` when it cannot be had."""
        ...


async def list_offers(offered: Iterable[Offered], server: str, are_listed: asyncio.Event) -> None:
    """All of it; a list that cannot be had keeps no other back."""
    try:
        for one in offered:
            try:
                await one.refresh()
            except McpError as error:
                _log.info("what the MCP server %s offers could not be listed: %s", server, error)
    finally:
        are_listed.set()


async def list_all(session: Session, method: str, key: str, limits: Limits) -> list[dict[str, Any]]:
    """All entries of another list, as plain objects.

    Raises:
        McpError: The list cannot be had.
    """
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    left = _MAX_BYTES
    for _ in range(_MAX_PAGES):
        raw = await session.request(method, {} if cursor is None else {"cursor": cursor}, limits)
        left -= len(bytes(raw))
        try:
            page = msgspec.json.decode(raw or b"{}", type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise McpError(f"The MCP server {session.name!r} answers {method} in a broken way: {error}.") from error
        entries = page.get(key)
        if isinstance(entries, list):
            found += [entry for entry in entries if isinstance(entry, dict)]  # pyright: ignore[reportUnknownVariableType]
        cursor = page.get("nextCursor") if isinstance(page.get("nextCursor"), str) else None
        if not cursor or len(found) >= _MAX_ENTRIES or left <= 0:
            break
    return found[:_MAX_ENTRIES]

"""Tools that a session tells by name only, rare built-in ones and those of servers, and what loads them: ToolSearch."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from holdfast.registry import project_bytes
from holdfast.registry.deferral import SEARCH, Deferral, SearchMode, search_mode, told_by_name, wants_search
from holdfast.settings.environment import Environment

if TYPE_CHECKING:
    from holdfast.agent.history import Message
    from holdfast.app.build import OpenSession
    from holdfast.app.options import Options
    from holdfast.contract import Tool
    from holdfast.registry import Pool

__all__ = ["defer_tools", "search_tools"]

_CHARS_PER_TOKEN = 4
_COME_WITH_SERVERS: Final = ("ListMcpResourcesTool", "ReadMcpResourceTool")
"""Rare ones of ours that may only come up with a server."""


def search_tools(options: "Options", *, has_servers: bool = False) -> "tuple[Tool, ...]":
    """ToolSearch, for a session that wants it. Simple mode has it only for the tools of servers."""
    simple = Environment().flag("SIMPLE") and not has_servers
    if not wants_search(search_mode(os.environ), options.tools, simple=simple):
        return ()
    from holdfast.tools.search.tool_search import ToolSearch  # noqa: PLC0415 - only where it is wanted

    return (ToolSearch(),)


def defer_tools(opened: "OpenSession", context_window: int, history: "Sequence[Message]" = ()) -> str:
    """Let tools wait that the model may not need; returns their names as the model is told of them.

    Which built-in ones wait is decided here and for the whole session. Without ToolSearch nothing waits. What the
    history of a resumed session has called is loaded again.
    """
    from holdfast.tools.search.tool_search import ToolSearch  # noqa: PLC0415 - loaded where it is offered

    pool, hub = opened.executor.pool, opened.servers
    found = pool.find(SEARCH)
    if found is None or not isinstance(found.tool, ToolSearch):
        return ""
    found.tool.bind(pool, lambda: [] if hub is None else hub.pending)
    rare = [tool for tool in pool if tool.mcp_info is None and tool.should_defer and not tool.always_load]
    remote = [tool for tool in pool if tool.mcp_info is not None and not tool.always_load]
    if not _waits(search_mode(os.environ), (*rare, *remote), context_window):
        return ""
    pool.deferral = Deferral((*(tool.name for tool in rare), *_COME_WITH_SERVERS))
    told = told_by_name([tool.name for tool in pool.deferred()])
    _load_again(pool, history)
    return told


def _waits(mode: SearchMode, tools: "Iterable[Tool]", context_window: int) -> bool:
    if mode.kind != "auto":
        return mode.kind == "on"
    cost = sum(len(project_bytes(tool)) for tool in tools) / _CHARS_PER_TOKEN
    return cost > context_window * mode.percent / 100


def _load_again(pool: "Pool", history: "Sequence[Message]") -> None:
    """What was called in an earlier process is loaded, in the same order."""
    if not history:
        return
    from holdfast.agent.history import blocks_of  # noqa: PLC0415 - only a resumed session has one

    waiting = {tool.name for tool in pool.deferred()}
    calls = [block for message in history for block in blocks_of(message) if block.get("type") == "tool_use"]
    pool.load(name for name in dict.fromkeys(str(call.get("name")) for call in calls) if name in waiting)

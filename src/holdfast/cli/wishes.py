"""The control requests of a host, once the session runs: each is done, or refused in words that name it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from holdfast.cli.opening import answer_initialize, model_list
from holdfast.cli.result_line import bare_model
from holdfast.contract import UsageError

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.mcp.server import Server

__all__ = ["grant"]

Line = dict[str, Any]
_AS_AT_FIRST = frozenset({"", "default", "inherit"})
_PLANS_WITH = {"opusplan": "opus"}


async def grant(agent: "RunningAgent", wish: str, fields: Line) -> Line:
    """Do what a host wishes; returns the answer's fields.

    Raises:
        HoldfastError: It cannot be done, or this version does not do it.
    """
    doing = _WISHES.get(wish)
    if doing is None:
        raise UsageError(f"the control request {wish!r} is not known here")
    return await doing(agent, fields)


async def _initialize(agent: "RunningAgent", fields: Line) -> Line:
    if fields.get("hooks"):
        raise UsageError("initialize must be the first line: this session runs already, so its hooks cannot be added")
    return answer_initialize(agent)


async def _set_mode(agent: "RunningAgent", fields: Line) -> Line:
    return {"mode": agent.change_mode(str(fields.get("mode")))}


async def _set_model(agent: "RunningAgent", fields: Line) -> Line:
    name = str(fields.get("model") or "").strip().removesuffix("[1m]")
    agent.change_model(agent.first_model if name in _AS_AT_FIRST else _PLANS_WITH.get(name, name))
    return {}


async def _list_models(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    return {"models": model_list(agent)}


async def _mcp_status(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    hub = agent.servers
    return {"mcpServers": [] if hub is None else [_server(server) for server in hub.servers.values()]}


def _server(server: "Server") -> Line:
    found: Line = {
        "name": server.config.name,
        "status": "failed" if server.state == "closed" else server.state,
        "scope": "dynamic" if server.config.scope == "flag" else server.config.scope,
        "config": _config(server),
        "tools": [{"name": tool.listed.name, "annotations": {}} for tool in server.tools],
    }
    if server.greeting is not None:
        found["serverInfo"] = {
            "name": str(server.greeting.server.get("name", server.config.name)),
            "version": str(server.greeting.server.get("version", "")),
        }
    if server.detail:
        found["error"] = server.detail
    return found


def _config(server: "Server") -> Line:
    config = server.config
    if config.kind == "sdk":
        return {"type": "sdk", "name": config.name}
    if config.kind == "stdio":
        return {"type": "stdio", "command": config.command[0], "args": list(config.command[1:])}
    return {"type": config.kind, "url": config.url}


async def _mcp_reconnect(agent: "RunningAgent", fields: Line) -> Line:
    server = _named(agent, fields)
    await server.disconnect()
    await server.ensure()
    return {}


def _named(agent: "RunningAgent", fields: Line) -> "Server":
    name = str(fields.get("serverName"))
    hub = agent.servers
    found = None if hub is None else hub.find(name)
    if found is None:
        raise UsageError(f"there is no MCP server {name!r} in this session")
    return found


async def _context_usage(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    window, used = agent.model.context_window, agent.context_tokens
    free = max(0, window - used)
    return {
        "categories": [
            {"id": "messages", "name": "Messages", "tokens": used, "color": "blue", "kind": "used"},
            {"id": "free_space", "name": "Free space", "tokens": free, "color": "gray", "kind": "free"},
        ],
        "totalTokens": used,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * used / window, 2) if window else 0,
        "gridRows": [],
        "model": bare_model(agent.model.name),
        "memoryFiles": [],
        "mcpTools": [
            {"name": tool.name, "serverName": tool.mcp_info.server, "tokens": 0}
            for tool in agent.tools
            if tool.mcp_info is not None
        ],
        "agents": [{"agentType": name, "source": "session", "tokens": 0} for name in agent.agent_types],
        "isAutoCompactEnabled": True,
        "apiUsage": None,
    }


async def _session_cost(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    cost = agent.cost_usd or 0.0
    return {"text": f"This session has cost {cost:.4f} USD so far.", "total_cost_usd": cost}


async def _stop_task(agent: "RunningAgent", fields: Line) -> Line:
    task_id = str(fields.get("task_id"))
    if not await agent.stop_task(task_id):
        raise UsageError(f"there is no task {task_id!r}")
    return {}


_WISHES: dict[str, Callable[["RunningAgent", Line], Awaitable[Line]]] = {
    "initialize": _initialize,
    "set_permission_mode": _set_mode,
    "set_model": _set_model,
    "list_models": _list_models,
    "mcp_status": _mcp_status,
    "mcp_reconnect": _mcp_reconnect,
    "get_context_usage": _context_usage,
    "get_session_cost": _session_cost,
    "stop_task": _stop_task,
}

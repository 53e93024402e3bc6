"""What a host wishes about MCP servers: their state, switching, connecting, another set of them."""

from typing import TYPE_CHECKING, Any, cast

from holdfast.app.live_servers import add_rules, find_server, hear_server, set_servers, switch_server
from holdfast.cli.opening import server_policy
from holdfast.contract import UsageError

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.mcp.remote_tool import RemoteTool
    from holdfast.mcp.server import Server

__all__ = ["mcp_message", "mcp_reconnect", "mcp_set_servers", "mcp_status", "mcp_toggle"]

Line = dict[str, Any]
_HINTS = {"readOnlyHint": "readOnly", "destructiveHint": "destructive", "openWorldHint": "openWorld"}


async def mcp_status(agent: "RunningAgent", fields: Line) -> Line:
    """Every server with its state and its tools."""
    del fields
    hub = agent.servers
    return {"mcpServers": [] if hub is None else [_server(server) for server in hub.servers.values()]}


def _server(server: "Server") -> Line:
    is_on = server.state not in ("disabled", "closed")
    scope = "dynamic" if server.config.scope == "flag" else server.config.scope
    found: Line = {
        "name": server.config.name,
        "status": "failed" if server.state == "closed" else server.state,
        "scope": scope,
        "source": "sdk" if server.config.kind == "sdk" else scope,
        "config": _config(server),
        "tools": [_tool(tool) for tool in server.tools] if is_on else [],
    }
    if server.greeting is not None:
        found["serverInfo"] = {
            "name": str(server.greeting.server.get("name", server.config.name)),
            "version": str(server.greeting.server.get("version", "")),
        }
    if server.detail:
        found["error"] = server.detail
    return found


def _tool(tool: "RemoteTool") -> Line:
    hints = tool.listed.annotations or {}
    told = {name: hints[hint] for hint, name in _HINTS.items() if isinstance(hints.get(hint), bool)}
    return {"name": tool.listed.name, "description": tool.listed.description or "", "annotations": told}


def _config(server: "Server") -> Line:
    config = server.config
    if config.kind == "sdk":
        return {"type": "sdk", "name": config.name}
    if config.kind == "stdio":
        return {"type": "stdio", "command": config.command[0], "args": list(config.command[1:])}
    return {"type": config.kind, "url": config.url}


async def mcp_reconnect(agent: "RunningAgent", fields: Line) -> Line:
    """End a connection and make it anew."""
    server = find_server(agent, _name(fields))
    if server.state == "disabled":
        raise UsageError(f"the MCP server {server.config.name!r} is switched off; switch it on with mcp_toggle")
    await server.disconnect()
    await server.ensure()
    return {}


async def mcp_toggle(agent: "RunningAgent", fields: Line) -> Line:
    """Switch a server on or off."""
    on = fields.get("enabled")
    if not isinstance(on, bool):
        raise UsageError(f"enabled must be true or false, got {on!r}")
    await switch_server(agent, _name(fields), on=on)
    return {}


async def mcp_message(agent: "RunningAgent", fields: Line) -> Line:
    """A server inside the host has something to say."""
    hear_server(agent, str(fields.get("server_name")), fields.get("message"))
    return {}


async def mcp_set_servers(agent: "RunningAgent", fields: Line) -> Line:
    """Other servers in the place of those that the host gave before."""
    given: Any = fields.get("servers")
    if not isinstance(given, dict):
        raise UsageError(f"servers must be an object of servers by name, got {given!r}")
    servers = cast("Line", given)
    add_rules(agent, *server_policy(servers, servers))
    done = await set_servers(agent, servers)
    return {"added": list(done.added), "removed": list(done.removed), "errors": dict(done.errors)}


def _name(fields: Line) -> str:
    return str(fields.get("serverName", fields.get("server_name")))

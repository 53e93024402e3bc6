"""What the connected servers offer to read, for faces that let a person name it."""

from typing import TYPE_CHECKING

from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["list_resources"]

_MOST = 500
_WAIT_S = 10.0


async def list_resources(agent: "RunningAgent") -> list[tuple[str, str]]:
    """`server:uri` with a name for each; servers that are slow or fail are left out."""
    hub = agent.servers
    if hub is None:
        return []
    await hub.settle(_WAIT_S)
    found: list[tuple[str, str]] = []
    for server in hub.servers.values():
        if server.state != "connected" or server.greeting is None or "resources" not in server.greeting.capabilities:
            continue
        try:
            listed = await server.list("resources/list", "resources")
        except McpError:
            continue
        found += [
            (f"{server.config.name}:{one['uri']}", str(one.get("title") or one.get("name") or ""))
            for one in listed
            if isinstance(one.get("uri"), str)
        ]
    return found[:_MOST]

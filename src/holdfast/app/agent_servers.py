"""MCP servers that the definition of an agent brings: started with the agent, for it alone, and ended with it."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.servers import choose_servers, separate_hub
from holdfast.lib.visible import visible
from holdfast.settings.mcp_servers import ServerEntry, ServerList

if TYPE_CHECKING:
    from holdfast.app.build import OpenSession
    from holdfast.definitions.agents import AgentDefinition
    from holdfast.mcp.hub import Hub

__all__ = ["start_own_servers"]

_log = logging.getLogger(__name__)
_SWITCHES: Final = frozenset({"alwaysLoad", "enabled", "disabled"})


async def start_own_servers(opened: "OpenSession", definition: "AgentDefinition") -> "Hub | None":
    """Start them; a folder's only where the user has approved that very server, as in `.mcp.json`."""
    scope = "project" if definition.source == "project" else "user"
    entries = [ServerEntry(name, _meant(config), scope, definition.path) for name, config in definition.own_servers]
    chosen = choose_servers(opened.rights, ServerList(tuple(entries)))
    for name, reason in chosen.held.items():
        _log.warning("the MCP server %s of the agent %s is not started: %s", visible(name), definition.name, reason)
    hub = separate_hub(opened, chosen, _log.warning)
    if hub is not None:
        hub.start()
        await hub.settle()
    return hub


def _meant(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A configuration from front matter, where every scalar is text."""
    found = dict(config)
    for name in _SWITCHES & found.keys():
        found[name] = str(found[name]).lower() in {"true", "yes", "on"}
    if isinstance(timeout := found.get("timeout"), str) and timeout.isdecimal():
        found["timeout"] = int(timeout)
    return found

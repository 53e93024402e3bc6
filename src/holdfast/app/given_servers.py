"""MCP servers that a program gives in Python: configurations, and servers that live in the program itself."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.contract import UsageError

__all__ = ["GivenServers", "read_given_servers"]

_PROTOCOL = "2025-11-25"
"""In which such a server can ask back in the middle of a call, as `Context.elicit` does."""


class GivenServers(NamedTuple):
    """What came of them."""

    config: tuple[str, ...] = ()
    """As JSON text, like that of `--mcp-config`."""
    objects: Mapping[str, Any] = {}
    """The servers that live here, by name."""


def read_given_servers(given: Mapping[str, Any] | None) -> GivenServers:
    """Tell configurations from servers.

    Raises:
        UsageError: One of them is neither.
    """
    if not given:
        return GivenServers()
    configs: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for name, value in given.items():
        entries = _entries(value)
        if entries and "instance" not in entries:
            configs[name] = dict(entries)
        else:
            objects[name] = _served(name, entries.get("instance", value))
            protocol = entries.get("protocol", _PROTOCOL)
            configs[name] = {"type": "sdk", "name": name, "protocol": protocol}
    try:
        return GivenServers((msgspec.json.encode({"mcpServers": configs}).decode(),), objects)
    except TypeError as error:
        raise UsageError(f"mcp_servers must hold plain data besides servers: {error}") from error


def _entries(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _served(name: str, given: object) -> Any:
    from holdfast.mcp.in_process import served_object  # noqa: PLC0415 - few programs bring one

    found = served_object(given)
    if found is None:
        raise UsageError(
            f"mcp_servers[{name!r}] is {given!r}; give a configuration such as {{'command': 'npx', 'args': […]}}, or a "
            "server of the package `mcp` (MCPServer or Server)"
        )
    return found

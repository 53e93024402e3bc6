"""What `holdfast doctor` says about MCP servers: each is started for a moment, as a session would start it."""

import asyncio
from typing import NamedTuple

from holdfast.app import Options, load_rights
from holdfast.app.servers import choose_servers, configured_servers
from holdfast.lib.visible import visible

__all__ = ["ServerRow", "server_rows"]

_WAIT_S = 10.0
_NAME_CHARS = 80


class ServerRow(NamedTuple):
    """One server, or a file whose servers do not count."""

    name: str
    ok: bool
    detail: str


def server_rows(options: Options) -> list[ServerRow]:
    """All that are configured here. Those that may not start are named with the reason, and not started."""
    rights = load_rights(options)
    found = configured_servers(rights, options)
    held = choose_servers(rights, found).held
    rows = [ServerRow("configuration", ok=False, detail=problem) for problem in found.problems]
    if not found.entries:
        return rows or [ServerRow("servers", ok=True, detail="none is configured")]
    states: dict[str, str] = {}
    if len(held) < len(found.entries):
        from holdfast.cli.mcp_live import looked_at  # noqa: PLC0415 - only with servers

        states = asyncio.run(looked_at(options, limit_s=_WAIT_S))
    for entry in found.entries:
        said = states.get(entry.name, "")
        detail = f"not started: {held[entry.name]}" if entry.name in held else said or "it cannot be started as it is"
        rows.append(ServerRow(visible(entry.name, limit_chars=_NAME_CHARS), said.startswith("connected"), detail))
    return rows

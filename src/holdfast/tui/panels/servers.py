"""MCP servers: their state, why one failed, their tools."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.panels.pages import ListPage, Page, Row, TextPage
from holdfast.tui.show.outcomes import counted
from holdfast.tui.show.words import Line, shown_lines

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.mcp.server import Server

__all__ = ["servers_page"]

_STATES = {"connected": "ok", "pending": "accent", "failed": "bad", "needs-auth": "warn"}
_EMPTY = "no servers; `holdfast mcp add` adds one"


def servers_page(agent: "RunningAgent") -> Page:
    """Every server of the session; Enter shows its tools."""

    def rows() -> list[Row]:
        hub = agent.servers
        return [] if hub is None else [_row(server) for server in hub.servers.values()]

    return ListPage("MCP servers", rows, empty=_EMPTY)


def _row(server: "Server") -> Row:
    line: Line = [
        (_STATES.get(server.state, "dim"), f"● {visible(server.config.name)}  {server.state}"),
        ("dim", f"  {counted(len(server.tools), 'tool')}  {_advice(server)}"),
    ]
    return Row(line, open=lambda: _details(server))


def _advice(server: "Server") -> str:
    if server.state == "needs-auth":
        return f"run `holdfast mcp login {visible(server.config.name)}`"
    return visible(server.detail, limit_chars=160)


def _details(server: "Server") -> Page:
    lines: list[Line] = [[("dim", visible(line))] for line in shown_lines(server.detail)] if server.detail else []
    for tool in server.tools:
        lines += [[("accent", visible(tool.name))], [("dim", f"  {visible(tool.description(), limit_chars=300)}")]]
    for name, reason in server.quarantined.items():
        lines.append([("warn", f"{visible(name)} is not offered: {visible(reason)}")])
    if server.instructions:
        lines += [
            [],
            [("bold", "what it says about itself")],
            *([("", one)] for one in shown_lines(server.instructions)),
        ]
    return TextPage(f"{visible(server.config.name)} ({server.state})", lambda: lines)

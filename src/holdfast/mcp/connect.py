"""From a configuration to an open transport, and what servers share in a session."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from holdfast.host.processes import Processes
from holdfast.mcp.config import ServerConfig
from holdfast.mcp.content import SaveBlob
from holdfast.mcp.host_transport import AskHost, HostTransport
from holdfast.mcp.records import Record
from holdfast.mcp.session import Session
from holdfast.mcp.stdio import start_stdio
from holdfast.mcp.wire import McpError

__all__ = ["Surroundings", "open_transport"]

Elicit = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class Surroundings:
    """What every server of a session needs and none of them owns."""

    def __init__(  # noqa: PLR0913 - each part by its name
        self,
        *,
        cwd: str,
        root: str,
        processes: Callable[[], Processes],
        keep: Callable[[Record, ServerConfig], None],
        startup_s: float = 30.0,
        version: str = "0",
        pins: bool = True,
        save_blob: SaveBlob | None = None,
        elicit: Elicit | None = None,
        ask_host: AskHost | None = None,
        log_path: Callable[[str], str | None] | None = None,
    ) -> None:
        self.cwd = cwd
        self.root = root
        self.processes = processes
        self.keep = keep
        self.startup_s = startup_s
        self.who = {"name": "holdfast", "version": version}
        self.pins = pins
        """The setting `mcp.pin`: a tool that changed is off."""
        self.save_blob = save_blob
        self.elicit = elicit
        self.ask_host = ask_host
        """Reaches servers inside the program that started us."""
        self.log_path = log_path

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What we can do for a server."""
        return {} if self.elicit is None else {"elicitation": {"form": {}, "url": {}}}


async def open_transport(session: Session, config: ServerConfig, around: Surroundings) -> None:
    """Start or reach the server.

    Raises:
        McpError: That is not possible.
    """
    if config.kind == "stdio":
        env = {"CLAUDE_PROJECT_DIR": around.root, "HOLDFAST_PROJECT_DIR": around.root, **config.env}
        log_path = None if around.log_path is None else around.log_path(config.label)
        await start_stdio(session, around.processes(), list(config.command), cwd=around.cwd, env=env, log_path=log_path)
        return
    if config.kind == "sdk":
        if around.ask_host is None:
            raise McpError(f"The MCP server {config.name!r} lives in a program that starts us, and none is connected.")
        session.transport = HostTransport(session, config.name, around.ask_host)
        return
    from holdfast.mcp.http import open_http  # noqa: PLC0415 - most servers are programs

    await open_http(session, config, around)

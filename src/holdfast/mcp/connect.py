"""From a configuration to an open transport, and what servers share in a session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.mcp.config import ServerConfig
from holdfast.mcp.content import SaveBlob
from holdfast.mcp.elicitation import CAPABILITY
from holdfast.mcp.host_transport import AskHost, HostTransport
from holdfast.mcp.records import Record
from holdfast.mcp.sampling import CAPABILITY as SAMPLING
from holdfast.mcp.session import Session
from holdfast.mcp.stdio import start_stdio, stdio_command
from holdfast.mcp.wire import METHOD_NOT_FOUND, McpError, RpcError

if TYPE_CHECKING:
    from holdfast.mcp.auth.badge import AskPerson, Badge
    from holdfast.mcp.auth.credentials import CredentialStore

__all__ = ["Roots", "Sampling", "Surroundings", "open_transport"]

Roots = Callable[[], Sequence[str]]
Elicit = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class Sampling(Protocol):
    """Puts what servers ask of the user's model."""

    def is_for(self, server: str) -> bool:
        """This server may ask."""
        ...

    async def sample(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One request; raises `RpcError` when it is refused."""
        ...


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
        roots: Roots | None = None,
        elicit: Elicit | None = None,
        sampling: Sampling | None = None,
        ask_host: AskHost | None = None,
        own_servers: Mapping[str, Any] = MappingProxyType({}),
        log_path: Callable[[str], str | None] | None = None,
        credentials: "CredentialStore",
        ask_login: "Callable[[str], AskPerson] | None" = None,
        confine: Callable[[ServerConfig, Command], Command] | None = None,
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
        self.sampling = sampling
        """Where the user lets servers ask the model."""
        self.roots = roots
        """The directories that servers are told of, where the user wants that."""
        self.ask_host = ask_host
        """Reaches servers inside the program that started us."""
        self.own_servers = own_servers
        """Servers inside this process, by name."""
        self.log_path = log_path
        self.credentials = credentials
        """Where logins are kept."""
        self.ask_login = ask_login
        """How a person is asked, in the middle of a call, to log in to the server of this name."""
        self._confine = confine

    async def confined(self, config: ServerConfig, command: Command) -> Command:
        """A program of a server, in the sandbox where it is to be.

        Raises:
            StartError: It is to be, and there is none.
        """
        # It looks at files: those that the server runs, and those that rules deny.
        return command if self._confine is None else await asyncio.to_thread(self._confine, config, command)

    def capabilities(self, server: str) -> Mapping[str, Any]:
        """What we can do for a server."""
        found: dict[str, Any] = {} if self.elicit is None else {"elicitation": CAPABILITY}
        if self.sampling is not None and self.sampling.is_for(server):
            found["sampling"] = SAMPLING
        return found if self.roots is None else {**found, "roots": {}}

    async def answer(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What a server wants of us.

        Raises:
            RpcError: We cannot do that, or nobody wants us to.
        """
        if method == "elicitation/create" and self.elicit is not None:
            return await self.elicit(server, params)
        if method == "sampling/createMessage" and self.sampling is not None:
            return await self.sampling.sample(server, params)
        if method == "roots/list" and self.roots is not None:
            places = [Path(place) for place in self.roots()]
            return {"roots": [{"uri": place.as_uri(), "name": place.name or "/"} for place in places]}
        raise RpcError(METHOD_NOT_FOUND, f"{method} is not supported by this client")


async def open_transport(session: Session, config: ServerConfig, around: Surroundings) -> None:
    """Start or reach the server.

    Raises:
        McpError: That is not possible.
    """
    if config.kind == "stdio":
        env = {"CLAUDE_PROJECT_DIR": around.root, "HOLDFAST_PROJECT_DIR": around.root, **config.env}
        log_path = None if around.log_path is None else around.log_path(config.label)
        command = stdio_command(config.name, list(config.command), cwd=around.cwd, env=env, log_path=log_path)
        try:
            command = await around.confined(config, command)
        except StartError as error:
            raise McpError(f"The MCP server {config.name!r} cannot be started: {error}") from error
        await start_stdio(session, around.processes(), command)
        return
    if config.kind == "sdk":
        if config.name in around.own_servers:
            from holdfast.mcp.in_process import InProcessTransport  # noqa: PLC0415 - few programs bring one

            own = InProcessTransport(session, around.own_servers[config.name])
            session.transport = own
            await own.open()
            return
        if around.ask_host is None:
            raise McpError(f"The MCP server {config.name!r} lives in a program that starts us, and none is connected.")
        session.transport = HostTransport(session, config.name, around.ask_host)
        return
    if config.kind == "ws-ide":
        from holdfast.mcp.websocket import WebSocketTransport  # noqa: PLC0415 - only in an editor's terminal

        editor = WebSocketTransport(session)
        await editor.open(config.port, config.token, limit_s=around.startup_s)
        session.transport = editor
        return
    await _open_http(session, config, around)


async def _open_http(session: Session, config: ServerConfig, around: Surroundings) -> None:
    """Connect to a server behind an address; the first request tells whether it is there."""
    badge = await _badge(config, around)
    ask = None if around.ask_login is None else around.ask_login(config.name)
    if config.kind == "sse":
        from holdfast.mcp.sse import SseTransport  # noqa: PLC0415 - an older kind

        session.transport = SseTransport(session, config.url, badge, ask)
        return
    from holdfast.mcp.http import HttpTransport  # noqa: PLC0415 - most servers are programs

    session.transport = HttpTransport(session, config.url, badge, ask)


async def _badge(config: ServerConfig, around: Surroundings) -> "Badge":
    """Who we are to this server: by its configuration, by a program, or by a login."""
    if config.headers_helper:
        from holdfast.mcp.headers_helper import HelpedBadge  # noqa: PLC0415 - few servers have one

        helped = HelpedBadge(config, around)
        await helped.ask_program()
        return helped
    headers = {name.lower(): value for name, value in config.headers.items()}
    if "authorization" in headers:
        from holdfast.mcp.auth.badge import FixedBadge  # noqa: PLC0415 - only behind an address

        return FixedBadge(config.name, headers)
    from holdfast.mcp.auth.login import login_of  # noqa: PLC0415 - the same

    return login_of(config, around.credentials, headers, place=around.root)

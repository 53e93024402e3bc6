"""All servers of a session: started side by side, shared by everybody in it, ended together."""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from holdfast.contract import Tool
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson
from holdfast.mcp.auth.credentials import CredentialStore
from holdfast.mcp.authenticate import Authenticate
from holdfast.mcp.config import EDITOR_TOOLS, HOSTED, ServerConfig
from holdfast.mcp.connect import Elicit, Roots, Sampling, Surroundings
from holdfast.mcp.content import SaveBlob
from holdfast.mcp.host_transport import AskHost
from holdfast.mcp.names import PREFIX, safe_part, tool_names
from holdfast.mcp.notices import Notices
from holdfast.mcp.records import Record, Records
from holdfast.mcp.remote_tool import DEFAULT_RESULT_CHARS, Listed, RemoteTool
from holdfast.mcp.schema import SchemaProblem, check_headers, check_schema
from holdfast.mcp.server import Server, Told
from holdfast.mcp.wire import McpError

__all__ = ["Hub", "HubChoices"]

_log = logging.getLogger(__name__)
_LATER = {"project": 1, "editor": 2}
_WAIT_S = 5.0
_MARK = re.compile(r"<\s*(/?)\s*server", re.IGNORECASE)


class HubChoices(NamedTuple):
    """Where servers run, and how."""

    cwd: str
    root: str
    session_id: str | None = None
    registry_directory: str | None = None
    log_directory: str | None = None
    version: str = "0"
    """Ours, as servers are told."""
    startup_s: float = 30.0
    wait_s: float = _WAIT_S
    pins: bool = True
    max_result_chars: int = DEFAULT_RESULT_CHARS
    save_blob: SaveBlob | None = None
    elicit: Elicit | None = None
    sampling: Sampling | None = None
    """Lets servers ask the user's model; without it none can."""
    roots: Roots | None = None
    """The directories that servers are told of; without it they are told none."""
    ask_host: AskHost | None = None
    own_servers: Mapping[str, Any] = MappingProxyType({})
    """Servers inside this process, by name."""
    credentials: CredentialStore | None = None
    """Where logins are kept; without it they end with the session."""
    ask_login: Callable[[str], AskPerson] | None = None
    confine: Callable[[ServerConfig, Command], Command] | None = None
    """Puts what a server starts behind the sandbox's wall, where it is to be."""


class Hub:
    """The servers of one session, and the processes they run in."""

    def __init__(
        self,
        servers: Sequence[tuple[ServerConfig, str]],
        choices: HubChoices,
        records: Records,
        *,
        on_tools: Callable[[str, list[Tool]], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Take the servers with the keys of their records; nothing is started yet.

        Args:
            servers: Configurations, each with the key of what is remembered of it.
            choices: Where and how.
            records: What is remembered.
            on_tools: Told the tools of a server (by its label) whenever they change.
            on_notice: Told in words what a person should know.
        """
        self.choices = choices
        self._records = records
        self._on_tools = on_tools
        self._on_notice = on_notice
        self._processes: Processes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keys: dict[str, str] = {}
        self.servers: dict[str, Server] = {}
        self._around = Surroundings(
            cwd=choices.cwd,
            root=choices.root,
            processes=self.processes,
            keep=self._keep,
            startup_s=choices.startup_s,
            version=choices.version,
            pins=choices.pins,
            save_blob=choices.save_blob,
            elicit=choices.elicit,
            sampling=choices.sampling,
            roots=choices.roots,
            ask_host=choices.ask_host,
            own_servers=choices.own_servers,
            confine=choices.confine,
            log_path=self._log_path,
            credentials=choices.credentials or CredentialStore(None, "file"),
            ask_login=choices.ask_login,
        )
        # A folder's server cannot take the name under which rules know one of the user's; an editor comes last.
        for config, key in sorted(servers, key=lambda one: _LATER.get(one[0].scope, 0)):
            self.add(config, key)

    def add(self, config: ServerConfig, key: str) -> Server:
        """One more server, with the key of its record; it is not started yet."""
        label = config.label if config.label not in self.servers else f"{config.label}-{safe_part(key[:8])}"
        chosen = config._replace(label=label)
        self._keys[label] = key
        told = Told(self._tools_changed, Notices(self._notice, label))
        server = self.servers[label] = Server(chosen, self._remembered(chosen, key), self._around, told)
        self._make_tools(server)
        return server

    async def remove(self, server: Server) -> None:
        """End a server; nothing of it is offered any more."""
        await server.switch_off()
        self.servers.pop(server.label, None)
        self._keys.pop(server.label, None)

    def _remembered(self, config: ServerConfig, key: str) -> Record:
        """What is known of a server; one inside the program that started us, or the editor, is always new."""
        return Record() if config.kind in HOSTED else self._records.load(key)

    # For the session.

    def tools(self) -> list[Tool]:
        """What is known now, from memory or from the servers."""
        return [tool for server in self.servers.values() for tool in _offered(server)]

    @property
    def pending(self) -> list[str]:
        """Servers that are still being connected to."""
        return [server.label for server in self.servers.values() if server.state == "pending"]

    @property
    def unknown(self) -> list[str]:
        """Those of them whose tools are not known from an earlier time either."""
        return [label for label in self.pending if not self.servers[label].record.is_known]

    def start(self) -> None:
        """Connect to all of them in the background."""
        for server in self.servers.values():
            server.start()

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for those whose tools are not known yet, or which must be there from the start; never long."""
        wanted = [s for s in self.servers.values() if s.config.always_load or not s.record.is_known]
        waiting = [asyncio.ensure_future(_settled(server)) for server in wanted if server.state == "pending"]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=self.choices.wait_s if seconds is None else seconds)
            for task in late:
                task.cancel()

    def of_prompt(self, name: str) -> Server | None:
        """The server that a prompt's full name speaks of: `mcp__server__prompt`."""
        label, mark, _ = name.removeprefix(PREFIX).partition("__")
        return self.servers.get(label) if mark and name.startswith(PREFIX) else None

    async def listed(self, server: Server) -> None:
        """Wait until it is known what the server offers, or cannot be."""
        await _settled(server)

    async def reached(self, name: str) -> None:
        """Wait until a server is connected, or cannot be; a call that fails then says why."""
        server = self.find(name)
        if server is not None:
            await _reached(server)

    def find(self, name: str) -> Server | None:
        """A server by its name or label."""
        for server in self.servers.values():
            if name in (server.config.name, server.label):
                return server
        return None

    @property
    def has_resources(self) -> bool:
        """A server says that it has something to read."""
        return any(server.record.has_resources for server in self.servers.values())

    def said(self) -> list[tuple[str, str]]:
        """By server, what it wants a model to know and what it offers beside tools, each in its own bounded part."""
        said: list[tuple[str, str]] = []
        for server in self.servers.values():
            parts = {"says": server.instructions.strip(), "offers": server.offers}
            said += [(f"{server.label}: {what}", _block(server.label, text)) for what, text in parts.items() if text]
        return said

    # The Resource protocol.

    async def leave_loop(self) -> None:
        """End what belongs to this event loop; a call in another one connects again."""
        await asyncio.gather(*(server.disconnect() for server in self.servers.values()))
        processes, self._processes = self._processes, None
        if processes is not None:
            await processes.close()

    async def close(self) -> None:
        """End all of them."""
        await self.leave_loop()

    # Inside.

    def processes(self) -> Processes:
        """Where servers of this event loop run."""
        if self._processes is None:
            self._processes = Processes(
                session_id=self.choices.session_id, registry_dir=self.choices.registry_directory
            )
        return self._processes

    def _tools_changed(self, server: Server) -> None:
        self._make_tools(server)
        if self._on_tools is not None:
            self._on_tools(server.label, _offered(server))

    def _make_tools(self, server: Server) -> None:
        """Tools for what the server lists; those that say the same as before stay the same objects."""
        known = {tool.listed.name: tool for tool in server.tools}
        names = tool_names(server.label, (listed.name for listed in server.listed))
        made: list[RemoteTool] = []
        quarantined: dict[str, str] = {}
        for listed in _usable(server):
            earlier = known.get(listed.name)
            if earlier is not None and earlier.listed == listed:
                made.append(earlier)
                continue
            try:
                schema = check_schema(listed.input_schema)
                if server.repeats_in_headers:
                    check_headers(schema)
            except SchemaProblem as error:
                quarantined[listed.name] = str(error)
                continue
            made.append(
                RemoteTool(
                    names[listed.name],
                    listed,
                    schema,
                    server=server.label,
                    caller=server,
                    held=self,
                    always_load=server.config.always_load,
                    max_result_chars=self.choices.max_result_chars,
                )
            )
        fresh = [name for name in quarantined if name not in server.quarantined]
        of = f"of the MCP server {server.label} is left out"
        told = (f"The tool {visible(name, limit_chars=80)} {of}: {quarantined[name]}." for name in fresh)
        server.tell.several(told, len(fresh), "tools")
        server.tools, server.quarantined = tuple(made), quarantined
        if server.wants_login:
            login = server.own_tools or (Authenticate(server, self),)
            server.own_tools = login
            server.tools = tuple(tool for tool in made if tool.name != login[0].name)
        else:
            server.own_tools = ()

    def _keep(self, record: Record, config: ServerConfig) -> None:
        if config.kind not in HOSTED:
            self._records.save(self._keys[config.label], record)

    def _notice(self, text: str) -> None:
        _log.warning("%s", text)
        if self._on_notice is not None:
            self._on_notice(text)

    def _log_path(self, label: str) -> str | None:
        directory = self.choices.log_directory
        return None if directory is None else os.path.join(directory, f"mcp-{label}.log")


def _block(label: str, text: str) -> str:
    """What a server says, between marks that nothing in it can close or open."""
    inner = _MARK.sub(r"<\\\1server", text)
    return f'<server name="{label}">\n{inner}\n</server>'


def _offered(server: Server) -> list[Tool]:
    return [] if server.state == "disabled" else [*server.tools, *server.own_tools]


async def _settled(server: Server) -> None:
    if await _reached(server):
        await server.offers_listed.wait()


async def _reached(server: Server) -> bool:
    try:
        await server.ensure()
    except McpError as error:
        _log.debug("not waited for: %s", error)
        return False
    return True


def _usable(server: Server) -> list[Listed]:
    """What of a server's tools a model may use."""
    return [one for one in server.listed if server.config.kind != "ws-ide" or one.name in EDITOR_TOOLS]

"""The MCP servers of a session: which are configured, which may start, and how their tools reach the pool.

Nothing of `holdfast.mcp` is loaded before a server is there to be started.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from holdfast import __version__
from holdfast.app.build import OpenSession
from holdfast.app.options import Options
from holdfast.app.rights import Rights
from holdfast.contract import Tool
from holdfast.lib.visible import visible
from holdfast.registry import ViewOptions, tools_for
from holdfast.settings import Settings, SettingsRoots
from holdfast.settings.hook_items import item_hash, mcp_server_hash, outside_hash
from holdfast.settings.mcp_servers import ServerEntry, ServerList, find_servers

if TYPE_CHECKING:
    from holdfast.host.command import Command
    from holdfast.mcp.auth.credentials import CredentialStore
    from holdfast.mcp.config import ServerConfig
    from holdfast.mcp.connect import Sampling
    from holdfast.mcp.host_transport import AskHost
    from holdfast.mcp.hub import Hub, HubChoices
    from holdfast.mcp.records import Records

__all__ = [
    "Chosen",
    "choose_servers",
    "configured_servers",
    "credential_store",
    "join_servers",
    "open_hub",
    "separate_hub",
    "server_configs",
    "server_records",
    "server_states",
    "unapproved_servers",
]

_log = logging.getLogger(__name__)
_DEFAULT_WAIT_MS = 5_000
_MOST_WAIT_MS = 600_000
_DEFAULT_START_MS = 30_000
_CHARS_PER_TOKEN = 4
_NOT_APPROVED = "it is not approved as it is now"


class Chosen(NamedTuple):
    """The servers that may start, and why others may not."""

    entries: tuple[ServerEntry, ...] = ()
    held: Mapping[str, str] = {}
    """Names of those that may not, each with the reason in words."""
    problems: tuple[str, ...] = ()


def configured_servers(rights: Rights, options: Options) -> ServerList:
    """Every server that is configured for this place, whether it may start or not."""
    settings = rights.settings
    scopes = frozenset({"user", "project", "local"})
    if options.setting_sources is not None:
        scopes = frozenset(name.strip() for name in options.setting_sources.split(","))
    return find_servers(
        SettingsRoots.from_environment(),
        cwd=settings.cwd,
        root=settings.root,
        flags=options.mcp_config,
        strict=options.strict_mcp_config,
        settings=settings.get("mcpServers"),
        scopes=scopes,
    )


def choose_servers(rights: Rights, found: ServerList) -> Chosen:
    """Who may start: not what a rule denies, and of a folder's servers only what the user has approved as it is now."""
    entries: list[ServerEntry] = []
    held: dict[str, str] = {}
    for entry in found.entries:
        reason = _why_held(entry, rights)
        if reason is None:
            entries.append(entry)
        else:
            held[entry.name] = reason
    return Chosen(tuple(entries), held, found.problems)


def unapproved_servers(rights: Rights, options: Options) -> list[tuple[ServerEntry, str]]:
    """The servers of a trusted folder that only lack the user's word, each with what would be approved."""
    found = configured_servers(rights, options)
    held = choose_servers(rights, found).held
    return [
        (entry, mcp_server_hash(entry.name, entry.config, root=rights.settings.root))
        for entry in found.entries
        if entry.scope == "project" and held.get(entry.name, "").startswith(_NOT_APPROVED)
    ]


def _why_held(entry: ServerEntry, rights: Rights) -> str | None:
    settings = rights.settings
    if entry.is_off:
        return "its configuration switches it off"
    from holdfast.mcp.config import BadServerError, parse_server  # noqa: PLC0415 - only with servers
    from holdfast.mcp.names import safe_part  # noqa: PLC0415 - the same

    try:
        parse_server(entry)
    except BadServerError as error:
        return error.reason
    if entry.scope == "project":
        if entry.name in settings.mcp_disabled:
            return "disabledMcpjsonServers names it"
        if not settings.trusted:
            return "the folder is not trusted; look at it with `holdfast trust`"
        identity = mcp_server_hash(entry.name, entry.config, root=settings.root)
        if identity not in settings.approved and not _is_enabled_by_name(entry, rights, identity):
            shown = visible(entry.name, limit_chars=80)
            return f"{_NOT_APPROVED}; look at it with `holdfast mcp approve {shown}`"
    if rights.permissions.denies_whole((f"mcp__{safe_part(entry.name)}__-",)) is not None:
        return "a rule denies all of its tools"
    return None


def _is_enabled_by_name(entry: ServerEntry, rights: Rights, identity: str) -> bool:
    """The user's own settings name it: then what it is at its first start is what was meant, and nothing else later."""
    settings = rights.settings
    if not settings.mcp_enable_all and entry.name not in settings.mcp_enabled:
        return False
    records = _records()
    key = item_hash("MCP consent", settings.root, entry.name)[:40]
    record = records.load(key)
    if not record.pins:
        record.name, record.pins = entry.name, {"configuration": identity}
        records.save(key, record)
    return record.pins.get("configuration") == identity


def _records() -> "Records":
    from holdfast.mcp.records import Records  # noqa: PLC0415 - only with servers
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - the same

    return Records(os.path.join(user_directories().state, "mcp"))


def credential_store(settings: Settings) -> "CredentialStore":
    """Where logins to servers are kept: the setting `mcp.tokens` says `keyring`, `file`, or nothing."""
    from holdfast.mcp.auth.credentials import CredentialStore  # noqa: PLC0415 - only with servers
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - the same

    wanted = settings.get("mcp.tokens")
    directory = os.path.join(user_directories().state, "mcp", "logins")
    return CredentialStore(directory, wanted if wanted in ("file", "keyring") else "auto")


def server_records(entry: ServerEntry, root: str) -> "tuple[Records, str]":
    """Where it is remembered what a server was, and under which key."""
    from holdfast.mcp.records import record_key  # noqa: PLC0415 - only with servers

    return _records(), record_key(entry, root)


async def join_servers(
    opened: OpenSession,
    options: Options,
    *,
    waits: bool = True,
    on_notice: Callable[[str], None] | None = None,
    only: str | None = None,
) -> "Hub | None":
    """Start the servers side by side and put their tools into the session's pool, now and whenever they change.

    Args:
        opened: The session.
        options: What was chosen at the start.
        waits: Wait a moment for servers whose tools are not known yet.
        on_notice: Told in words what a person should know.
        only: The one server that is wanted; none of the others is started or told of.
    """
    opened.ask_host, opened.own_servers = options.ask_host, options.own_servers
    opened.form_asker = opened.asker or options.form_asker
    found = configured_servers(opened.rights, options)
    if only is not None:
        found = ServerList(tuple(entry for entry in found.entries if entry.name == only))
    if not found.entries and not found.problems:
        return None
    tell = on_notice or _log.warning
    chosen = choose_servers(opened.rights, found)
    for name, reason in chosen.held.items():
        tell(f"The MCP server {visible(name, limit_chars=80)} is not started: {reason}.")
    for problem in chosen.problems:
        tell(visible(problem, limit_chars=500))
    hub = open_hub(chosen, opened, tell, ask_host=options.ask_host)
    if hub is None:
        return None
    hub.start()
    if waits:
        await hub.settle()
        for label in hub.unknown:
            tell(f"The MCP server {label} is not ready yet; its tools come later.")
    return hub


def open_hub(
    chosen: Chosen, opened: OpenSession, tell: Callable[[str], None], *, ask_host: "AskHost | None" = None
) -> "Hub | None":
    """The servers that may start, joined to the session; none where none can be."""
    from holdfast.mcp.hub import Hub  # noqa: PLC0415 - only with servers
    from holdfast.mcp.resources import resource_tools  # noqa: PLC0415 - the same

    servers = list(server_configs(chosen.entries, opened.rights.settings.root, tell))
    if not servers:
        return None
    choices = _hub_choices(opened, chosen, ask_host=ask_host)

    def changed(label: str, tools: list[Tool]) -> None:
        pool = opened.executor.pool
        pool.replace(label, _allowed(opened, tools))
        pool.append(_allowed(opened, resource_tools(hub)))
        opened.on_tools()

    hub = opened.servers = Hub(servers, choices, _records(), on_tools=changed, on_notice=tell)
    _put(opened, [*hub.tools(), *resource_tools(hub)])
    return hub


def separate_hub(opened: OpenSession, chosen: Chosen, tell: Callable[[str], None]) -> "Hub | None":
    """Servers whose tools do not go to the session's pool; whoever wants them starts and ends them."""
    from holdfast.mcp.hub import Hub  # noqa: PLC0415 - only with servers

    servers = list(server_configs(chosen.entries, opened.rights.settings.root, tell))
    # They ask nobody: whoever uses them may work in the background.
    choices = _hub_choices(opened, chosen)._replace(elicit=None, sampling=None, ask_login=None)
    return Hub(servers, choices, _records(), on_notice=tell) if servers else None


def _hub_choices(opened: OpenSession, chosen: Chosen, *, ask_host: "AskHost | None" = None) -> "HubChoices":
    from holdfast.app.elicitation import Elicitor  # noqa: PLC0415 - only with servers
    from holdfast.mcp.hub import HubChoices  # noqa: PLC0415 - the same

    elicitor = Elicitor(opened)
    settings, session = opened.rights.settings, opened.session
    return HubChoices(
        cwd=settings.cwd,
        root=settings.root,
        session_id=None if session is None else session.id,
        registry_directory=opened.registry_directory,
        log_directory=None if session is None else str(session.path),
        version=__version__,
        startup_s=_number("MCP_TIMEOUT", _DEFAULT_START_MS) / 1000,
        wait_s=_wait_ms(settings) / 1000,
        pins=settings.get("mcp.pin") is not False,
        max_result_chars=_number("MAX_MCP_OUTPUT_TOKENS", 25_000) * _CHARS_PER_TOKEN,
        save_blob=_blob_saver(opened),
        roots=partial(_places, opened) if settings.get("mcp.roots") is True else None,
        elicit=elicitor.elicit if elicitor.has_person else None,
        sampling=_sampling(opened),
        ask_host=ask_host,
        own_servers=opened.own_servers,
        credentials=credential_store(settings),
        ask_login=elicitor.login_asker if opened.asker is not None else None,
        confine=_confiner(chosen, opened),
    )


def _sampling(opened: OpenSession) -> "Sampling | None":
    """Who lets servers ask the user's model, where the user's own settings say so; a folder's never count."""
    wanted = opened.rights.settings.get("mcp.sampling")
    if not wanted:
        return None
    from holdfast.app.sampling import Sampler  # noqa: PLC0415 - few switch it on

    return Sampler(opened, wanted)


def _places(opened: OpenSession) -> tuple[str, ...]:
    """Where the session works now, each directory once."""
    return tuple(dict.fromkeys(map(os.path.realpath, opened.executor.state.permissions.roots.working)))


def _confiner(chosen: Chosen, opened: OpenSession) -> "Callable[[ServerConfig, Command], Command] | None":
    """What puts a folder's servers into the sandbox, and the user's own where a setting says so."""
    if opened.shell.confines is None:
        return None
    confine, settings = opened.shell.confines("servers"), opened.rights.settings
    brought = {entry.name: entry for entry in chosen.entries if entry.scope == "project"}

    def may_leave(entry: ServerEntry | None) -> bool:
        if entry is None:
            return False
        return outside_hash(mcp_server_hash(entry.name, entry.config, root=settings.root)) in settings.approved

    def confined(config: "ServerConfig", command: "Command") -> "Command":
        entry = brought.get(config.name)
        return confine(command, is_own=entry is None, may_leave=lambda: may_leave(entry), writable=())

    return confined


def server_configs(
    entries: Sequence[ServerEntry], root: str, tell: Callable[[str], None]
) -> "Iterator[tuple[ServerConfig, str]]":
    """The servers that can be started, each with the name of its record; of the others is told."""
    from holdfast.mcp.config import parse_server  # noqa: PLC0415 - only with servers
    from holdfast.mcp.records import record_key  # noqa: PLC0415 - the same
    from holdfast.mcp.wire import McpError  # noqa: PLC0415 - the same

    for entry in entries:
        try:
            config = parse_server(entry)
        except McpError as error:
            tell(str(error))
            continue
        for warning in config.warnings:
            tell(f"The MCP server {config.label}: {warning}.")
        yield config, record_key(entry, root)


def _put(opened: OpenSession, tools: list[Tool]) -> None:
    opened.executor.pool.append(_allowed(opened, tools))


def _allowed(opened: OpenSession, tools: list[Tool]) -> list[Tool]:
    state = opened.executor.state
    if opened.offers is not None:
        tools = [tool for tool in tools if opened.offers(tool.name)]
    return tools_for(tools, state.permissions, ViewOptions(session=state.session))


def _blob_saver(opened: OpenSession) -> Callable[[bytes, str], str | None]:
    """Keeps what a server sends as bytes where long results are kept."""
    import mimetypes  # noqa: PLC0415 - only with servers

    def save(data: bytes, media_type: str) -> str | None:
        ending = mimetypes.guess_extension(media_type.partition(";")[0].strip()) or ".bin"
        directory = opened.shell.places.results
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            path = os.path.join(directory, f"mcp-{os.urandom(8).hex()}{ending}")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError as error:
            _log.warning("what a server sent could not be kept: %s", error)
            return None
        return path

    return save


def server_states(hub: "Hub | None") -> list[dict[str, str]]:
    """Each server with its state, as programs know it."""
    if hub is None:
        return []
    return [
        {"name": server.config.name, "status": server.state, "source": server_source(server.config)}
        for server in hub.servers.values()
    ]


def server_source(config: "ServerConfig") -> str:
    """Who has brought a server, in the words of programs that look at servers."""
    if config.kind == "sdk":
        return "sdk"
    if config.name.startswith("plugin_"):
        return "plugin"
    return "dynamic" if config.scope == "flag" else config.scope


def _wait_ms(settings: Settings) -> float:
    """So long is waited for servers whose tools are not known: as the user says, or no longer than a start may take."""
    wanted = settings.get("mcp.waitMs")
    if isinstance(wanted, int | float) and not isinstance(wanted, bool) and 0 <= wanted <= _MOST_WAIT_MS:
        return wanted
    return min(_number("MCP_TIMEOUT", _DEFAULT_WAIT_MS), _DEFAULT_WAIT_MS)


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and 0 < int(value) < 10**9 else default

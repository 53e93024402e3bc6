"""Which MCP servers are configured, and where: `.mcp.json`, the user's files, the command line, the machine's policy.

The whole entry of the highest scope counts: flag, then local (the user's own for this folder), project (`.mcp.json`),
user. A managed file stands alone. Nothing is started here.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.positions import JsonTextError, decode, parse
from holdfast.settings.errors import SettingsError
from holdfast.settings.layout import is_placeholder
from holdfast.settings.sources import SettingsRoots

__all__ = ["PROJECT_FILE", "ServerEntry", "ServerList", "find_servers", "given_servers", "own_file", "user_file"]

PROJECT_FILE = ".mcp.json"
MANAGED_FILE = "managed-mcp.json"
_USER_FILE = ".claude.json"
_OWN_FILE = "mcp.json"
_MAX_BYTES = 64 << 20
_MAX_SERVERS = 200


class ServerEntry(NamedTuple):
    """One configured server, unexpanded."""

    name: str
    config: Mapping[str, Any]
    scope: str
    """`flag`, `local`, `project`, `user`, `managed`, `code` or `editor`."""
    path: str | None = None
    """The file it stands in."""

    @property
    def is_off(self) -> bool:
        """The entry itself says that it is not wanted."""
        return self.config.get("enabled") is False or self.config.get("disabled") is True


class ServerList(NamedTuple):
    """All servers by name, the highest scope of each, and what does not count."""

    entries: tuple[ServerEntry, ...] = ()
    problems: tuple[str, ...] = ()


class _UserFile(msgspec.Struct, frozen=True, rename="camel"):
    mcp_servers: Any = None
    projects: dict[str, msgspec.Raw] = {}


class _UserProject(msgspec.Struct, frozen=True, rename="camel"):
    mcp_servers: Any = None


def user_file(roots: SettingsRoots) -> str:
    """The existing format's file with the user's servers, for every folder and for single ones."""
    beside = os.path.join(roots.user_existing, _USER_FILE)
    return beside if os.path.lexists(beside) else os.path.join(roots.home, _USER_FILE)


def own_file(roots: SettingsRoots) -> str:
    """Our own file with the user's servers, of the same shape."""
    return os.path.join(roots.user_native, _OWN_FILE)


def find_servers(
    roots: SettingsRoots,
    *,
    cwd: str,
    root: str,
    flags: Iterable[str] = (),
    strict: bool = False,
    settings: object = None,
    scopes: frozenset[str] = frozenset({"user", "project", "local"}),
) -> ServerList:
    """Every configured server.

    Args:
        roots: The places outside the project.
        cwd: Where the session works; files of `--mcp-config` are relative to it.
        root: The project's root.
        flags: The values of `--mcp-config`: files, or JSON text.
        strict: Only those count.
        settings: The value of `mcpServers` in the user's settings.
        scopes: Which of user, project and local count.
    """
    finding = _Finding()
    for value in flags:
        finding.add("flag", given_servers(value, cwd=cwd), None if value.lstrip().startswith("{") else value)
    managed = [os.path.join(place, MANAGED_FILE) for place in (*roots.managed_native, *roots.managed_existing)]
    found = [path for path in managed if os.path.lexists(path)]
    if found:
        finding = _Finding()
        for path in found:
            finding.add_file("managed", path)
    elif not strict:
        finding.add_users(roots, root, scopes, settings)
        if "CLAUDE_CODE_SSE_PORT" in os.environ:
            finding.add("editor", _editors(roots, cwd), None)
    return ServerList(tuple(finding.entries.values()), tuple(finding.problems))


def _editors(roots: SettingsRoots, cwd: str) -> Mapping[str, Any]:
    from holdfast.settings.editor import EDITOR_SERVER, editor_server  # noqa: PLC0415 - only in an editor's terminal

    editor = editor_server(roots, cwd, os.environ)
    return {} if editor is None else {EDITOR_SERVER: editor}


def given_servers(value: str, *, cwd: str) -> Mapping[str, Any]:
    """The servers of one `--mcp-config`: a file, or JSON text.

    Raises:
        SettingsError: It cannot be read.
    """
    if value.lstrip().startswith("{"):
        try:
            document: object = parse(value).plain()
        except JsonTextError as error:
            raise SettingsError(f"--mcp-config is not valid JSON: {error}") from error
    else:
        path = os.path.join(cwd, os.path.expanduser(value))
        document = _read(path)
        if document is None:
            raise SettingsError("the file of --mcp-config does not exist", path=path, advice="Check the path.")
    return _servers(document, is_bare_allowed=True)


class _Finding:
    def __init__(self) -> None:
        self.entries: dict[str, ServerEntry] = {}
        self.problems: list[str] = []

    def add(self, scope: str, servers: Mapping[str, Any], path: str | None) -> None:
        """Take servers that no higher scope has named."""
        for name, config in servers.items():
            if len(self.entries) >= _MAX_SERVERS:
                self.problems.append(f"more than {_MAX_SERVERS} MCP servers are configured; the rest are ignored")
                return
            if not isinstance(config, Mapping):
                self.problems.append(f"the MCP server {name!r} is not an object and is ignored")
            elif name not in self.entries:
                self.entries[name] = ServerEntry(name, cast("Mapping[str, Any]", config), scope, path)

    def add_file(self, scope: str, path: str) -> None:
        """Take the servers of a file, if it is there; a broken one is said and brings none."""
        try:
            document = _read(path)
        except SettingsError as error:
            self.problems.append(str(error))
            return
        if document is not None:
            self.add(scope, _servers(document, is_bare_allowed=True), path)

    def add_users(self, roots: SettingsRoots, root: str, scopes: frozenset[str], settings: object) -> None:
        """Take the user's and the folder's, the highest scope first."""
        paths = (own_file(roots), user_file(roots)) if scopes & {"user", "local"} else ()
        documents = [(path, self._user_document(path)) for path in paths]
        if "local" in scopes:
            for path, document in documents:
                raw = document.projects.get(root)
                project = None if raw is None else _decoded(raw)
                self.add("local", _servers({"mcpServers": project.mcp_servers if project else None}), path)
        if "project" in scopes:
            self.add_file("project", os.path.join(root, PROJECT_FILE))
        if "user" in scopes:
            for path, document in documents:
                self.add("user", _servers({"mcpServers": document.mcp_servers}), path)
            self.add("user", _servers({"mcpServers": _thawed(settings)}), None)

    def _user_document(self, path: str) -> _UserFile:
        """Other programs keep much in this file, so only our part of it is looked at."""
        try:
            data = read_guarded(path, limit_bytes=_MAX_BYTES, owner="me")
            if data is None or b'"mcpServers"' not in data:
                return _UserFile()
            return msgspec.json.decode(data, type=_UserFile)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.problems.append(f"{path}: its MCP servers are ignored: {error}")
            return _UserFile()


def _decoded(raw: msgspec.Raw) -> _UserProject | None:
    try:
        return msgspec.json.decode(raw, type=_UserProject)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _read(path: str) -> object:
    try:
        data = None if is_placeholder(path) else read_guarded(path, limit_bytes=10_000_000)
        return None if data is None else parse(decode(data)).plain()
    except (OSError, JsonTextError) as error:
        raise SettingsError(f"its MCP servers are ignored: {error}", path=path) from error


def _servers(document: object, *, is_bare_allowed: bool = False) -> Mapping[str, Any]:
    """The servers of a document; a bare map of servers is one too."""
    if not isinstance(document, dict):
        return {}
    entries = cast("dict[str, Any]", document)
    if "mcpServers" not in entries and is_bare_allowed:
        return {name: config for name, config in entries.items() if _looks_like_a_server(config)}
    found = entries.get("mcpServers")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _looks_like_a_server(config: object) -> bool:
    return isinstance(config, dict) and ("command" in config or "url" in config)


def _thawed(value: object) -> object:
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: _thawed(inner) for key, inner in entries.items()}
    if isinstance(value, tuple | list):
        return [_thawed(inner) for inner in cast("tuple[object, ...]", value)]
    return value

"""One server as it is configured: what is started or connected to, with variables filled in."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from holdfast.host.child_env import is_provider_credential
from holdfast.lib.visible import visible
from holdfast.mcp.names import safe_part
from holdfast.mcp.wire import McpError
from holdfast.settings.mcp_servers import ServerEntry

__all__ = ["EDITOR_TOOLS", "HOSTED", "BadServerError", "ServerConfig", "parse_server"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KINDS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
    "sdk": "sdk",
    "ws-ide": "ws-ide",
}
_DEFAULT_CALL_S = 600.0
_IDLE_S = 300.0
_MAX_MS = 24 * 60 * 60 * 1000

Kind = Literal["stdio", "http", "sse", "sdk", "ws-ide"]
"""`sdk`: it lives in the program that started us; `ws-ide`: in the editor around us."""
HOSTED: Final = ("sdk", "ws-ide")
"""Always there when we are, and not what it was the last time."""
EDITOR_TOOLS: Final = frozenset({"getDiagnostics", "executeCode"})
"""What a model may use of an editor; its other tools are for the program."""


class BadServerError(McpError):
    """A configuration that cannot be a server."""

    def __init__(self, entry: ServerEntry, reason: str) -> None:
        place = f" ({visible(entry.path)})" if entry.path else ""
        super().__init__(f"The MCP server {visible(entry.name, limit_chars=80)!r}{place} cannot be used: {reason}.")
        self.reason = reason


class ServerConfig(NamedTuple):
    """What is needed to reach one server."""

    name: str
    """As the user writes it."""
    label: str
    """As rules and tool names spell it."""
    kind: Kind
    scope: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    headers_helper: str = ""
    timeout_s: float = _DEFAULT_CALL_S
    """A call may take so long in all."""
    idle_s: float = _IDLE_S
    """And so long without a sign of progress."""
    always_load: bool = False
    oauth: Mapping[str, Any] = {}
    port: int = 0
    token: str = ""
    """Where an editor listens, and the word that it wants to be shown."""
    legacy: bool = False
    """`protocol` names an older revision: the newer one is not tried."""
    warnings: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """What is started or connected to, for people."""
        return self.url or " ".join(self.command) or (f"the editor at port {self.port}" if self.port else "")


def parse_server(entry: ServerEntry, environ: Mapping[str, str] | None = None) -> ServerConfig:
    """Read one entry and fill in its variables; keys that nobody knows are fine and grant nothing.

    Raises:
        BadServerError: It cannot be a server; the text says why.
    """
    raw = entry.config
    filling = _Filling(os.environ if environ is None else environ, is_folders=entry.scope == "project")
    kind = _kind(entry)
    timeout_s, is_set = _seconds(raw.get("timeout"))
    config = ServerConfig(
        name=entry.name,
        label=safe_part(entry.name),
        kind=kind,
        scope=entry.scope,
        timeout_s=timeout_s,
        idle_s=timeout_s if is_set else _IDLE_S,
        always_load=raw.get("alwaysLoad") is True,
        oauth=_mapping(raw.get("oauth")),
        legacy=isinstance(raw.get("protocol"), str) and raw["protocol"] < "2026",
    )
    if kind == "sdk":
        if entry.scope != "flag":
            raise _bad(entry, "a server of the type `sdk` lives in the program that starts us, so no file can bring it")
        config = config._replace(always_load=True)
    elif kind == "ws-ide":
        if entry.scope != "editor":
            raise _bad(entry, "a server of the type `ws-ide` lives in an editor, so no file can bring it")
        config = config._replace(always_load=True, legacy=True, port=raw["port"], token=raw["token"])
    elif kind == "stdio":
        command = raw.get("command")
        if not isinstance(command, str) or not command.strip():
            raise _bad(entry, "its `command` is missing; name the program to start")
        words = [command, *_texts(entry, "args", raw.get("args"))]
        env = {name: filling.fill(value) for name, value in _pairs(entry, "env", raw.get("env")).items()}
        config = config._replace(command=tuple(filling.fill(word) for word in words), env=env)
    else:
        config = _behind_address(entry, config, filling)
    return config._replace(warnings=tuple(dict.fromkeys(filling.warnings)))


def _behind_address(entry: ServerEntry, config: ServerConfig, filling: "_Filling") -> ServerConfig:
    raw = entry.config
    url = raw.get("url")
    if not isinstance(url, str) or not url.strip():
        raise _bad(entry, "its `url` is missing")
    filled = filling.fill(url.strip())
    if not filled.startswith(("https://", "http://")):
        raise _bad(entry, f"its url {visible(filled, limit_chars=100)!r} must start with https:// or http://")
    headers = {name: filling.fill(value) for name, value in _pairs(entry, "headers", raw.get("headers")).items()}
    helper = raw.get("headersHelper")
    oauth = {key: filling.fill(value) if isinstance(value, str) else value for key, value in config.oauth.items()}
    helper = helper if isinstance(helper, str) else ""
    return config._replace(url=filled, headers=headers, headers_helper=helper, oauth=oauth)


class _Filling:
    """Fills variables in and remembers what it could not."""

    def __init__(self, environ: Mapping[str, str], *, is_folders: bool) -> None:
        self._environ = environ
        self._is_folders = is_folders
        self.warnings: list[str] = []

    def fill(self, text: str) -> str:
        """The text with its variables; one that is not set stays as it is written."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if self._is_folders and is_provider_credential(name):
            self.warnings.append(f"the folder's server does not get {name}, which is a model provider's credential")
            return found[0]
        value = self._environ.get(name)
        if not value and default is not None:
            value = default
        if value is None:
            self.warnings.append(f"the variable {name} is not set, so ${{{name}}} stays as it is")
            return found[0]
        return value


def _kind(entry: ServerEntry) -> Kind:
    given = entry.config.get("type", entry.config.get("transport"))
    if given is None:
        return "stdio" if "command" in entry.config else "http"
    if given == "ws":
        raise _bad(entry, "its type `ws` (WebSocket) is not supported; use `http` or `stdio`")
    found = _KINDS.get(given) if isinstance(given, str) else None
    if found is None:
        raise _bad(entry, f"its type {visible(repr(given), limit_chars=60)} is not known; use stdio, http or sse")
    return cast("Kind", found)


def _seconds(value: object) -> tuple[float, bool]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MAX_MS:
        return _DEFAULT_CALL_S, False
    return value / 1000, True


def _texts(entry: ServerEntry, key: str, value: object) -> Sequence[str]:
    if value is None:
        return ()
    items = cast("list[Any]", value)
    if not isinstance(value, list) or not all(isinstance(item, str | int | float) for item in items):
        raise _bad(entry, f"its `{key}` must be a list of strings")
    return [str(item) for item in items]


def _pairs(entry: ServerEntry, key: str, value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad(entry, f"its `{key}` must be an object of strings")
    found = cast("dict[str, Any]", value)
    for name, inner in found.items():
        if not isinstance(inner, str | int | float) or "\0" in name or "\n" in name:
            raise _bad(entry, f"its `{key}` must be an object of strings")
    return {name: str(inner) for name, inner in found.items()}


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _bad(entry: ServerEntry, reason: str) -> BadServerError:
    return BadServerError(entry, reason)

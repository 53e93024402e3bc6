"""What plugins bring to a session: skills, commands and agents by their places, hooks and servers by the options."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from holdfast.app.options import Options
from holdfast.definitions.plugins import Plugin, read_json, read_plugin

__all__ = ["with_plugins"]

_ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"
_HOOKS: Final = os.path.join("hooks", "hooks.json")
_SERVERS: Final = ".mcp.json"


def with_plugins(options: Options, folders: Iterable[str], without_servers: Iterable[str] = ()) -> Options:
    """The session with the plugins in these folders; of some their servers are left out.

    Raises:
        UsageError: One of them is none.
    """
    bare = [read_plugin(folder) for folder in without_servers]
    whole = [read_plugin(folder) for folder in folders]
    settings = [text for plugin in (*whole, *bare) if (text := _hooks(plugin))]
    servers = [text for plugin in whole if (text := _servers(plugin))]
    return options._replace(
        plugins=(*options.plugins, *whole, *bare),
        settings=(*options.settings, *settings),
        mcp_config=(*options.mcp_config, *servers),
    )


def _hooks(plugin: Plugin) -> str:
    """Its hooks as settings; their commands are told where it is."""
    found = (read_json(os.path.join(plugin.root, _HOOKS)) or {}).get("hooks")
    if not isinstance(found, dict):
        return ""
    return _json({"hooks": _told(found, plugin.root)})


def _told(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_told(inner, root) for inner in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = {key: _told(inner, root) for key, inner in cast("dict[str, Any]", value).items()}
    command = items.get("command")
    if isinstance(command, str) and "args" in items:  # no shell reads it
        return _filled(items, root)
    if isinstance(command, str):
        items["command"] = f"export CLAUDE_PLUGIN_ROOT={shlex.quote(root)}; {command}"
    return items


def _servers(plugin: Plugin) -> str:
    """Its servers, called after it."""
    given = read_json(os.path.join(plugin.root, _SERVERS)) or {}
    found: Any = given.get("mcpServers", given)
    if not isinstance(found, dict) or not found:
        return ""
    servers = _filled(cast("dict[str, Any]", found), plugin.root)
    return _json({"mcpServers": {f"plugin_{plugin.name}_{name}": config for name, config in servers.items()}})


def _filled(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return value.replace(_ROOT, root)
    if isinstance(value, list):
        return [_filled(inner, root) for inner in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _filled(inner, root) for key, inner in cast("dict[str, Any]", value).items()}
    return value


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode()

"""What a host wishes to see of a session that runs: files, rules, tasks, resources, lists anew."""

import asyncio
import base64
import os
import stat
from typing import TYPE_CHECKING, Any

from holdfast.app.live_files import may_show
from holdfast.app.live_servers import find_server
from holdfast.cli.offers import agent_list, command_list, plugin_list, style_list
from holdfast.cli.server_wishes import mcp_status
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.permissions.rules.grammar import Rule

__all__ = ["LOOKS"]

Line = dict[str, Any]
_MOST_BYTES = 1 << 20
_TAIL_BYTES = 8 << 10
_LINE_BYTES = 1_000_000
"""So long may a text be, as JSON, in a line of 1 MiB."""
_SOURCES = {
    "user": "userSettings",
    "project": "projectSettings",
    "local": "localSettings",
    "policy": "policySettings",
    "flag": "flagSettings",
    "command_line": "cliArg",
    "session": "session",
}
"""Where a rule was written, as hosts call it."""
_EDITED = {
    **dict.fromkeys(("userSettings", "projectSettings", "localSettings"), "persistent"),
    **dict.fromkeys(("cliArg", "session"), "session"),
}


async def _read_file(agent: "RunningAgent", fields: Line) -> Line:
    """A file as the host would show it; what a rule keeps from the tools is kept from it, too."""
    path, encoding, limit = fields.get("path"), fields.get("encoding", "utf-8"), fields.get("max_bytes", _MOST_BYTES)
    if not isinstance(path, str) or not path:
        raise UsageError(f"path must be a path, got {path!r}")
    if encoding not in ("utf-8", "base64"):
        raise UsageError(f"encoding must be 'utf-8' or 'base64', got {encoding!r}")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(f"max_bytes must be a number from 1 on, got {limit!r}")
    limit = min(limit, _MOST_BYTES if encoding == "utf-8" else _LINE_BYTES * 3 // 4)
    place = may_show(agent, os.path.expanduser(path))
    data, size = await asyncio.to_thread(_beginning, place, limit)
    while encoding == "utf-8" and len(as_json := encode_json(data.decode("utf-8", "replace"))) > _LINE_BYTES:
        data = data[: len(data) * _LINE_BYTES // len(as_json)]  # a line must hold it
    found: Line = {"absPath": place, **({"truncated": True} if size > len(data) else {})}
    if encoding == "base64":
        return {**found, "contents": base64.b64encode(data).decode(), "encoding": "base64"}
    text = data.decode("utf-8", "replace")
    return {**found, "contents": text, "lossy": text.encode() != data}


def _beginning(path: str, limit: int) -> tuple[bytes, int]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise UsageError(f"{path!r} is no file")
            with open(handle, "rb", closefd=False) as file:
                return file.read(limit), about.st_size
        finally:
            os.close(handle)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}") from error


async def _reload_skills(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    agent.look_for_skills()
    return {"skills": [one for one in command_list(agent) if not one.get("builtin")]}


async def _reload_plugins(agent: "RunningAgent", fields: Line) -> Line:
    """The lists as they are: which plugins there are is settled when a session starts."""
    if fields.get("add_plugins"):
        raise UsageError("plugins take effect only at the start of a session: give them with --plugin-dir")
    agent.look_for_skills()
    states = await mcp_status(agent, {})
    return {
        "commands": command_list(agent),
        "agents": agent_list(agent),
        "plugins": plugin_list(agent),
        "mcpServers": states["mcpServers"],
        "error_count": len(agent.rights.lost_plugins),
    }


async def _reload_styles(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    return {"available_output_styles": style_list(agent)}


async def _rules(agent: "RunningAgent", fields: Line) -> Line:
    """Every rule with the file or the moment that it comes from, and the directories besides the own one."""
    del fields
    settings = agent.rights.settings
    rules = [_rule(rule) for rule in agent.permissions.rules]
    directories = [
        {"path": entry.directory, "source": _SOURCES.get(entry.origin.source, "session")}
        for entry in settings.directories
    ]
    state: Line = {"rules": rules, "workspaceDirectories": directories, "originalCwd": settings.cwd}
    return {"state": {**state, "managedOnly": settings.managed_rules_only, "mode": agent.mode}}


def _rule(rule: "Rule") -> Line:
    source = _SOURCES.get(rule.source.kind, "session")
    return {
        "behavior": rule.behavior,
        "rule": rule.text,
        "source": source,
        "editability": _EDITED.get(source, "readonly"),
    }


async def _task_output(agent: "RunningAgent", fields: Line) -> Line:
    task_id = str(fields.get("task_id"))
    record = next((task for task in agent.tasks if task.id == task_id), None)
    if record is None:
        raise UsageError(f"there is no task {task_id!r}")
    data, size = await asyncio.to_thread(_end_of, record.output_file)
    return {"output": data.decode("utf-8", "replace"), "total_bytes": size, "truncated": size > len(data)}


def _end_of(path: str) -> tuple[bytes, int]:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES), size
    except FileNotFoundError:
        return b"", 0


async def _resource(agent: "RunningAgent", fields: Line) -> Line:
    uri = fields.get("uri")
    if not isinstance(uri, str) or not uri:
        raise UsageError(f"uri must be a string, got {uri!r}")
    server = find_server(agent, str(fields.get("serverName", fields.get("server_name"))))
    try:
        answer = await server.request("resources/read", {"uri": uri})
    except McpError as error:
        raise UsageError(f"the resource {uri!r} of {server.config.name!r} cannot be read: {error}") from error
    contents: Any = answer.get("contents")
    return {"contents": contents if isinstance(contents, list) else []}


LOOKS = {
    "read_file": _read_file,
    "reload_skills": _reload_skills,
    "reload_plugins": _reload_plugins,
    "reload_output_styles": _reload_styles,
    "list_permission_rules": _rules,
    "get_task_output": _task_output,
    "mcp_read_resource": _resource,
}

"""What the permission layers must know of each built-in tool when only its name and input are at hand.

Live calls bring their own facts from the tool object; policy tests, `explain` without a session and backtests use
this table.
"""

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from holdfast.contract import UNKNOWN_EFFECTS, Effects, RuleSubject
from holdfast.contract.names import ALIASES
from holdfast.contract.permission import SubjectKind
from holdfast.lib.names import read_path
from holdfast.permissions.facts import CallFacts

__all__ = ["ALIASES", "KNOWN_TOOLS", "ToolKind", "facts_from_input", "kind_of_tool"]


class ToolKind(NamedTuple):
    """How one tool is judged."""

    kind: SubjectKind = "name"
    fields: tuple[str, ...] = ()
    """Input fields that hold the rule subject; the first one present counts."""
    read_only: bool = False
    session_state: bool = False
    default: str = ""
    """The subject when the field is absent; `.` is the working directory."""


_SESSION: Final = ToolKind(read_only=True, session_state=True)
_KINDS: Final[Mapping[str, ToolKind]] = {
    "Bash": ToolKind("command", ("command",)),
    "PowerShell": ToolKind("command", ("command",)),
    "Monitor": ToolKind("command", ("command",)),
    "Read": ToolKind("read_path", ("file_path",), read_only=True),
    "Glob": ToolKind("read_path", ("path",), read_only=True, default="."),
    "Grep": ToolKind("read_path", ("path",), read_only=True, default="."),
    "LSP": ToolKind("read_path", ("filePath", "file_path", "path"), read_only=True, default="."),
    "Write": ToolKind("edit_path", ("file_path",)),
    "Edit": ToolKind("edit_path", ("file_path",)),
    "MultiEdit": ToolKind("edit_path", ("file_path",)),
    "NotebookEdit": ToolKind("edit_path", ("notebook_path", "file_path")),
    "WebFetch": ToolKind("domain", ("url",), read_only=True),
    "WebSearch": ToolKind(read_only=True),
    "Agent": ToolKind("agent", ("subagent_type",), default="general-purpose"),
    "Skill": ToolKind("skill", ("skill", "command"), read_only=True, session_state=True),
    "SendUserMessage": ToolKind(read_only=True),
    **dict.fromkeys(
        (
            *("TodoWrite", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskOutput", "TaskStop"),
            *("ToolSearch", "Sleep", "CronList", "EnterPlanMode", "ExitPlanMode"),
            *("AskUserQuestion", "StructuredOutput"),
        ),
        _SESSION,
    ),
    "ListMcpResourcesTool": ToolKind("mcp", read_only=True),
    "ReadMcpResourceTool": ToolKind("mcp", read_only=True),
    **dict.fromkeys(
        (
            *("TeamCreate", "TeamDelete", "SendMessage", "EnterWorktree", "ExitWorktree", "CronCreate"),
            *("CronDelete", "RemoteTrigger", "REPL", "Config"),
        ),
        ToolKind(),
    ),
}
KNOWN_TOOLS: Final = frozenset(_KINDS) | frozenset(ALIASES)
_OTHER: Final = ToolKind()
_MCP: Final = ToolKind("mcp")
_NETWORK: Final = frozenset({"WebSearch"})
_SETTINGS: Final = "~/.config/holdfast/settings.json"
"""Where Config writes, unless the user's variables say otherwise; a protected place wherever it is."""
_SHOWN: Final = frozenset({"WebFetch", "WebSearch"})
"""Tools whose input a classifier may see."""


def kind_of_tool(tool: str) -> ToolKind:
    """The traits of a tool by its canonical name; unknown ones are judged by name and may do anything."""
    return _KINDS.get(tool) or (_MCP if tool.startswith("mcp__") else _OTHER)


def facts_from_input(tool: str, arguments: Mapping[str, Any], cwd: str) -> CallFacts:
    """The facts of a call from its name and input alone."""
    canonical = ALIASES.get(tool, tool)
    names = (canonical, *(alias for alias, target in ALIASES.items() if target == canonical))
    traits = kind_of_tool(canonical)
    value = next((str(arguments[field]) for field in traits.fields if arguments.get(field)), traits.default)
    if traits.kind in ("read_path", "edit_path"):
        value = read_path(value)
    if traits.kind == "skill":
        value = value.removeprefix("/").partition(" ")[0]
    subject = RuleSubject(traits.kind, cwd if value == "." else value)
    return CallFacts(
        canonical,
        names,
        arguments,
        cwd,
        traits.read_only or _is_look(canonical, arguments),
        _effects(canonical, traits, arguments, cwd),
        subject,
        session_state=traits.session_state,
        passthrough=canonical in _NETWORK,
        classifier_input=str(arguments.get("url") or arguments.get("query") or "") if canonical in _SHOWN else None,
    )


def _is_look(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Some tools change something only with certain arguments."""
    if tool == "Agent":
        return not arguments.get("isolation")  # a worktree is made for it, or a process started
    if tool == "ExitWorktree":
        return arguments.get("action") == "keep"
    return tool == "Config" and arguments.get("value") is None


def _effects(tool: str, traits: ToolKind, arguments: Mapping[str, Any], cwd: str) -> Effects:
    if tool == "SendUserMessage":
        files: Any = arguments.get("attachments")
        names = cast("list[Any]", files) if isinstance(files, list) else []
        return Effects(reads=[os.path.join(cwd, os.path.expanduser(read_path(str(name)))) for name in names])
    if tool == "Config" and not _is_look(tool, arguments):
        return Effects(writes=[os.path.expanduser(_SETTINGS)])
    known = traits.session_state or traits.kind in ("read_path", "edit_path", "domain")
    if known or tool in _NETWORK or _is_look(tool, arguments):
        return Effects()
    return UNKNOWN_EFFECTS

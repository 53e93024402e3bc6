"""The one table of names that users' rules, hooks, settings and prompts know: tools, what they were called, modes.

Whoever needs such a list takes it from here: a second copy would go its own way.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

__all__ = [
    "AGENT_TASKS",
    "ALIASES",
    "BUILTIN_NAMES",
    "BY_STRICTNESS",
    "CRON_NAMES",
    "MODES",
    "MODE_ALIASES",
    "MODE_WORDS",
    "RETIRED",
    "TASK_LIST_NAMES",
    "PermissionMode",
    "as_mode",
    "canonical_name",
]

TASK_LIST_NAMES: Final = frozenset({"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"})
CRON_NAMES: Final = frozenset({"CronCreate", "CronDelete", "CronList"})

BUILTIN_NAMES: Final = (
    frozenset(
        {
            "Read",
            "Write",
            "Edit",
            "NotebookEdit",
            "Glob",
            "Grep",
            "Bash",
            "PowerShell",
            "Agent",
            "TeamCreate",
            "TeamDelete",
            "SendMessage",
            "TaskOutput",
            "TaskStop",
            "TodoWrite",
            "WebFetch",
            "WebSearch",
            "ListMcpResourcesTool",
            "ReadMcpResourceTool",
            "EnterPlanMode",
            "ExitPlanMode",
            "EnterWorktree",
            "ExitWorktree",
            "ToolSearch",
            "AskUserQuestion",
            "SendUserMessage",
            "Sleep",
            "RemoteTrigger",
            "StructuredOutput",
            "Skill",
            "LSP",
            "REPL",
            "Config",
            "Monitor",
        }
    )
    | TASK_LIST_NAMES
    | CRON_NAMES
)
"""Every built-in tool of the product, built or still to come."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Task": "Agent",
        "BashOutput": "TaskOutput",
        "BashOutputTool": "TaskOutput",
        "AgentOutput": "TaskOutput",
        "AgentOutputTool": "TaskOutput",
        "KillShell": "TaskStop",
        "mcp__listResources": "ListMcpResourcesTool",
        "SlashCommand": "Skill",
    }
)
"""Older name to the name it has now."""

RETIRED: Final[Mapping[str, str]] = MappingProxyType({"LS": "Glob", "MultiEdit": "Edit", "NotebookRead": "Read"})
"""A tool that is gone, and the one that does its work."""

AGENT_TASKS: Final = frozenset({"local_agent", "remote_agent"})
"""Background tasks that are agents."""

PermissionMode: TypeAlias = Literal["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"]
MODES: Final[tuple[PermissionMode, ...]] = get_args(PermissionMode)
MODE_ALIASES: Final[Mapping[str, PermissionMode]] = MappingProxyType({"manual": "default"})
"""Another name of a mode, and the mode."""
_BY_NAME: Final[Mapping[str, PermissionMode]] = MappingProxyType({**{mode: mode for mode in MODES}, **MODE_ALIASES})
MODE_WORDS: Final[Mapping[PermissionMode, tuple[str, str]]] = MappingProxyType(
    {
        "default": ("Ask", "Asks before anything that changes something"),
        "acceptEdits": ("Accept edits", "Edits files of the folder, asks before other changes"),
        "plan": ("Plan", "Changes nothing, writes a plan"),
        "auto": ("Auto", "Asks only before what is risky"),
        "dontAsk": ("Never ask", "Refuses what would be asked about"),
        "bypassPermissions": ("Bypass", "Asks about nothing but ask rules and critical removals"),
    }
)
"""What people read of a mode: its title, and what it does."""
BY_STRICTNESS: Final[tuple[PermissionMode, ...]] = (
    *("plan", "dontAsk", "default"),
    *("acceptEdits", "auto", "bypassPermissions"),
)
"""The modes, from the one that lets the least pass."""


def canonical_name(name: str) -> str:
    """The name a tool has today."""
    return ALIASES.get(name, name)


def as_mode(text: object) -> PermissionMode | None:
    """A permission mode by its name or another name of it; None when there is none of that name."""
    return _BY_NAME.get(text) if isinstance(text, str) else None

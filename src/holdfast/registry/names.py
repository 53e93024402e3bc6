"""The names users' rules, hooks and prompts know: every built-in tool, its older names, and who may use it."""

from collections.abc import Iterable
from types import MappingProxyType

__all__ = [
    "ALIASES",
    "ASYNC_AGENT_TOOLS",
    "BUILTIN_NAMES",
    "NEVER_IN_SUBAGENTS",
    "PRESETS",
    "REPL_PRIMITIVES",
    "RESERVED",
    "TEAMMATE_TOOLS",
    "canonical_name",
    "chosen_names",
    "is_reserved",
]

ALIASES = MappingProxyType(
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

_TASK_LIST = frozenset({"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"})
_CRON = frozenset({"CronCreate", "CronDelete", "CronList"})

BUILTIN_NAMES = (
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
    | _TASK_LIST
    | _CRON
)
"""Every built-in tool of the product, built or still to come."""

PRESETS = MappingProxyType({"full": None, "minimal": frozenset({"Bash", "Read", "Edit"})})
"""Named tool sets; none means every tool. Simple mode is `minimal`."""

REPL_PRIMITIVES = frozenset({"Read", "Write", "Edit", "Glob", "Grep", "Bash", "NotebookEdit", "Agent"})
"""Hidden from the model in REPL mode; callable inside the REPL."""

NEVER_IN_SUBAGENTS = frozenset({"EnterPlanMode", "ExitPlanMode", "AskUserQuestion", "Agent"})

ASYNC_AGENT_TOOLS = frozenset(
    {
        "Read",
        "Edit",
        "Write",
        "NotebookEdit",
        "TodoWrite",
        "Grep",
        "Glob",
        "WebSearch",
        "WebFetch",
        "Bash",
        "Skill",
        "ToolSearch",
        "StructuredOutput",
    }
)
"""What an agent in the background may use, besides remote tools."""

TEAMMATE_TOOLS = frozenset({"SendMessage"}) | _TASK_LIST | _CRON
"""What a teammate may use on top of that."""


RESERVED = BUILTIN_NAMES | ALIASES.keys()
"""Names that a built-in tool has, had or will have."""


def canonical_name(name: str) -> str:
    """The name a tool has today."""
    return ALIASES.get(name, name)


def chosen_names(names: Iterable[str] | None) -> frozenset[str] | None:
    """The tools that a list of tools and presets means, by the names they have today; none means every tool."""
    if names is None:
        return None
    found: set[str] = set()
    for name in names:
        if name == "default" or name in PRESETS:
            of_preset = PRESETS.get(name)
            if of_preset is None:
                return None
            found |= of_preset
        else:
            found.add(canonical_name(name))
    return frozenset(found)


def is_reserved(name: str) -> bool:
    """A built-in tool has, had or will have this name: no remote tool may take it."""
    return name in RESERVED

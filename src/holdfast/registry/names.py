"""Who may use which built-in tool, by the names that `contract.names` knows."""

from collections.abc import Iterable
from types import MappingProxyType

from holdfast.contract.names import ALIASES, BUILTIN_NAMES, CRON_NAMES, TASK_LIST_NAMES, canonical_name

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

TEAMMATE_TOOLS = frozenset({"SendMessage"}) | TASK_LIST_NAMES | CRON_NAMES
"""What a teammate may use on top of that."""


RESERVED = BUILTIN_NAMES | ALIASES.keys()
"""Names that a built-in tool has, had or will have."""


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

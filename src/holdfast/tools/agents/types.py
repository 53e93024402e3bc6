"""The kinds of agents that can be started: what each is for, what it may use, and what it is told."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from holdfast.definitions.agents import AgentDefinition

__all__ = ["BUILTIN_TYPES", "AgentType", "defined_type", "names_tool"]

_REMEMBERS: Final = frozenset({"Read", "Write", "Edit"})
_LOOKS: Final = frozenset({"Read", "Glob", "Grep", "Bash", "WebFetch", "WebSearch", "LSP"})


class AgentType(NamedTuple):
    """One kind of agent."""

    name: str
    about: str
    """What it is for, as the model reads it that may start one."""
    tools: frozenset[str] | None = None
    """Only these; none: all that a subagent may have."""
    mode: str | None = None
    """A permission mode that it always has, within the rights of whoever starts it."""
    words: str = ""
    """What it is told about itself, besides what every subagent is told."""
    definition: "AgentDefinition | None" = None
    """Where a person has written it; its text then takes the place of ours."""

    @property
    def goes_alone(self) -> bool:
        """It always works in the background."""
        return self.definition is not None and self.definition.background

    def forbids(self, name: str) -> bool:
        """Whether whoever wrote it took a tool of this name away from it."""
        return self.definition is not None and names_tool(self.definition.disallowed_tools, name)

    def may_use(self, name: str) -> bool:
        """Whether a tool of this name is one of its own."""
        definition = self.definition
        if self.forbids(name):
            return False
        if self.tools is None or name in self.tools or names_tool(tuple(self.tools), name):
            return True
        if definition is None:
            return False
        # What it remembers it reads and writes; servers that it names it may use.
        servers = tuple(f"mcp__{one}" for one in definition.mcp_servers if isinstance(one, str))
        return (definition.memory is not None and name in _REMEMBERS) or names_tool(servers, name)


def defined_type(definition: "AgentDefinition") -> AgentType:
    """The type that a person has written."""
    return AgentType(
        definition.name,
        definition.about,
        None if definition.tools is None else frozenset(definition.tools),
        definition.permission_mode,
        definition=definition,
    )


def names_tool(entries: tuple[str, ...], name: str) -> bool:
    """Whether one of these means the tool: by its name, or the server that it is of (`mcp__srv`, `mcp__srv__*`)."""
    return any(
        entry == name or (entry.startswith("mcp__") and name.startswith(entry.removesuffix("*").rstrip("_") + "__"))
        for entry in entries
    )


BUILTIN_TYPES: Final = (
    AgentType(
        "general-purpose",
        "for tasks of several steps: search, find out, and change things where the task says so. All tools but Agent.",
    ),
    AgentType(
        "Explore",
        "finds its way in code fast, changes nothing. Say how thorough it should be: quick, medium or very thorough.",
        _LOOKS,
        "plan",
        "You explore: find what the task asks for and change nothing. Search broadly first, then read what matters; "
        "make independent searches in one message. If the task says quick, stop at the first good answer; medium, look "
        "in the likely places; very thorough, also under other names and in unlikely places. Report paths with line "
        "numbers and what is there, and say what you did not find.",
    ),
    AgentType(
        "Plan",
        "looks at the code and works out how a change should be made, step by step. Changes nothing.",
        _LOOKS,
        "plan",
        "You plan: look at the code that the task touches, at how the same is done elsewhere and at the tests, and "
        "change nothing. Report the plan: the steps in order, the files of each, what could go wrong, how to verify "
        "it, and the three to five files that matter most. Where there are several ways, name the one to take and why.",
    ),
    AgentType(
        "Bash",
        "runs commands and tells what came of it, such as git, builds and tests. Only Bash.",
        frozenset({"Bash"}),
        None,
        "You run commands. Report what each did, with exit codes and the lines of output that matter, exactly.",
    ),
    AgentType(
        "fork",
        "goes on from this very conversation, which it knows up to here; for work that needs all of it and would fill "
        "it. All tools but Agent.",
        words="You are a fork: the conversation before your task is that of the agent that started you, and it goes on "
        "without you. Do your task, and nothing else that was asked for before.",
    ),
)

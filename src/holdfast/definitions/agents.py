"""Agents as people define them: `agents/*.md` of every place, and `--agents`."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from holdfast.contract.errors import UsageError
from holdfast.contract.names import MODES
from holdfast.definitions.fields import EFFORTS, Fields, first_line, model_word, tool_list
from holdfast.definitions.files import Head, Scan, decode_head, read_whole
from holdfast.definitions.places import Source, Where, places
from holdfast.lib.front_matter import read_front_matter
from holdfast.lib.guarded_read import read_named
from holdfast.lib.visible import visible
from holdfast.settings.sources import SourceKind

if TYPE_CHECKING:
    from holdfast.settings.model import HookEntry

__all__ = ["AgentDefinition", "Agents", "agents_of", "find_agents", "read_agents_option"]

_MODES: Final = (*MODES, "manual")
_OPTION_BYTES: Final = 4 << 20
_SOURCES: Final[Mapping[str, SourceKind]] = {
    "managed": SourceKind.POLICY,
    "flag": SourceKind.COMMAND_LINE,
    "project": SourceKind.PROJECT,
}
_KNOWN: Final = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "skills", "mcpServers"}
    | {"hooks", "memory", "background", "effort", "isolation", "color", "initialPrompt", "prompt"}
)


class AgentDefinition(msgspec.Struct, frozen=True):
    """One kind of agent that a person wrote."""

    name: str
    description: str
    source: Source
    path: str = ""
    """The file; empty for `--agents`."""
    folder: str | None = None
    """The project that brings it; None for the user's and the policy's own."""
    prompt: str | None = None
    """What it is told about itself, where no file holds it."""
    tools: tuple[str, ...] | None = None
    """Only these, by the names of today; None: all that whoever starts it may hand on. Empty: none."""
    disallowed_tools: tuple[str, ...] = ()
    """Taken away first."""
    agents: tuple[str, ...] | None = None
    """The types that it may start (`Agent(a, b)`); None: all."""
    model: str | None = None
    """None: that of whoever starts it."""
    permission_mode: str | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    """Told to it from the start."""
    mcp_servers: tuple[Any, ...] = ()
    """Names of servers, and mappings of a name to a server of its own."""
    hooks: Mapping[str, Any] = {}
    memory: str | None = None
    background: bool = False
    effort: str | None = None
    isolation: str | None = None
    color: str = ""
    initial_prompt: str = ""
    refusal: str = ""
    """Why it cannot be started; empty when it can."""
    warnings: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What a model reads before it starts one, in one line."""
        return " ".join(self.description.split())

    @property
    def own_servers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Servers that only its agents have, by name."""
        given = [cast("Mapping[str, Any]", one) for one in self.mcp_servers if isinstance(one, Mapping)]
        pairs = [(name, config) for one in given for name, config in one.items()]
        return tuple((name, cast("Mapping[str, Any]", one)) for name, one in pairs if isinstance(one, Mapping))

    def hook_entries(self, root: str) -> "tuple[HookEntry, ...]":
        """Its hooks; those of a folder need the user's approval. The end of its work is that of a subagent."""
        from holdfast.settings.front_matter_hooks import front_matter_hooks  # noqa: PLC0415 - few have any

        source = _SOURCES.get(self.source, SourceKind.USER)
        folder = root if self.source == "project" else None
        found = front_matter_hooks(self.hooks, source=source, path=self.path, folder=folder)
        return tuple(
            msgspec.structs.replace(one, event="SubagentStop") if one.event == "Stop" else one for one in found
        )

    def words(self) -> str:
        """What it is told about itself: the text of the file as it is now.

        Raises:
            OSError: The file is gone or cannot be read.
        """
        if self.prompt is not None:
            return self.prompt
        return read_front_matter(read_whole(self.path, self.folder)[0]).body.strip()


class Agents(NamedTuple):
    """All that were found."""

    found: dict[str, AgentDefinition]
    """By name; of equal names that of the highest rank."""
    hidden: tuple[AgentDefinition, ...] = ()
    """Those that another of the same name outranks."""
    problems: tuple[tuple[str, str], ...] = ()
    """Files that do not count, and why."""


_NOT_OF_PLUGINS = frozenset({"hooks", "mcpServers", "permissionMode"})
"""What would give it more than the user has seen."""


def find_agents(
    where: Where, given: Iterable[AgentDefinition] = (), *, may_read: Callable[[str], bool] | None = None
) -> Agents:
    """Read the definitions of every place; those given come right behind the policy's."""
    scan = Scan(may_read)
    found: dict[str, AgentDefinition] = {}
    hidden: list[AgentDefinition] = []
    waiting = list(given)

    def take(agent: AgentDefinition) -> None:
        if agent.name in found:
            hidden.append(agent)
        else:
            found[agent.name] = agent

    for place in places("agents", where):
        if place.source != "managed":
            for agent in waiting:
                take(agent)
            waiting = []
        for head in scan.markdown(place):
            agent = read_agent(head, place.source)
            if agent is not None:
                name = f"{place.plugin}:{agent.name}" if place.plugin else agent.name
                take(msgspec.structs.replace(agent, name=name, folder=place.boundary))
    for agent in waiting:
        take(agent)
    return Agents(found, tuple(hidden), tuple(scan.problems))


def read_agent(head: Head, source: Source) -> AgentDefinition | None:
    """One definition from its file; a README that defines nothing is none."""
    matter = read_front_matter(decode_head(head.data))
    if not matter.found and head.name.lower() in {"readme", "license", "contributing", "changelog"}:
        return None
    values = matter.fields
    dropped = sorted(_NOT_OF_PLUGINS & set(values)) if source == "plugin" else []
    fields = Fields({key: value for key, value in values.items() if key not in dropped})
    fields.warnings += [f"{key} of a plugin's agent is ignored" for key in dropped]
    if matter.problem:
        fields.warnings.append(f"its front matter is not valid YAML ({matter.problem}), so it is read line by line")
    name = fields.text("name") or head.name
    if not fields.text("name"):
        fields.warnings.append("it has no name, so the file's name is used")
    return _made(name, fields, source, path=head.path, fallback=first_line(matter.body))


def read_agents_option(text: str) -> list[AgentDefinition]:
    """The agents of `--agents`: JSON text, or a file that holds it.

    Raises:
        UsageError: It is neither, or no object of objects.
    """
    raw: str | bytes = text
    if not text.lstrip().startswith("{"):
        try:
            raw = read_named(os.path.expanduser(text), limit_bytes=_OPTION_BYTES)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise UsageError(f"--agents {text!r} is neither JSON nor a file that can be read: {reason}") from error
    try:
        found: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"--agents is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f'--agents must be an object of agents, such as {{"reviewer": {{…}}}}, got {found!r}')
    return agents_of(cast("dict[str, Any]", found))


def agents_of(given: Mapping[str, Any]) -> list[AgentDefinition]:
    """The agents that a program or the command line defines.

    Raises:
        UsageError: One of them is none.
    """
    return [_from_option(name, about) for name, about in given.items()]


def _from_option(name: str, about: Any) -> AgentDefinition:
    if not isinstance(about, Mapping):
        raise UsageError(f"--agents: {name!r} must be an object with description and prompt, got {about!r}")
    values = cast("Mapping[str, Any]", about)
    prompt = values.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError(f"--agents: {name!r} has no prompt; say there what the agent is told about itself")
    fields = Fields(values)
    fields.warnings += [f"it has an unknown field {key!r}" for key in values if key not in _KNOWN]
    return _made(name, fields, "flag", prompt=prompt, fallback=first_line(prompt))


def _made(
    name: str, fields: Fields, source: Source, *, path: str = "", prompt: str | None = None, fallback: str = ""
) -> AgentDefinition:
    description = fields.text("description")
    if not description:
        fields.warnings.append("it has no description, so a model cannot know when to use it")
    if ":" in name:
        fields.warnings.append("its name holds a colon, which separates a plugin from its agents")
    given = fields.get("tools", "allowed-tools", "allowedTools", "allowed_tools")
    tools = tool_list(given)
    denied = tool_list(fields.get("disallowedTools", "disallowed-tools", "disallowed_tools") or "none")
    for unknown in (*tools.unknown, *(word for word in denied.unknown if word != "none")):
        fields.warnings.append(f"it names a tool {visible(unknown, limit_chars=60)!r}, and none has that name")
    refusal = ""
    if tools.names == () and tools.unknown:
        refusal = f"none of the tools that it names is one: {visible(', '.join(tools.unknown), limit_chars=200)}"
    servers = fields.get("mcpServers", "mcp-servers")
    return AgentDefinition(
        name=name,
        description=description or fallback,
        source=source,
        path=path,
        prompt=prompt,
        tools=tools.names,
        disallowed_tools=denied.names or (),
        agents=_types(tools.rules),
        model=model_word(fields),
        permission_mode=fields.choice(_MODES, "permissionMode", "permission-mode"),
        max_turns=fields.number("maxTurns", "max-turns"),
        skills=fields.items("skills"),
        mcp_servers=tuple(cast("list[Any]", servers)) if isinstance(servers, list) else _servers(servers),
        hooks=fields.mapping("hooks"),
        memory=fields.choice(("user", "project", "local"), "memory"),
        background=fields.flag("background"),
        effort=fields.choice(EFFORTS, "effort"),
        isolation=fields.choice(("worktree", "remote"), "isolation"),
        color=fields.text("color"),
        initial_prompt=fields.text("initialPrompt", "initial-prompt"),
        refusal=refusal,
        warnings=tuple(fields.warnings),
    )


def _types(rules: Iterable[str]) -> tuple[str, ...] | None:
    """The types in `Agent(a, b)`; None where it may start any."""
    named = [rule[6:-1] for rule in rules if rule.startswith("Agent(") and rule.endswith(")")]
    if not named or "Agent" in rules:
        return None
    return tuple(word.strip() for text in named for word in text.split(",") if word.strip())


def _servers(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Mapping):
        return tuple({name: about} for name, about in cast("Mapping[str, Any]", value).items())
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else ()

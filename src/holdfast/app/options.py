"""What a user may choose for a session, on the command line or in code."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from holdfast.contract import Asker, Tool
    from holdfast.contract.roles import OpenBuffers
    from holdfast.definitions.agents import AgentDefinition
    from holdfast.definitions.plugins import Plugin
    from holdfast.hooks import Hook
    from holdfast.mcp.host_transport import AskHost
    from holdfast.models import Effort, Model
    from holdfast.tools.shell._terminals import CommandTerminals

__all__ = ["AgentOptions", "Options"]


class Options(NamedTuple):
    """The choices that every way of starting Holdfast shares."""

    cwd: str | None = None
    permission_mode: str | None = None
    """None: what the settings say."""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """Only these tools, by any of their names, or those of a preset such as `minimal`."""
    add_dirs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Settings files, or JSON text."""
    setting_sources: str | None = None
    """Which of user, project and local to read."""
    own_tools: "tuple[Tool, ...]" = ()
    trust: bool | None = None
    """True: the folder counts as trusted for this run; False: it does not; None: what the user said about it."""
    hooks: "tuple[Hook, ...]" = ()
    """The program's own hooks, beside those of the settings."""
    mcp_config: tuple[str, ...] = ()
    """Files with MCP servers, or JSON text."""
    strict_mcp_config: bool = False
    """Only those servers count."""
    ask_host: "AskHost | None" = None
    """Reaches MCP servers inside the program that runs the session."""
    form_asker: "Asker | None" = None
    """Fills in what MCP servers ask for, where nobody is asked about calls."""
    own_servers: Mapping[str, Any] = MappingProxyType({})
    """MCP servers inside this process: objects of the protocol's SDK, by name."""
    buffers: "OpenBuffers | None" = None
    """The editor that runs the session, which may hold changes that are not saved."""
    terminals: "CommandTerminals | None" = None
    """The same editor, where it runs commands in terminals of its own."""
    may_bypass: bool = False
    """The mode `bypassPermissions` may be entered later."""
    plugins: "tuple[Plugin, ...]" = ()
    """Plugins in folders that the user names."""
    lost_plugins: tuple[tuple[str, str], ...] = ()
    """Folders that were named and hold none, each with the reason."""
    mirror: bool = False
    """A copy of the conversation is kept where other programs look for it, and told as it grows."""
    has_reader: bool = False
    """The library that runs the session lists and reads conversations itself, there; a setting can say no."""
    tool_aliases: Mapping[str, str] = MappingProxyType({})
    """Names that a model may call, each with the tool that is meant."""


class AgentOptions(NamedTuple):
    """What an agent needs beyond what every session does."""

    model: "str | Model | None" = None
    """`provider:name`, or a model; None: what environment, settings and keys say."""
    fallback_model: "str | Model | None" = None
    stand_in: "str | Model | None" = None
    """The first run names its own model, so the agent's need not be there yet."""
    system_prompt: str | None = None
    """Instead of our own; tools and environment are still described."""
    append_system_prompt: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_output_tokens: int | None = None
    thinking: bool = False
    effort: "Effort | None" = None
    output_schema: Mapping[str, Any] | None = None
    """The answer is wanted as data that fits this JSON Schema."""
    accept_output: Callable[[Any], object] | None = None
    """Looks at such an answer once more; a ValueError sends it back to the model."""
    auto_compact: bool = True
    max_total_tokens: int | None = None
    """Of one run, in and out."""
    history: "tuple[Mapping[str, Any], ...]" = ()
    """What was said before, in a session that is new."""
    agents: "tuple[AgentDefinition, ...]" = ()
    """Kinds of agents besides those of the files (`--agents`)."""
    main_agent: str | None = None
    """The kind of agent that the whole session is (`--agent`)."""
    skills: tuple[str, ...] | None = None
    """Only these are told of; None: all."""
    title: str | None = None
    """What a new session is called."""
    has_static_prompt: bool = False
    """What the place brings (directory, date, repository) goes with the first message, not into the system prompt."""
    plan_instructions: str | None = None
    """How to work in plan mode, instead of our own words."""
    opening: str = ""
    """Said before the first prompt of a new session: what the kind of agent begins with (`initialPrompt`)."""
    is_opening_verbatim: bool = False
    """Nothing in it is taken for a call."""
    subagent_prompt: str | None = None
    """Told to every agent that the session starts, behind its own words."""
    thinking_display: str | None = None
    """How much of its thinking the model shows: `summarized` or `omitted`."""

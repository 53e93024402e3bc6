"""Layer 2: which of all tools this session or subagent may see."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from holdfast.contract import SessionFacts, Tool, UsageError
from holdfast.registry.names import (
    ASYNC_AGENT_TOOLS,
    NEVER_IN_SUBAGENTS,
    PRESETS,
    REPL_PRIMITIVES,
    TEAMMATE_TOOLS,
    chosen_names,
)

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext

__all__ = ["AgentKind", "ViewOptions", "for_subagent", "preset_names", "tools_for"]

_LOCAL = SessionFacts()


class ViewOptions(NamedTuple):
    """What narrows the list of tools."""

    preset: str = "full"
    only: frozenset[str] | None = None
    """Exactly these, by any of their names or by a preset's (`--tools`)."""
    simple: bool = False
    """Bash, Read and Edit alone."""
    repl_mode: bool = False
    """Primitives are hidden; the model reaches them inside the REPL."""
    session: SessionFacts = _LOCAL


class AgentKind(NamedTuple):
    """What kind of subagent asks for tools."""

    background: bool = False
    teammate: bool = False
    plan_required: bool = False
    """A teammate that must have its plan approved keeps ExitPlanMode."""
    nesting: bool = False
    """It may start agents itself."""
    mcp_tools: bool = True


def preset_names(preset: str) -> frozenset[str] | None:
    """The tools of a preset; none means all."""
    if preset not in PRESETS:
        raise UsageError(f"unknown tool preset {preset!r}; choose one of {', '.join(PRESETS)}")
    return PRESETS[preset]


def tools_for(tools: Iterable[Tool], context: "PermissionContext", options: ViewOptions | None = None) -> list[Tool]:
    """The tools a model may see: enabled, in the preset, and not denied as a whole."""
    options = options or ViewOptions()
    wanted = preset_names("minimal" if options.simple else options.preset)
    only = chosen_names(options.only)
    some_denied = context.book.denies_some_whole()
    return [
        tool
        for tool in tools
        if (wanted is None or tool.name in wanted)
        and (only is None or not only.isdisjoint(tool.names))
        and not (options.repl_mode and tool.name in REPL_PRIMITIVES)
        and not (some_denied and is_denied_whole(tool, context))
        and tool.is_enabled(options.session)
    ]


def is_denied_whole(tool: Tool, context: "PermissionContext") -> bool:
    """A blanket deny on any of its names: the model never sees the tool."""
    return context.denies_whole(tool.names) is not None


def for_subagent(tools: Iterable[Tool], kind: AgentKind) -> list[Tool]:
    """What a subagent keeps of its parent's tools."""
    return [tool for tool in tools if _subagent_may_use(tool, kind)]


def _subagent_may_use(tool: Tool, kind: AgentKind) -> bool:
    if tool.mcp_info is not None:
        return kind.mcp_tools
    if tool.name in NEVER_IN_SUBAGENTS:
        nested_agent = tool.name == "Agent" and kind.nesting and not kind.background
        plan_exit = tool.name == "ExitPlanMode" and kind.teammate and kind.plan_required
        return nested_agent or plan_exit
    if not kind.background:
        return True
    return tool.name in ASYNC_AGENT_TOOLS or (kind.teammate and tool.name in TEAMMATE_TOOLS)

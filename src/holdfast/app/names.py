"""Names in the options of a program: what no tool is called is told at once, not found out in the middle of a run."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.app.options import Options
from holdfast.contract import UsageError
from holdfast.contract.names import RETIRED
from holdfast.lib.spelling import did_you_mean
from holdfast.permissions.rules.grammar import Rule
from holdfast.registry.names import ALIASES, BUILTIN_NAMES, PRESETS
from holdfast.settings.sources import split_tool_list

if TYPE_CHECKING:
    from holdfast.definitions.agents import AgentDefinition

__all__ = ["check_names", "given_agents", "split_names"]


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names in texts such as `Read,Grep`."""
    return tuple(name for text in texts for name in split_tool_list(text))


def given_agents(agents: str | Mapping[str, Mapping[str, Any]]) -> "list[AgentDefinition]":
    """The agents that a program defines: as data, or as JSON text or a file of it."""
    from holdfast.definitions.agents import agents_of, read_agents_option  # noqa: PLC0415 - few programs define any

    return read_agents_option(agents) if isinstance(agents, str) else agents_of(agents)


def check_names(options: Options) -> None:
    """Look at the tools and rules that a program names.

    Raises:
        UsageError: One of them is none; the text says which, and what may have been meant.
    """
    built_in = {*BUILTIN_NAMES, *ALIASES}
    choosable = {*built_in, *PRESETS, "default"}
    known = {*built_in, *RETIRED, *(name for tool in options.own_tools for name in tool.names)}
    for name in split_names(options.tools or ()):
        if name not in choosable and not name.startswith("mcp__"):
            meant = did_you_mean(name, sorted(choosable))
            raise UsageError(f"builtin_tools names {name!r}, and no built-in tool has that name.{meant}")
    for behavior, texts in (("allow", options.allowed_tools), ("deny", options.disallowed_tools)):
        option = "allowed_tools" if behavior == "allow" else "disallowed_tools"
        for rule in split_names(texts):
            name = rule.partition("(")[0]
            if name not in known and "*" not in name and not name.startswith("mcp__"):
                meant = did_you_mean(name, sorted(known))
                raise UsageError(f"{option} names {name!r}, and no tool has that name.{meant}")
            Rule.parse("allow" if behavior == "allow" else "deny", rule, aliases=ALIASES)

"""A session that is, as a whole, one kind of agent: its words, its tools and its model (`--agent`)."""

from typing import TYPE_CHECKING

from holdfast.app.definitions import Definitions
from holdfast.app.options import AgentOptions, Options
from holdfast.contract.errors import UsageError
from holdfast.lib.spelling import did_you_mean

if TYPE_CHECKING:
    from holdfast.tools.agents.types import AgentType

__all__ = ["as_main_agent"]

_NARROWER = ("plan", "dontAsk", "default")
"""Modes that take nothing away from the user's say."""


def _find_type(name: str, definitions: Definitions) -> "AgentType":
    """The kind of agent of this name.

    Raises:
        UsageError: There is none, or it cannot be one.
    """
    from holdfast.tools.agents.types import BUILTIN_TYPES, defined_type  # noqa: PLC0415 - only with the option

    known = {kind.name: kind for kind in BUILTIN_TYPES}
    known |= {own: defined_type(definition) for own, definition in definitions.agents.items()}
    found = known.get(name)
    if found is None:
        meant = did_you_mean(name, sorted(known))
        raise UsageError(f"there is no agent {name!r}.{meant} Known are {', '.join(sorted(known))}")
    if found.definition is not None and found.definition.refusal:
        raise UsageError(f"the agent {name!r} cannot be used: {found.definition.refusal}")
    return found


def as_main_agent(
    definitions: Definitions, options: Options, agent: AgentOptions
) -> "tuple[AgentType, Options, AgentOptions]":
    """The kind of agent that was chosen, and the options of a session that is one; the command line's own words stay.

    Raises:
        UsageError: There is no such kind, or the file that holds its words cannot be read.
    """
    kind = _find_type(agent.main_agent or "", definitions)
    definition = kind.definition
    words, model = kind.words, None
    if definition is not None:
        try:
            words = definition.words()
        except OSError as error:
            raise UsageError(f"the agent's file {definition.path!r} cannot be read: {error.strerror}") from error
        model = definition.model
        agent = agent._replace(
            effort=agent.effort or definition.effort,
            max_turns=agent.max_turns or definition.max_turns,
            opening=definition.initial_prompt,
            # The words of a folder or a plugin are no person's: `/name` in them calls nothing.
            is_opening_verbatim=definition.source in ("project", "plugin"),
        )
        options = options._replace(disallowed_tools=(*options.disallowed_tools, *definition.disallowed_tools))
    if kind.tools is not None and options.tools is None:
        options = options._replace(tools=tuple(sorted(kind.tools)))
    if kind.mode in _NARROWER and options.permission_mode is None:
        options = options._replace(permission_mode=kind.mode)
    if not agent.system_prompt and definition is not None:  # hosts say "" for no words of their own
        agent = agent._replace(system_prompt=words)
    elif definition is None:
        agent = agent._replace(append_system_prompt="\n\n".join(filter(None, (agent.append_system_prompt, words))))
    return kind, options, agent._replace(model=agent.model or (None if model == "inherit" else model))

"""What the first line of a run tells about its session."""

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from holdfast.app.choose_model import key_source, model_settings
from holdfast.app.commands import command_names

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.settings import Settings

__all__ = ["SessionFacts", "betas_of", "facts_of", "output_style"]


class SessionFacts(NamedTuple):
    """What the first line tells about a session."""

    session_id: str
    cwd: str
    model: str
    permission_mode: str
    tools: Sequence[str]
    key_source: str = "none"
    """Which environment variable the key came from."""
    mcp_servers: Sequence[Mapping[str, str]] = ()
    agents: Sequence[str] = ()
    skills: Sequence[str] = ()
    slash_commands: Sequence[str] = ()
    output_style: str = "default"
    plugins: Sequence[Mapping[str, str]] = ()
    more: Mapping[str, Any] = MappingProxyType({})
    """What only some sessions have: beta features, further directories, plugins that could not be used."""


def facts_of(agent: "RunningAgent") -> SessionFacts:
    """What is known of a session at its start."""
    return SessionFacts(
        session_id=agent.session_id,
        cwd=agent.cwd,
        model=agent.model.name,
        permission_mode=agent.mode,
        tools=[tool.name for tool in agent.tools],
        key_source=key_source(agent.model.name, os.environ),
        mcp_servers=agent.server_states,
        agents=agent.agent_types,
        skills=agent.definitions.skill_names(),
        slash_commands=command_names(agent),
        output_style=output_style(agent),
        plugins=[
            {"name": one.name, "path": one.root, **({"version": one.version} if one.version else {})}
            for one in agent.rights.plugins
        ],
        more=_more(agent),
    )


def _more(agent: "RunningAgent") -> Mapping[str, Any]:
    rights = agent.rights
    errors = [
        {"plugin": f"inline[{index}]", "type": "path-not-found", "message": why, "path": path}
        for index, (path, why) in enumerate(rights.lost_plugins)
    ]
    found = {
        "betas": betas_of(rights.settings),
        "additional_directories": [entry.directory for entry in rights.settings.directories],
        "plugin_errors": errors,
    }
    return {name: value for name, value in found.items() if value}


def betas_of(settings: "Settings") -> list[str]:
    """The beta features of the Messages API that requests ask for."""
    found: Any = model_settings(settings)
    for name in ("anthropic", "headers", "anthropic-beta"):
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return [one.strip() for one in found.split(",") if one.strip()] if isinstance(found, str) else []


def output_style(agent: "RunningAgent") -> str:
    """What the settings call the way of speaking; this version has one."""
    found = agent.rights.settings.get("outputStyle")
    return found if isinstance(found, str) and found else "default"

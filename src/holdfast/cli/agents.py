"""`holdfast agents`: the agents that people defined for this place."""

from typing import Any

import click

from holdfast.app import load_rights
from holdfast.app.definitions import where_of
from holdfast.cli.definition_lines import echo_findings, echo_rows, echo_shown
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.options import to_options, warn
from holdfast.cli.session_options import session_options
from holdfast.contract import UsageError
from holdfast.definitions.agents import AgentDefinition, Agents, find_agents
from holdfast.lib.spelling import did_you_mean
from holdfast.tools.agents.types import BUILTIN_TYPES, AgentType

__all__ = ["command"]


@click.group("agents", cls=ListsByDefault)
def command() -> None:
    """List the agents that are defined here, show one, or check them for problems."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def list_agents(*, as_json: bool, **given: Any) -> int:
    """List every type of agent that can be started here."""
    found = _found(given)
    own = [(kind.name, "built in", kind.about) for kind in BUILTIN_TYPES if kind.name not in found.found]
    rows = [
        (
            agent.name,
            f"{agent.source}, cannot be started" if agent.refusal and not as_json else agent.source,
            agent.about,
        )
        for agent in found.found.values()
    ]
    return echo_rows([*rows, *own], as_json=as_json, nothing="")


@command.command("show", short_help="Show one with its fields and its text.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def show_agent(name: str, *, as_json: bool, **given: Any) -> int:
    """Show one agent: its fields, its problems, and what it is told."""
    found = _found(given).found
    ours = {kind.name: kind for kind in BUILTIN_TYPES}
    agent = found.get(name)
    if agent is None and name in ours:
        return echo_shown(_facts_of_ours(ours[name]), ours[name].words, as_json=as_json)
    if agent is None:
        raise UsageError(f"there is no agent {name!r} here.{did_you_mean(name, sorted({*found, *ours}))}")
    try:
        text = agent.words()
    except OSError as error:
        raise UsageError(f"{agent.path!r} cannot be read: {error.strerror or error}") from error
    return echo_shown(_facts(agent), text, as_json=as_json)


@command.command("lint", short_help="Check them and print the problems.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def lint_agents(*, as_json: bool, **given: Any) -> int:
    """Check the agents that are defined here and print their problems. Exit 1 if there are any."""
    found = _found(given)
    odd = [(agent.path, warning) for agent in found.found.values() for warning in agent.warnings]
    odd += [(agent.path, f"it cannot be started: {agent.refusal}") for agent in found.found.values() if agent.refusal]
    odd += [(agent.path, f"another agent is called {agent.name!r}, which counts") for agent in found.hidden]
    return echo_findings([*odd, *found.problems], count=len(found.found), what="agents", as_json=as_json)


def _found(given: dict[str, Any]) -> Agents:
    rights = load_rights(to_options(given))
    warn(rights)
    return find_agents(where_of(rights))


def _facts_of_ours(kind: AgentType) -> dict[str, Any]:
    tools = None if kind.tools is None else sorted(kind.tools)
    about = {"name": kind.name, "description": kind.about, "source": "built in"}
    return {**about, "tools": tools, "permission_mode": kind.mode}


def _facts(agent: AgentDefinition) -> dict[str, Any]:
    names = ("name", "description", "source", "path", "tools", "disallowed_tools", "agents", "model", "permission_mode")
    more = ("max_turns", "skills", "memory", "background", "effort", "isolation", "color", "refusal", "warnings")
    facts = {name: getattr(agent, name) for name in (*names, *more)}
    return {**facts, "hooks": list(agent.hooks), "initial_prompt": agent.initial_prompt}

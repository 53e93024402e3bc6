"""`holdfast skills`: the skills and commands that people wrote for this place."""

from typing import Any

import click

from holdfast.app import load_rights
from holdfast.app.definitions import where_of
from holdfast.cli.definition_lines import echo_findings, echo_rows, echo_shown
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.options import to_options, warn
from holdfast.cli.session_options import session_options
from holdfast.contract import UsageError
from holdfast.definitions.library import Library, open_library
from holdfast.definitions.skills import Skill

__all__ = ["command"]


@click.group("skills", cls=ListsByDefault)
def command() -> None:
    """List the skills and commands that are there, show one, or check them for problems."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def list_skills(*, as_json: bool, **given: Any) -> int:
    """List every skill and command that can be used here."""
    rows = [(skill.name, _whose(skill), skill.about) for skill in _library(given)]
    return echo_rows(rows, as_json=as_json, nothing="There are no skills or commands here.")


@command.command("show", short_help="Show one with its fields and its text.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def show_skill(name: str, *, as_json: bool, **given: Any) -> int:
    """Show one skill or command: its fields, its problems, and its text. Nothing in it is run."""
    library = _library(given)
    skill = library.find(name.removeprefix("/"))
    if skill is None:
        raise UsageError(f"there is no skill {name!r} here.{library.nearest(name)}")
    try:
        loaded = skill.load()
    except OSError as error:
        raise UsageError(f"{skill.path!r} cannot be read: {error.strerror or error}") from error
    commands = [one.command for one in loaded.injections]
    return echo_shown({**_facts(skill), "commands": commands}, loaded.body, as_json=as_json)


@command.command("lint", short_help="Check them and print the problems.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def lint_skills(*, as_json: bool, **given: Any) -> int:
    """Check the skills and commands here, also against the open specification, and print their problems.

    Exit 1 if there are any.
    """
    library = _library(given)
    odd = [(skill.path, warning) for skill in library for warning in skill.warnings()]
    odd += [(skill.path, f"another is called {skill.name!r}, which counts") for skill in library.hidden]
    return echo_findings([*odd, *library.problems], count=len(library), what="skills", as_json=as_json)


def _library(given: dict[str, Any]) -> Library:
    rights = load_rights(to_options(given))
    warn(rights)
    return open_library(where_of(rights))


def _whose(skill: Skill) -> str:
    return f"{skill.source} {'command' if skill.is_command else 'skill'}"


def _facts(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "source": _whose(skill),
        "path": skill.path,
        "arguments": skill.arguments,
        "argument_hint": skill.argument_hint,
        "allowed_tools": skill.allowed_tools.rules,
        "disallowed_tools": skill.disallowed_tools.rules,
        "model": skill.model,
        "effort": skill.effort,
        "agent": skill.agent if skill.forks else "",
        "paths": skill.paths,
        "hooks": list(skill.hooks),
        "for_model": skill.for_model,
        "for_user": skill.for_user,
        "warnings": skill.warnings(),
    }

"""What one call of an external program does: by its option table, by a parser of its own, or by its kind."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.effects import inspect_effect
from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.program import by_subcommand, known, told
from holdfast.permissions.shell.programs.tool_table import TOOLS, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

OWN_RULES: Final = told("judge")
"""Programs with a parser of their own: module and function."""
TABLES: "Mapping[str, Tool]" = {name: tool for name, tool in TOOLS.items() if name not in OWN_RULES and ":" not in name}
"""Every program that is judged by its option table alone."""
HERE: "Mapping[str, Tool]" = by_subcommand(TOOLS, "here:")
"""Calls that read no more than what is there, but only with the variables that a session gives them; by their words."""


@cache
def _own(judge: str) -> "Callable[..., CommandFacts]":
    module, _, name = judge.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)


def version_forms(name: str) -> tuple[str, ...]:
    """The words that only ask a program for its version."""
    program = known(name)
    said = None if program is None else program.fields.get("version")
    if said is None:
        return ()
    forms = [form.strip() for form in said.split("|") if form.strip()]
    return tuple(forms[1:]) if forms[:1] == ["not --version"] else ("--version", *forms)


def inspect_version(name: str, args: "Sequence[Word]") -> CommandFacts | None:
    """Return the facts of an exact version query, or None when this is something else."""
    forms = version_forms(name)
    if not forms or not args or not all(word.static for word in args):
        return None
    return CommandFacts(None, kind="version") if " ".join(word.text for word in args) in forms else None


def inspect_command(name: str, args: "Sequence[Word]", *, stdin_is_data: bool = False) -> CommandFacts:
    """Judge one call of an external program.

    Args:
        name: the program's bare name.
        args: its arguments as the shell will pass them.
        stdin_is_data: standard input is a pipe, file or heredoc, so a search without operands reads that.

    Returns:
        The facts; `refusal` is None only when every word was understood and found harmless.
    """
    own = OWN_RULES.get(name)
    if own is not None:
        facts = _own(own)(args)
    elif (tool := TABLES.get(name)) is not None:
        facts = _by_table(tool, args, stdin_is_data=stdin_is_data)
    else:
        facts = inspect_version(name, args) or inspect_effect(name, args) or CommandFacts("not known to be read-only")
    if facts.refusal is None:
        for word in args:
            if word.secret:
                return facts._replace(refusal="it shows a variable whose name says it is secret")
    return facts


def inspect_here(name: str, args: "Sequence[Word]") -> CommandFacts | None:
    """Return the facts of a call that only reads where a session runs it, or None when this is something else."""
    second = f"{name} {args[0].text}" if args and args[0].static else ""
    tool = HERE.get(second) or HERE.get(name)
    facts = None if tool is None else _by_table(tool, args[second in HERE :], stdin_is_data=False)
    return None if facts is None or facts.refusal is not None or any(word.secret for word in args) else facts


def _by_table(tool: Tool, args: "Sequence[Word]", *, stdin_is_data: bool) -> CommandFacts:
    found = scan(tool, args)
    if stdin_is_data and tool.default and tool.kind == "search" and found.reads == [tool.default]:
        found.reads = []
    return found.facts()

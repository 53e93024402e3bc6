"""What one call of an external program does: by its option table, by a parser of its own, or by its kind."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.parsers.git import git_subcommand
from holdfast.permissions.shell.programs.program import PROGRAMS, Program, by_subcommand, known, told
from holdfast.permissions.shell.programs.tool_table import TOOLS, Tool
from holdfast.permissions.shell.words.word import Word

_BY_ROLE: Final = {
    "privilege": "privilege", "kills": "process", "system": "system-change", "devices": "system-change",
    "shell": "run", "interpreter": "run", "compiler": "run",
}  # fmt: skip
"""The kind that a role tells where the entry tells none."""
_FILES: Final = ("read", "edit", "remove")
_WHY: Final = {
    "network": "it talks to another machine or a service",
    "package": "a package tool may run project code or use the network",
    "run": "it runs a program",
    "process": "it signals processes",
    "privilege": "it changes who runs the command",
    "system-change": "it changes the machine or reads a device",
}


def changed_by(program: Program) -> tuple[str, str, bool] | None:
    """The kind of a program that is never read-only, what its operands mean, and whether it uses the network.

    Operands: `write` (all are written), `last` (the last is), `skip` (all but the first), `second` (the first is read)
    or `any`.
    """
    said = program.fields.get("changes", "").split()
    kind = said[0] if said else next((kind for role, kind in _BY_ROLE.items() if role in program.roles), "")
    if not kind:
        return None
    operands = said[1] if len(said) > 1 and said[1] != "network" else ""
    return kind, operands, kind in ("network", "package") or "network" in said[1:]


def is_constant(program: Program) -> bool:
    """Whether the words of a program that is never read-only tell nothing about files."""
    changed = changed_by(program)
    return changed is not None and "options" not in program.fields and not changed[1] and changed[0] not in _FILES


def why_never(program: Program, kind: str) -> str:
    """Why a program of this kind is never read-only."""
    return program.fields.get("why") or _WHY[kind]


def inspect_effect(name: str, args: "Sequence[Word]") -> CommandFacts | None:
    """Return the facts of a known command that changes something, or None when the name is not known."""
    program = known(name)
    changed = None if program is None else changed_by(program)
    if program is None or changed is None:
        return None
    kind, operands, network = changed
    if "fetches" in program.roles and "options" in program.fields:
        return _download(program, args)
    if is_constant(program):
        return CommandFacts(why_never(program, kind), network=network, kind=kind)
    return _operand_effects(program, args, kind, operands, network=network)


@cache
def table_of(program_options: str) -> Tool:
    """The options of a program that is never read-only."""
    return Tool(program_options, operands="any")


def _operand_effects(
    program: Program, args: "Sequence[Word]", kind: str, operands: str, *, network: bool
) -> CommandFacts:
    found = scan(table_of(program.fields.get("options", "")), args)
    names = [word.text for word in found.operands if word.static]
    reads, writes = list(found.reads), list(found.writes)
    if operands == "write":
        writes += names
    elif operands == "skip":
        writes += names[1:]
    elif operands == "second":
        reads, writes = reads + names[:1], writes + names[1:]
    elif operands == "last" and writes:
        reads += names
    elif operands == "last":
        reads, writes = reads + names[:-1], writes + names[-1:]
    unknown = any(not word.static for word in found.operands)
    return CommandFacts(why_never(program, kind), tuple(reads), tuple(writes), network, kind, unknown)


def _download(program: Program, args: "Sequence[Word]") -> CommandFacts:
    found = scan(table_of(program.fields["options"]), args)
    writes = tuple(found.writes) or ((".",) if "fills" in program.roles or found.has("-O") else ())
    return CommandFacts("it uses the network", tuple(found.reads), writes, network=True, kind="network")


_BSD: Final = re.compile(r"[0-9,]+|[axufjlsvXrwhnSTgLmHcZ]*(?:([oO])|[pUkt])?")
_SELECTS: Final = ("-u", "-U", "-g", "-G", "-t", "-s", "-p", "-q")
_COLUMNS: Final = ("-o", "-O", "--format")
_FORMATS: Final = ("-f", "-F", "-j", "-l", "-y", "-c", "-M", "-Z")
_EVERY_LETTER: Final = frozenset("acefghjklmnoOprstuUvwxXZTLSHNMV0123456789,")


def inspect_ps(args: "Sequence[Word]") -> CommandFacts:
    """Let `ps` list processes without their environment (`ps e`, unlike `ps -e`, prints it)."""
    found = scan(TOOLS["ps"], args)
    letters, words = "", iter(found.operands)
    for word in words:
        cluster = _BSD.fullmatch(word.text)
        if cluster is None or not word.static:
            found.refuse(f"ps {word.text!r} may print the environment of processes")
        elif not word.text.strip("0123456789,"):
            continue
        elif word.text[-1] in "oOpUkt" and (value := next(words, None)) is not None and cluster[1]:
            found.look(value, "column")
        letters += word.text
    if any(value.text[:1] == "-" for value in found.values(*_SELECTS)):
        found.refuse("ps takes an option for a value")
    shown = {value.text for value in found.values(*_COLUMNS, "--sort")}
    has_e = any("e" in word.text for word in args if word.text[:2] != "--" and word.text not in shown)
    if has_e and _may_be_read_again(found, letters):
        found.refuse("ps may print the environment of processes")
    return found.facts()


def _may_be_read_again(found: Scan, letters: str) -> bool:
    """Tell whether `ps` may take all words as BSD letters, as it does whenever the dashed words do not fit together.

    `ps -auxe` asks for the user `xe`; without such a user it means `ps auxe`, which prints environments. So does
    `ps -axe`, since there is no `-x`, and what mixes formats, or threads with a forest.
    """
    selected = [value.text for value in found.values(*_SELECTS) if not value.text.replace(",", "").isdigit()]
    unknown = bool(selected) and all(set(name) <= _EVERY_LETTER for name in selected)
    forest = "f" in letters or found.has("-H", "--forest")
    clash = (found.has(*_COLUMNS) and found.has(*_FORMATS)) or (forest and found.has("-L", "-T", "-m"))
    return unknown or clash or found.has("-x")


def inspect_dd(args: "Sequence[Word]") -> CommandFacts:
    """Report what `dd` copies; it is never read-only."""
    pairs = [word.text.partition("=") for word in args if word.static]
    reads = tuple(value for key, _, value in pairs if key == "if")
    writes = tuple(value for key, _, value in pairs if key == "of")
    return CommandFacts("dd copies raw data", reads, writes, kind="edit")


def exit_meaning(name: str, args: "Sequence[Word]", code: int) -> str | None:
    """Return what an exit code other than 0 says when it is no failure, or None."""
    if name == "git":
        name = f"git:{git_subcommand(args)}"
    program = PROGRAMS.get(name)
    return program.fields.get("exit-1") if program is not None and code == 1 else None


OWN_RULES: Final = told("judge")
"""Programs with a parser of their own: module and function."""
TABLES: "Mapping[str, Tool]" = {name: tool for name, tool in TOOLS.items() if name not in OWN_RULES and ":" not in name}
"""Every program that is judged by its option table alone."""
HERE: "Mapping[str, Tool]" = by_subcommand(TOOLS, "here:")
"""Calls that read no more than what is there, but only with the variables that a session gives them; by their words."""

EDITS: "Mapping[str, Tool]" = by_subcommand(TOOLS, "edits:")
"""Calls that do no more than rewrite the files they name, or (`git add`) take note of them; by their words."""


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
    return _by_words(HERE, name, args)[1]


def inspect_edit(name: str, args: "Sequence[Word]") -> tuple[str, CommandFacts | None]:
    """Return the words of a call that only rewrites files, with its facts: what it reads it also writes."""
    return _by_words(EDITS, name, args)


def _by_words(tools: "Mapping[str, Tool]", name: str, args: "Sequence[Word]") -> tuple[str, CommandFacts | None]:
    second = f"{name} {args[0].text}" if args and args[0].static else ""
    words = second if second in tools else name
    tool = tools.get(words)
    facts = None if tool is None else _by_table(tool, args[words == second :], stdin_is_data=False)
    passes = facts is not None and facts.refusal is None and not any(word.secret for word in args)
    return words, facts if passes else None


def _by_table(tool: Tool, args: "Sequence[Word]", *, stdin_is_data: bool) -> CommandFacts:
    found = scan(tool, args)
    if stdin_is_data and tool.default and tool.kind == "search" and found.reads == [tool.default]:
        found.reads = []
    return found.facts()

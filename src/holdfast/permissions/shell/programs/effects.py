"""What programs change, so that the permission layer can judge the paths and people see what is at risk."""

from functools import cache
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.program import Program, known
from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word

__all__ = ["changed_by", "inspect_effect", "why_never"]

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

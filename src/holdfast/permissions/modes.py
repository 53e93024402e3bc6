"""The mode table: what each mode answers to each kind of effect when no rule speaks."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from holdfast.contract.names import MODES
from holdfast.permissions.paths import NULL_DEVICE, PathFacts, is_inside
from holdfast.permissions.protected import is_secret, protected_by

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext, PermissionMode

Row = Literal[
    "free",
    "read outside",
    "edit inside",
    "edit of the plan file",
    "edit outside or protected",
    "file command inside",
    "shell",
    "sandboxed shell",
    "shell that looks",
    "network, MCP or passthrough",
    "other",
]
Cell = Literal["allow", "ask", "deny", "classifier", "secrets ask"]


def table_row(*cells: Cell) -> MappingProxyType[str, Cell]:
    """One row of the table, with an answer for every mode."""
    return MappingProxyType(dict(zip(MODES, cells, strict=True)))


TABLE: Final[MappingProxyType[Row, MappingProxyType[str, Cell]]] = MappingProxyType(
    {
        # default, plan, acceptEdits, auto, dontAsk, bypassPermissions
        "free": table_row("allow", "allow", "allow", "allow", "allow", "allow"),
        "read outside": table_row("ask", "ask", "ask", "secrets ask", "deny", "allow"),
        "edit inside": table_row("ask", "deny", "allow", "allow", "deny", "allow"),
        "edit of the plan file": table_row("ask", "allow", "allow", "allow", "deny", "allow"),
        "edit outside or protected": table_row("ask", "deny", "ask", "ask", "deny", "allow"),
        "file command inside": table_row("ask", "deny", "allow", "classifier", "deny", "allow"),
        "shell": table_row("ask", "deny", "ask", "classifier", "deny", "allow"),
        "sandboxed shell": table_row("allow", "deny", "allow", "allow", "allow", "allow"),
        "shell that looks": table_row("ask", "ask", "ask", "classifier", "deny", "allow"),
        "network, MCP or passthrough": table_row("ask", "ask", "ask", "classifier", "deny", "allow"),
        "other": table_row("ask", "deny", "ask", "classifier", "deny", "allow"),
    }
)
"""`free` is: reads inside the working directories, read-only shell, session-state tools."""


def cell(row: Row, mode: "PermissionMode") -> Cell:
    """The table's answer."""
    return TABLE[row][mode]


def _all_inside(path: PathFacts, roots: tuple[str, ...]) -> bool:
    """Both the name as given and the target: a link out of the directory, or into it, is not inside."""
    return is_inside(path.target, roots) and (path.given == path.target or is_inside(path.given, roots))


def row_of_read(path: PathFacts, context: "PermissionContext") -> Row:
    """Where a read falls in the table."""
    roots = context.roots
    if path.target == NULL_DEVICE == path.given:
        return "free"
    if _all_inside(path, roots.working) or _all_inside(path, (*roots.working, *roots.readable, *roots.plan_file)):
        return "free"
    return "read outside"


def row_of_write(path: PathFacts, context: "PermissionContext") -> Row:
    """Where a write falls in the table."""
    if is_plan_file(path, context):
        return "edit of the plan file"
    if _all_inside(path, context.roots.working) and _protection(path, context) is None:
        return "edit inside"
    return "edit outside or protected"


def _protection(path: PathFacts, context: "PermissionContext") -> str | None:
    """What protects a path from being written unasked: its name, or that it lies where the settings of this user do."""
    governing = context.roots.governing
    if governing:
        names = path.names
        if path.folds:  # `/CFG/settings.json` is the same file there
            governing = tuple(root.casefold() for root in governing)
            names = tuple(name.casefold() for name in names)
        for name in names:
            if is_inside(name, governing):
                return name
    return protected_by(path.names)


def is_plan_file(path: PathFacts, context: "PermissionContext") -> bool:
    """Whether this is the session's plan file, not a link to something else."""
    return path.target in context.roots.plan_file and path.given in context.roots.plan_file


def guard_of_write(path: PathFacts, context: "PermissionContext") -> str:
    """Why a write needs a look whatever the allow rules and hooks say; empty when it does not."""
    if is_plan_file(path, context):
        return ""
    entry = _protection(path, context)
    if entry is not None:
        return f"{path.given!r} is protected ({entry} governs tools or the agent itself)"
    if path.links > 1:
        return f"{path.given!r} has {path.links} names (hard links), so writing it may change another file"
    return ""


def secret_outside(path: PathFacts) -> bool:
    """Whether a read outside the working directories looks like one of credentials."""
    return is_secret(path.names)

"""Commands that do no more than an edit does: what `acceptEdits` lets pass.

What a text writes is judged by its words; whether that is an ordinary file only the disk can say. Without one, nothing
but `mkdir`, `touch`, `mv` and `cp` counts.
"""

import os
import stat
from collections.abc import Sequence
from functools import partial
from typing import Final

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.facts import Sight
from holdfast.permissions.modes import row_of_read, row_of_write
from holdfast.permissions.paths import LiveDisk, PathFacts, is_inside
from holdfast.permissions.shell.judge.rewriters import is_steered, rewrites
from holdfast.permissions.shell.programs.operands import is_plain_file_command
from holdfast.permissions.shell.programs.parsers.sed import edits_in_place
from holdfast.permissions.shell.programs.program import names_of
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import Part

_EXECUTABLE: Final = 0o111
_TEES: Final = names_of("tee")
_PLAIN_REDIRECTS: Final = frozenset({"write", "dup", "heredoc", "herestring"})


def only_edits(
    analysis: "Analysis", sight: "Sight", context: "PermissionContext", redirected: "Sequence[PathFacts]", cwd: str
) -> bool:
    """Whether a text only makes, touches, moves, copies, fills or rewrites ordinary files inside."""
    live = isinstance(context.disk, LiveDisk)
    fills = bool(analysis.redirect_writes)
    kinds = {} if analysis.doubt or analysis.assigned else _kinds(analysis, context, cwd, live=live, fills=fills)
    if "" in kinds or not (sight.writes or ("rewrites" in kinds and not fills)):
        return False
    adds = not fills and set(kinds) == {"rewrites"} and all(part.name == "git" for part in kinds["rewrites"])
    if live and (analysis.steered_by_files or (analysis.uses_git and not adds)):
        return False  # a file that the text itself makes may choose what a later command of it starts
    if (fills or len(kinds) > 1) and any(map(is_steered, kinds.get("rewrites", ()))):
        return False  # the settings that were looked at may be other ones by then
    if (fills or set(kinds) - {"places"}) and not (live and analysis.only_commands and not _places(analysis)):
        return False
    if any(row_of_write(path, context) != "edit inside" for path in sight.writes):
        return False
    named = sight.writes if any(part.writes for part in kinds.get("edits", ())) else redirected
    if not all(_is_ordinary(path, context) for path in named):
        return False
    return all(row_of_read(path, context) == "free" for path in sight.reads)


def _kinds(
    analysis: "Analysis", context: "PermissionContext", cwd: str, *, live: bool, fills: bool
) -> "dict[str, list[Part]]":
    """The commands that do more than read, by what they do; those behind "" do more than an edit."""
    kinds: dict[str, list[Part]] = {}
    ordinary = partial(_is_ordinary_name, context)
    for part in analysis.parts:
        if part.refusal is None and part.cwds is not None:
            continue
        kind = ""
        if part.cwds is None:
            pass
        elif is_plain_file_command(part) and (_certain(part) or not fills):
            kind = "places"
        elif live and (_only_redirected(part) or edits_in_place(part) or _tees(part)):
            kind = "edits"
        elif live and rewrites(part, cwd, context.roots.working, ordinary, walks=not context.book.holds_edits):
            kind = "rewrites"
        kinds.setdefault(kind, []).append(part)
    return kinds


def _tees(part: "Part") -> bool:
    """Whether `tee` writes files that the text names, and nothing else."""
    plain = part.name in _TEES and not (part.cover or part.more or part.assigns) and _certain(part)
    return plain and bool(part.writes) and all(word.static for word in part.argv) and part.argv[0].text == part.name


def _places(analysis: "Analysis") -> bool:
    """Whether something gets another name first: a link that comes to lie there would lead a write elsewhere."""
    return any(part.refusal is not None and part.name in ("mv", "cp") for part in analysis.parts)


def _certain(part: "Part") -> bool:
    return all(item.kind in _PLAIN_REDIRECTS and _is_told(item.target) for item in part.redirects)


def _is_told(target: object) -> bool:
    return target is None or bool(getattr(target, "static", False))


def _only_redirected(part: "Part") -> bool:
    """Whether a command only reads, and nothing but its output goes into files that the text names."""
    if part.cover or part.more or part.assigns or not _certain(part):
        return False
    return part.only_redirected


def _is_ordinary_name(context: "PermissionContext", name: str) -> bool:
    """The same of a name, which no settings protect and no other file shares."""
    path = context.disk.look(name, "/", home=context.home)
    return path.links < 2 and row_of_write(path, context) == "edit inside" and _is_ordinary(path, context)


def _is_ordinary(path: "PathFacts", context: "PermissionContext") -> bool:
    """Whether this is a file that nothing obeys: under its own name, not hidden, not a program, or not there yet."""
    if path.given != path.target:
        return False
    root = next((root for root in context.roots.working if is_inside(path.target, (root,))), None)
    if root is None or any(name.startswith(".") for name in path.target[len(root) :].split("/")):
        return False
    try:
        mode = os.lstat(path.target).st_mode
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(mode) and not mode & _EXECUTABLE

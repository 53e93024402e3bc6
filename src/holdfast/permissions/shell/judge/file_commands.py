"""Commands that do no more than an edit does: what `acceptEdits` lets pass.

What a text writes is judged by its words; whether that is an ordinary file only the disk can say. Without one, nothing
but `mkdir`, `touch`, `mv` and `cp` counts.
"""

import os
import stat
from collections.abc import Sequence
from typing import Final

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.facts import Sight
from holdfast.permissions.modes import row_of_read, row_of_write
from holdfast.permissions.paths import LiveDisk, PathFacts, is_inside
from holdfast.permissions.shell.programs.operands import is_plain_file_command
from holdfast.permissions.shell.programs.parsers.sed import edits_in_place
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import Part

_EXECUTABLE: Final = 0o111
_PLAIN_REDIRECTS: Final = frozenset({"write", "dup", "heredoc", "herestring"})


def only_edits(
    analysis: "Analysis", sight: "Sight", context: "PermissionContext", redirected: "Sequence[PathFacts]"
) -> bool:
    """Whether a text only makes, touches, moves, copies, fills or rewrites ordinary files inside."""
    if analysis.doubt or analysis.assigned or not sight.writes:
        return False
    live = isinstance(context.disk, LiveDisk)
    if live and (analysis.steered_by_files or analysis.uses_git):
        return False  # a file that the text itself makes may choose what a later command of it starts
    fills = bool(analysis.redirect_writes)
    edited: list[Part] = []
    for part in analysis.parts:
        if part.cwds is None:
            return False
        if part.refusal is None or (is_plain_file_command(part) and (_certain(part) or not fills)):
            continue
        if not live or not (_only_redirected(part) or edits_in_place(part)):
            return False
        edited.append(part)
    if (fills or edited) and not (live and analysis.only_commands and not _places(analysis)):
        return False
    if any(row_of_write(path, context) != "edit inside" for path in sight.writes):
        return False
    named = redirected if not any(part.writes for part in edited) else sight.writes
    if not all(_is_ordinary(path, context) for path in named):
        return False
    return all(row_of_read(path, context) == "free" for path in sight.reads)


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

"""Commands that do no more than an edit does: what `acceptEdits` lets pass.

What a text writes is judged by its words; whether that is an ordinary file only the disk can say. Without one, nothing
but `mkdir`, `touch`, `mv` and `cp` counts.
"""

import os
import stat
from typing import TYPE_CHECKING, Final

from holdfast.permissions.modes import row_of_read, row_of_write
from holdfast.permissions.paths import LiveDisk, is_inside
from holdfast.permissions.shell.programs.operands import is_plain_file_command
from holdfast.permissions.shell.programs.sed import edits_in_place
from holdfast.permissions.shell.text.emit import written_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import Sight
    from holdfast.permissions.paths import PathFacts
    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

__all__ = ["only_edits"]

_EXECUTABLE: Final = 0o111
_PLAIN_REDIRECTS: Final = frozenset({"write", "dup", "heredoc", "herestring"})


def only_edits(
    analysis: "Analysis", sight: "Sight", context: "PermissionContext", redirected: "Sequence[PathFacts]"
) -> bool:
    """Whether a text only makes, touches, moves, copies, fills or rewrites ordinary files inside.

    Args:
        analysis: the text.
        sight: what it reads and writes.
        context: under which it is judged.
        redirected: what its redirects write.
    """
    if analysis.doubt or analysis.assigned or not sight.writes:
        return False
    live = isinstance(context.disk, LiveDisk)
    if live and _steered(analysis):
        return False
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
    if (fills or edited) and not (live and _nothing_else(analysis) and not _places(analysis)):
        return False
    if any(row_of_write(path, context) != "edit inside" for path in sight.writes):
        return False
    named = redirected if not any(part.writes for part in edited) else sight.writes
    if not all(_is_ordinary(path, context) for path in named):
        return False
    return all(row_of_read(path, context) == "free" for path in sight.reads)


def _steered(analysis: "Analysis") -> bool:
    """Whether a file that the text itself makes may choose what a later command of it starts."""
    return any(part.kind == "version" or part.name in ("git", "tar") for part in analysis.parts)


def _places(analysis: "Analysis") -> bool:
    """Whether something gets another name first: a link that comes to lie there would lead a write elsewhere."""
    return any(part.refusal is not None and part.name in ("mv", "cp") for part in analysis.parts)


def _certain(part: "Part") -> bool:
    return all(item.kind in _PLAIN_REDIRECTS and _is_told(item.target) for item in part.redirects)


def _is_told(target: object) -> bool:
    return target is None or bool(getattr(target, "static", False))


def _only_redirected(part: "Part") -> bool:
    """Whether a command only reads, and nothing but its output goes into files that the text names."""
    if part.hull or part.more or part.assigns or not _certain(part):
        return False
    return any(part.refusal == written_by(item) for item in part.redirects if item.kind == "write")


def _nothing_else(analysis: "Analysis") -> bool:
    """Whether what its commands write is the only reason why the text does more than read."""
    first = next((part for part in analysis.parts if part.refusal is not None), None)
    return first is not None and analysis.reason == f"{first.name or first.source[:40]}: {first.refusal}"


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

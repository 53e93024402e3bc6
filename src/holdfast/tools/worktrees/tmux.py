"""The tmux session of a worktree: it begins there, and has the name of its branch. It ends with the worktree."""

import os
from collections.abc import Callable
from typing import Final, NamedTuple

from holdfast.contract import WorktreeChanged
from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.host.programs import find_program
from holdfast.lib.visible import visible

__all__ = ["TmuxSession", "end_session", "find_session"]

_LIMIT_S: Final = 10.0
_KEPT_BYTES: Final = 64 << 10
_SHELLS: Final = frozenset({"ash", "bash", "dash", "fish", "ksh", "nu", "sh", "tcsh", "xonsh", "zsh"})
_NOT_IN_NAMES: Final = str.maketrans({".": "_", ":": "_"})


class TmuxSession(NamedTuple):
    """One that is there."""

    name: str
    busy: tuple[str, ...]
    """The programs in it that are no shells waiting for words."""


async def find_session(processes: Callable[[], Processes], tree: WorktreeChanged) -> TmuxSession | None:
    """The worktree's own session, if somebody has begun one; no other is looked at."""
    if not tree.branch:
        return None
    name = tree.branch.translate(_NOT_IN_NAMES)
    listed = await _tmux(
        processes, tree, "list-panes", "-a", "-F", "#{session_name}\t#{pane_current_command}\t#{session_path}"
    )
    programs: set[str] = set()
    is_there = False
    for line in listed.splitlines():
        session, program, path = [*line.split("\t", 2), "", ""][:3]
        if session == name and _is_in(path, tree.path):
            is_there = True
            programs.add(visible(program, limit_chars=40))
    return TmuxSession(name, tuple(sorted(programs - _SHELLS))) if is_there else None


async def end_session(processes: Callable[[], Processes], tree: WorktreeChanged, session: TmuxSession) -> None:
    """End it, with what runs in it."""
    await _tmux(processes, tree, "kill-session", "-t", f"={session.name}")


async def _tmux(processes: Callable[[], Processes], tree: WorktreeChanged, *words: str) -> str:
    """What tmux writes; nothing where it is not installed, or has no sessions."""
    program = find_program("tmux", outside=(tree.root, tree.path))
    if program is None:
        return ""
    command = Command(argv=[program, *words], cwd=tree.root, kept_bytes=_KEPT_BYTES, timeout_s=_LIMIT_S, label="tmux")
    try:
        finished = await processes().run(command)
    except StartError:
        return ""
    return os.fsdecode(finished.output.stdout.head) if finished.exit.code == 0 else ""


def _is_in(path: str, tree: str) -> bool:
    return bool(path) and (os.path.realpath(path) + os.sep).startswith(tree + os.sep)

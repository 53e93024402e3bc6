"""What the model counts as having seen although this conversation does not hold it (any more)."""

import os
from typing import TYPE_CHECKING

from holdfast.contract import UsageError
from holdfast.host.file_state import note_read

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["may_show", "seed_read"]

_NS_PER_MS = 1_000_000


def seed_read(agent: "RunningAgent", path: str, mtime_ms: int) -> bool:
    """Let a file count as read if it is still as it was then; false when it changed since, or is gone.

    Raises:
        UsageError: A rule keeps the file from being read.
    """
    resolved = may_show(agent, path)
    try:
        changed_ms = os.stat(resolved).st_mtime_ns // _NS_PER_MS
    except OSError:
        return False
    found = note_read(resolved) if changed_ms == mtime_ms else None
    if found is None:
        return False
    agent.opened.executor.state.apply(found, "Read")
    return True


def may_show(agent: "RunningAgent", path: str) -> str:
    """Where a path leads, if no rule keeps that from being read.

    Raises:
        UsageError: A rule does.
    """
    state = agent.opened.executor.state
    named = os.path.join(state.cwd, path)
    resolved = os.path.realpath(named)
    if any(state.hides(one) for one in (named, resolved)):
        raise UsageError(f"a rule keeps {path!r} from being read")
    return resolved

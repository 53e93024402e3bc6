"""What the model counts as having seen although this conversation does not hold it (any more)."""

import os
from typing import TYPE_CHECKING

from holdfast.contract import UsageError
from holdfast.host.file_state import note_read

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["seed_read"]

_NS_PER_MS = 1_000_000


def seed_read(agent: "RunningAgent", path: str, mtime_ms: int) -> bool:
    """Let a file count as read if it is still as it was then; false when it changed since, or is gone.

    Raises:
        UsageError: A rule keeps the file from being read.
    """
    state = agent.opened.executor.state
    resolved = os.path.realpath(os.path.join(state.cwd, path))
    if any(state.hides(one) for one in (os.path.join(state.cwd, path), resolved)):
        raise UsageError(f"a rule keeps {path!r} from being read, so it cannot count as read")
    try:
        changed_ms = os.stat(resolved).st_mtime_ns // _NS_PER_MS
    except OSError:
        return False
    found = note_read(resolved) if changed_ms == mtime_ms else None
    if found is None:
        return False
    state.apply(found, "Read")
    return True

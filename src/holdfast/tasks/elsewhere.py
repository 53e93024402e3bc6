"""Tasks of sessions that run in other processes, or that ended: what is true of them now, and how to end one."""

import signal
import time

import msgspec

from holdfast.host import tree
from holdfast.tasks.states import TaskRecord, is_terminal

__all__ = ["end_from_outside", "true_state"]

_GRACE_S = 1.0
_GIVE_UP_S = 5.0
_LOOK_S = 0.02


def true_state(record: TaskRecord, *, session_lives: bool) -> TaskRecord:
    """The record as it is now: what a crash left as running has ended."""
    if is_terminal(record.status):
        return record
    runs = _root(record) is not None
    if runs or (session_lives and record.pid is None):
        return record
    # A live session notes the end itself in a moment; an ended one never will.
    reason = "it has just ended" if session_lives else "its session ended before it did"
    return msgspec.structs.replace(record, status="killed", error=reason)


def end_from_outside(record: TaskRecord) -> bool:
    """End a task of another process with everything below it; false when it does not run (any more).

    Its own session sees the end and notes it.
    """
    root = _root(record)
    if root is None:
        return False
    for entry in _members(root):
        tree.send(entry, signal.SIGTERM)
        tree.send(entry, signal.SIGCONT)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline and _members(root):
        time.sleep(_LOOK_S)
    for pause_s in tree.ending(lambda: _members(root), give_up_s=_GIVE_UP_S, reap=lambda: None):
        time.sleep(pause_s)
    return True


def _root(record: TaskRecord) -> tree.Entry | None:
    """The very process that the record is about, never another one with its number."""
    if record.pid is None or not record.start_ticks:
        return None
    entry = tree.read_entry(record.pid)
    return entry if entry is not None and entry.is_running and entry.start_ticks == record.start_ticks else None


def _members(root: tree.Entry) -> list[tree.Entry]:
    table = tree.scan()
    found = {entry.pid: entry for entry in tree.descendants(table, [root.pid])}
    # It leads a session of its own; children whose parents died are still in that.
    found.update({entry.pid: entry for entry in table.values() if entry.session == root.pid})
    now = table.get(root.pid)
    if now is not None and now.start_ticks == root.start_ticks:
        found[root.pid] = now
    return [entry for entry in found.values() if entry.is_running and entry.start_ticks >= root.start_ticks]

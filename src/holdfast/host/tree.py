"""Look at the process table and end what must not stay. Imports nothing heavy: the guard and the sidecar live on it."""

import os
import time

TYPE_CHECKING = False  # see guard.py
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Iterator
else:
    import _signal as signal

Table = dict[int, "Entry"]

SESSION_MARK = "HOLDFAST_SESSION"
JOB_MARK = "HOLDFAST_JOB"

_PROC = "/proc"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_ENVIRONMENT_LIMIT_BYTES = 4 << 20
_LONGEST_PAUSE_S = 0.02


class Entry:
    """One row of the process table, as it was when it was read."""

    __slots__ = ("group", "is_running", "is_stopped", "parent", "pid", "session", "start_ticks")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The name in parentheses may itself hold spaces and parentheses; the last ")" ends it.
        fields = stat[stat.rindex(b")") + 2 :].split(None, 20)
        self.pid = pid
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.start_ticks = int(fields[19])
        self.is_stopped = fields[0] == b"T"
        # A leader whose first thread has ended shows as a zombie while its other threads still work.
        self.is_running = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1

    def __repr__(self) -> str:
        return f"Entry(pid={self.pid}, parent={self.parent}, session={self.session}, start_ticks={self.start_ticks})"


def ticks_now() -> int:
    """The present, in the unit and from the zero of `Entry.start_ticks`; 0 where the system does not count so."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_S)


def has_process_table() -> bool:
    """Whether this machine shows its processes in /proc."""
    return os.path.exists(f"{_PROC}/self/stat")


def read_entry(pid: int) -> Entry | None:
    """Read one process, or None when it is gone."""
    try:
        fd = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return Entry(pid, os.read(fd, 2048))
    except (OSError, ValueError, IndexError):  # it ended between the two calls
        return None
    finally:
        os.close(fd)


def scan() -> Table:
    """Read the whole process table; empty where there is no /proc."""
    try:
        names = os.listdir(_PROC)
    except OSError:
        return {}
    table: Table = {}
    for name in names:
        if name.isdigit() and (entry := read_entry(int(name))) is not None:
            table[entry.pid] = entry
    return table


def children_of(table: Table) -> dict[int, list[Entry]]:
    """Index a table by parent."""
    children: dict[int, list[Entry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    return children


def descendants(table: Table, roots: "Iterable[int]") -> list[Entry]:
    """Everything below the given processes, not they themselves."""
    children = children_of(table)
    waiting = list(roots)
    seen = set(waiting)
    found: list[Entry] = []
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in seen:
                seen.add(child.pid)
                found.append(child)
                waiting.append(child.pid)
    return found


def environment_holds(pid: int, assignment: bytes) -> bool:
    """Whether the process was started with exactly this `NAME=value`; False when we may not look."""
    try:
        fd = os.open(f"{_PROC}/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        text = b"\0"
        while len(text) < _ENVIRONMENT_LIMIT_BYTES and (more := os.read(fd, 1 << 16)):
            text += more
    except OSError:
        return False
    finally:
        os.close(fd)
    return b"\0" + assignment + b"\0" in text


def marked(table: Table, assignment: bytes, *, since_ticks: int = 0) -> list[Entry]:
    """Every process that carries this environment mark and is not older than the mark."""
    return [
        entry
        for entry in table.values()
        if entry.start_ticks >= since_ticks and entry.is_running and environment_holds(entry.pid, assignment)
    ]


def send(entry: Entry, signal_number: int) -> bool:
    """Signal exactly the process that was seen: never another one that got its number since."""
    if not hasattr(os, "pidfd_open"):
        return send_by_number(entry.pid, signal_number)
    try:
        handle = os.pidfd_open(entry.pid)
    except OSError:
        return False
    try:
        now = read_entry(entry.pid)
        if now is None or now.start_ticks != entry.start_ticks:
            return False
        signal.pidfd_send_signal(handle, signal_number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def send_by_number(pid: int, signal_number: int) -> bool:
    """Signal whoever has this pid now: right only for a child that we have not reaped; False when it is gone."""
    try:
        os.kill(pid, signal_number)
    except OSError:
        return False
    return True


def send_group(group: int, signal_number: int) -> bool:
    """Signal a whole process group; False when it is empty or not ours."""
    try:
        os.killpg(group, signal_number)
    except OSError:
        return False
    return True


def ending(find: "Callable[[], list[Entry]]", *, give_up_s: float, reap: "Callable[[], None]") -> "Iterator[float]":
    """Kill what `find` finds, again and again, until two scans in a row are empty; yields how long to pause.

    What forks while we look is found by the next scan, so this ends when nothing is left or the time is over
    (a process in uninterruptible sleep, or one of another user, cannot be ended by us).
    """
    deadline = time.monotonic() + give_up_s
    pause_s = 0.0005
    empty_scans = 0
    while empty_scans < 2 and time.monotonic() < deadline:
        found = [entry for entry in find() if entry.is_running]
        for entry in found:
            send(entry, signal.SIGKILL)
        reap()
        empty_scans = 0 if found else empty_scans + 1
        if empty_scans < 2:
            yield pause_s
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def reap_adopted(pids: "Iterable[int]") -> None:
    """Collect those that became our own children when their parents died; not for children of our own."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def reap_every_child() -> bool:
    """Collect every child that has ended, whoever started it; True when no child is left.

    Only for a process that is about to end itself.
    """
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def end_all_descendants(*, give_up_s: float) -> list[Entry]:
    """Kill and reap everything below this process, which must be a subreaper; returns what could not be ended.

    To a subreaper every orphan below it comes back as a child. So "no child is left" is the kernel's own word that
    nothing is left, which is more than any number of empty scans could say.
    """
    me = os.getpid()
    deadline = time.monotonic() + give_up_s
    pause_s = 0.0005
    while not reap_every_child():
        found = [entry for entry in descendants(scan(), [me]) if entry.is_running]
        for entry in found:
            send(entry, signal.SIGKILL)
        if time.monotonic() > deadline:
            return found
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    return []

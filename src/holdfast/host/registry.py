"""A record on disk of what runs, so that the next start can end what a crash left behind.

One append-only file per owner. A line is one write, so a crash leaves at most a torn last line, which is not read.
A process is known by pid, start time and boot: a number that was given to somebody else since is never touched.
"""

import contextlib
import os
import stat
import time
from collections.abc import Mapping

from holdfast.host import tree

_VERSION = "holdfast-processes 1"
_SUFFIX = ".procs"
_COMPACT_BYTES = 256 << 10
_FILE_LIMIT_BYTES = 4 << 20
_GIVE_UP_S = 5.0


class ProcessRegistry:
    """Notes every process of one session in one file of a private directory."""

    def __init__(self, directory: str, mark: str) -> None:
        if not mark or not all(sign.isalnum() or sign in "-_" for sign in mark):
            raise ValueError(f"Not a session mark: {mark!r}. Use letters, digits, '-' and '_'.")
        os.makedirs(directory, mode=0o700, exist_ok=True)
        _check_private(directory)
        owner = tree.read_entry(os.getpid())
        ticks = owner.start_ticks if owner else 0
        self._header = f"{_VERSION} {_boot_id()} {os.getpid()} {ticks} {mark}\n".encode()
        self._path = os.path.join(directory, f"{mark}{_SUFFIX}")
        self._running: dict[int, int] = {}
        self._fd = -1
        self._size = 0
        self._rewrite()

    def started(self, pid: int, start_ticks: int) -> None:
        """Note a new process before anybody can lose it."""
        self._running[pid] = start_ticks
        self._append(f"+ {pid} {start_ticks}\n".encode())

    def ended(self, pid: int) -> None:
        """Note that a process and its tree are gone."""
        if self._running.pop(pid, None) is not None:
            self._append(f"- {pid}\n".encode())

    def close(self) -> None:
        """Remove the file: everything was ended."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):  # a full disk must not stop work; the guard and the sidecar still watch
            self._size += os.write(self._fd, line)
            if self._size > _COMPACT_BYTES:
                self._rewrite()

    def _rewrite(self) -> None:
        lines = [self._header, *(f"+ {pid} {ticks}\n".encode() for pid, ticks in self._running.items())]
        fresh = f"{self._path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(fresh, flags, 0o600)
        self._size = os.write(fd, b"".join(lines))
        os.rename(fresh, self._path)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = fd


def reap_leftovers(directory: str) -> list[int]:
    """End what sessions that died have left running; returns the pids that were ended.

    Sessions whose owner is still alive are left alone. Never raises for a strange file: it is removed.
    """
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    _check_private(directory)
    ended: list[int] = []
    for name in sorted(names):
        if name.endswith(_SUFFIX):
            ended += _reap_file(os.path.join(directory, name))
    return ended


def _reap_file(path: str) -> list[int]:
    record = _read(path)
    if record is not None and record.owner_is_alive():
        return []
    ended: list[int] = []
    if record is not None and record.boot == _boot_id():
        ended = _end(record)
    with contextlib.suppress(OSError):
        os.unlink(path)
    return ended


class _Record:
    def __init__(self, header: list[str], running: dict[int, int]) -> None:
        self.boot = header[2]
        self.owner_pid = int(header[3])
        self.owner_ticks = int(header[4])
        self.mark = header[5]
        self.running = running

    def owner_is_alive(self) -> bool:
        entry = tree.read_entry(self.owner_pid)
        is_same = entry is not None and entry.start_ticks == self.owner_ticks and entry.is_running
        return is_same and self.boot == _boot_id()


def _read(path: str) -> _Record | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            return None
        lines = file.read(_FILE_LIMIT_BYTES).decode("ascii", "replace").split("\n")[:-1]  # the last is torn or empty
    try:
        header = lines[0].split(" ")
        if " ".join(header[:2]) != _VERSION:
            return None
        running: dict[int, int] = {}
        for line in lines[1:]:
            parts = line.split(" ")
            if parts[0] == "+":
                running[int(parts[1])] = int(parts[2])
            else:
                running.pop(int(parts[1]), None)
        return _Record(header, running)
    except (IndexError, ValueError):
        return None


def _end(record: _Record) -> list[int]:
    mark = f"{tree.SESSION_MARK}={record.mark}".encode()
    ended: dict[int, None] = {}

    def find() -> list[tree.Entry]:
        found = leftovers(tree.scan(), record.running, mark, since_ticks=record.owner_ticks, counts_leaderless=False)
        ended.update(dict.fromkeys(entry.pid for entry in found if entry.is_running))
        return found

    for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=lambda: None):
        time.sleep(pause_s)
    return list(ended)


def leftovers(
    table: tree.Table, running: Mapping[int, int], mark: bytes, *, since_ticks: int, counts_leaderless: bool
) -> list[tree.Entry]:
    """What belongs to these processes: they themselves, their sessions, everything below them, whoever has the mark.

    A session outlives its leader, but its number may be somebody else's later. So a session without its leader counts
    only for a caller who has watched the whole time.
    """
    roots = {pid for pid, ticks in running.items() if pid in table and table[pid].start_ticks == ticks}
    sessions = roots | {pid for pid in running if pid not in table} if counts_leaderless else roots
    in_session = {
        entry.pid
        for entry in table.values()
        if entry.session in sessions and entry.start_ticks >= running[entry.session]
    }
    with_mark = {entry.pid for entry in tree.marked(table, mark, since_ticks=since_ticks)}
    known = roots | in_session | with_mark
    below = {entry.pid for entry in tree.descendants(table, known)}
    me = os.getpid()
    return [table[pid] for pid in known | below if pid != me]


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _check_private(directory: str) -> None:
    state = os.stat(directory, follow_symlinks=False)
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise PermissionError(
            f"The process registry {directory!r} is not a private directory of this user. "
            "Remove it or make it owned by you with mode 0700."
        )

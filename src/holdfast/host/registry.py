"""A record of what runs that survives our death, so that the sidecar, or the next start, can end what is left.

One file per owner, mapped into memory: a note is a store of sixteen bytes, costs no system call, and is in the
kernel's hands at once. A process is known by its pid, a time at which it surely held that pid, and the boot: whoever
got the number later has started later, and is never touched.
"""

import contextlib
import mmap
import os
import stat
import struct
import time

from holdfast.host import tree

_VERSION = "holdfast-processes 1"
_SUFFIX = ".procs"
_HEADER_BYTES = 4096
_SLOT = struct.Struct("<Q")
_SLOT_BYTES = 16
_SLOTS_AT_ONCE = 1024
_FILE_LIMIT_BYTES = 16 << 20
_GIVE_UP_S = 5.0


class ProcessRegistry:
    """Notes the processes of one owner: in a private directory for the next start, or without a name."""

    def __init__(self, directory: str | None, mark: str, *, guard_pid: int = 0) -> None:
        if not mark or not all(sign.isalnum() or sign in "-_" for sign in mark):
            raise ValueError(f"Not a session mark: {mark!r}. Use letters, digits, '-' and '_'.")
        owner = tree.read_entry(os.getpid())
        ticks = owner.start_ticks if owner else 0
        guard = tree.read_entry(guard_pid) if guard_pid else None
        guarded_by = f"{guard.pid} {guard.start_ticks}" if guard else "0 0"
        header = f"{_VERSION} {_boot_id()} {os.getpid()} {ticks} {mark} {guarded_by}\n".encode()
        self._path = None if directory is None else os.path.join(directory, f"{mark}{_SUFFIX}")
        self.fd = _make_file(directory, self._path)
        os.write(self.fd, header.ljust(_HEADER_BYTES, b"\0"))
        self._slot_of: dict[int, int] = {}
        self._free: list[int] = []
        self._fresh = iter(range(0))
        self._memory = self._grow()

    def _grow(self) -> mmap.mmap:
        # Written, not just made longer: a full disk must fail here and not kill us at a later store.
        size = os.fstat(self.fd).st_size
        os.pwrite(self.fd, bytes(_SLOTS_AT_ONCE * _SLOT_BYTES), size)
        more = range(size, size + _SLOTS_AT_ONCE * _SLOT_BYTES, _SLOT_BYTES)
        memory = mmap.mmap(self.fd, more.stop)
        self._fresh = iter(more)
        return memory

    def started(self, pid: int) -> None:
        """A process runs now, and has not been waited for yet."""
        self.ended(pid)  # the number may have come round while its last owner was still in the books
        slot = self._free.pop() if self._free else next(self._fresh, None)
        if slot is None:
            try:
                wider = self._grow()
            except OSError:
                return  # a full disk must not stop work: the guard or the sidecar's marks still know everyone
            self._memory.close()
            self._memory = wider
            slot = next(self._fresh)
        self._slot_of[pid] = slot
        # The pid goes in last and out first, so that a slot is whole or empty whenever we may die.
        _SLOT.pack_into(self._memory, slot + 8, tree.ticks_now())
        _SLOT.pack_into(self._memory, slot, pid)

    def ended(self, pid: int) -> None:
        """A process and its tree are gone."""
        slot = self._slot_of.pop(pid, None)
        if slot is not None:
            _SLOT.pack_into(self._memory, slot, 0)
            self._free.append(slot)

    def close(self) -> None:
        """Everything was ended: forget the file."""
        if self.fd >= 0:
            self._memory.close()
            os.close(self.fd)
            self.fd = -1
            if self._path is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)


def _make_file(directory: str | None, path: str | None) -> int:
    if directory is None or path is None:
        if hasattr(os, "memfd_create"):
            return os.memfd_create("holdfast-processes", os.MFD_CLOEXEC)
        import tempfile  # noqa: PLC0415 - large, and only for systems without memfd

        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    os.makedirs(directory, mode=0o700, exist_ok=True)
    _check_private(directory)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


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


class Record:
    """What a registry file says about its owner and the owner's processes."""

    def __init__(self, header: list[str], running: dict[int, int]) -> None:
        self.boot = header[2]
        self.owner_pid = int(header[3])
        self.owner_ticks = int(header[4])
        self.mark = header[5]
        self.guard = (int(header[6]), int(header[7])) if len(header) > 7 else (0, 0)
        self.running = running

    def owner_is_alive(self) -> bool:
        """Whether the very process that wrote this still runs, and can look after what it started.

        One that is stopped and has lost its guard would end everything, and does so when it is continued; until then
        nobody looks after its processes.
        """
        entry = _same(self.owner_pid, self.owner_ticks)
        if entry is None or self.boot != _boot_id():
            return False
        return not (entry.is_stopped and self.guard[0] and _same(*self.guard) is None)

    def assignment(self) -> bytes:
        """The mark as children carry it in their environment."""
        return f"{tree.SESSION_MARK}={self.mark}".encode()


def _same(pid: int, start_ticks: int) -> tree.Entry | None:
    """The very process that began then, if it still runs."""
    entry = tree.read_entry(pid)
    return entry if entry is not None and entry.start_ticks == start_ticks and entry.is_running else None


def _read(path: str) -> Record | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
            return None
        return read_record(fd)
    finally:
        os.close(fd)


def read_record(fd: int) -> Record | None:
    """Read a registry; None when it is not one."""
    data = os.pread(fd, _FILE_LIMIT_BYTES, 0)
    try:
        header = data[:_HEADER_BYTES].split(b"\n")[0].decode("ascii").split(" ")
        if " ".join(header[:2]) != _VERSION:
            return None
        numbers = struct.iter_unpack("<QQ", data[_HEADER_BYTES : len(data) - len(data) % _SLOT_BYTES])
        return Record(header, {pid: ticks for pid, ticks in numbers if pid})
    except (IndexError, ValueError, struct.error):
        return None


def _end(record: Record) -> list[int]:
    ended: dict[int, None] = {}

    def find() -> list[tree.Entry]:
        found = leftovers(tree.scan(), record, counts_leaderless=False)
        ended.update(dict.fromkeys(entry.pid for entry in found if entry.is_running))
        return found

    for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=lambda: None):
        time.sleep(pause_s)
    return list(ended)


def leftovers(table: tree.Table, record: Record, *, counts_leaderless: bool) -> list[tree.Entry]:
    """What belongs to these processes: they themselves, their sessions, everything below them, whoever has the mark.

    A session outlives its leader, but its number may be somebody else's later. So a session without its leader counts
    only for a caller who has watched the whole time.
    """
    running = record.running
    roots = {pid for pid, ticks in running.items() if pid in table and table[pid].start_ticks <= ticks}
    sessions = roots | {pid for pid in running if pid not in table} if counts_leaderless else roots
    in_session = {entry.pid for entry in table.values() if entry.session in sessions}
    with_mark = {entry.pid for entry in tree.marked(table, record.assignment(), since_ticks=record.owner_ticks)}
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

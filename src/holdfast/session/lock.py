"""One live writer per session: a file lock that ends with its process, and who holds it, for people."""

import os
import time
from contextlib import suppress

import msgspec

from holdfast.lib.lock import try_lock
from holdfast.session.errors import SessionBusy, SessionNotFound
from holdfast.session.private import open_private_file

__all__ = ["LOCK_NAME", "Holder", "SessionLock", "holder_of", "is_live"]

LOCK_NAME = "lock"
_ATTEMPTS = 6
_PAUSE_S = 0.02
"""A look at a session takes its lock for an instant; a writer waits that long before it calls the session busy."""


class Holder(msgspec.Struct, frozen=True):
    """The process that wrote the lock file. Only a held lock says that it still lives."""

    pid: int
    started: int | None = None
    """The kernel's start time of the process, which tells it from a later one with the same number."""
    since: float = 0.0
    version: int = 1

    def lives(self) -> bool:
        """A process with this number and start time runs now."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            pass
        return self.started is None or _start_time(self.pid) in {None, self.started}


class SessionLock:
    """Held from `take` to `release`, or to the death of this process."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    @classmethod
    def take(cls, directory: int, *, path: str) -> "SessionLock":
        """Lock the session in an open directory.

        Raises:
            SessionBusy: Another process holds it.
            SessionNotFound: The session was removed meanwhile.
        """
        handle = open_private_file(directory, LOCK_NAME, os.O_RDWR | os.O_CREAT, path=os.path.join(path, LOCK_NAME))
        try:
            _lock(handle, path)
            _sign(handle)
        except BaseException:
            os.close(handle)
            raise
        return cls(handle)

    def release(self) -> None:
        """Give the session free; again is allowed."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)


def holder_of(directory: int, *, path: str) -> Holder | None:
    """Who took the lock last, alive or not; none if nobody did or the file says nothing."""
    try:
        handle = open_private_file(directory, LOCK_NAME, os.O_RDONLY, path=os.path.join(path, LOCK_NAME))
    except FileNotFoundError:
        return None
    try:
        return _read(handle)
    finally:
        os.close(handle)


def is_live(directory: int, *, path: str) -> bool:
    """Whether some process, perhaps this one, writes to the session now."""
    try:
        handle = open_private_file(directory, LOCK_NAME, os.O_RDWR, path=os.path.join(path, LOCK_NAME))
    except FileNotFoundError:
        return False
    try:
        return _is_held(handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: str) -> None:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        if not _is_held(handle):
            break
    else:
        raise _busy(handle, path)
    if os.fstat(handle).st_nlink == 0:
        raise SessionNotFound("the session was removed meanwhile", path=path)


def _busy(handle: int, path: str) -> SessionBusy:
    holder = _read(handle)
    who = f"process {holder.pid}" if holder else "another process"
    return SessionBusy(f"{who} is writing to this session", path=path, advice="End it first, or fork the session.")


def _is_held(handle: int) -> bool:
    locked = try_lock(handle)
    if locked is None:  # no locks on this file system: what the last holder wrote has to do
        holder = _read(handle)
        return holder is not None and holder.pid != os.getpid() and holder.lives()
    return not locked


def _sign(handle: int) -> None:
    # The lock itself does not need the text, so a full disk must not keep anybody from working.
    with suppress(OSError):
        text = msgspec.json.encode(Holder(os.getpid(), _start_time(os.getpid()), time.time()))
        os.ftruncate(handle, 0)
        os.pwrite(handle, text + b"\n", 0)


def _read(handle: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(handle, 4096, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def _start_time(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in brackets, may hold anything; the fields behind the last bracket are numbers.
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None

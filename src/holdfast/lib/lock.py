"""A lock per directory across processes, which leaves nothing behind in the user's tree.

The lock is an advisory `flock` on the directory itself, so everybody who reaches the directory, from whatever mount or
container, meets at the same inode. File systems that cannot lock a directory share a private lock file instead.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat as st
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from holdfast.lib import posix

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator

_BUSY = {errno.EWOULDBLOCK, errno.EAGAIN}
_UNSUPPORTED = {errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class LockTimeoutError(TimeoutError):
    """Somebody else held the lock for the whole waiting time."""


@contextmanager
def directory_lock(directory: int, *, path: str, timeout_s: float = 30.0) -> Generator[None]:
    """Hold the lock of an open directory.

    Args:
        directory: A handle on the directory; one opened only for its path falls back to a private lock file.
        path: The directory's resolved path, for the message and the fallback.
        timeout_s: How long to wait for another holder.
    """
    try:
        _wait(directory, path, timeout_s)
    except LockTimeoutError:
        raise
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        with _private_lock(path, timeout_s):
            yield
        return
    try:
        yield
    finally:
        if fcntl is not None:
            fcntl.flock(directory, fcntl.LOCK_UN)


def _flock(handle: int) -> None:
    if fcntl is None:
        raise OSError(errno.ENOSYS, "this system has no locks on open files")
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def try_lock(handle: int) -> bool | None:
    """Lock an open file without waiting: True if locked, False if somebody else holds it, None if locks do not work."""
    try:
        _flock(handle)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        if error.errno in _UNSUPPORTED:
            return None
        raise
    return True


def _wait(handle: int, path: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    pause_s = 0.0005
    while True:
        try:
            _flock(handle)
        except OSError as error:
            if error.errno not in _BUSY:
                raise
        else:
            return
        if time.monotonic() >= deadline:
            raise LockTimeoutError(
                errno.EAGAIN, f"another process kept this directory locked for {timeout_s:g} s", path
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)


@contextmanager
def _private_lock(path: str, timeout_s: float) -> Generator[None]:
    import tempfile  # noqa: PLC0415 - only where the directory itself cannot be locked

    home = os.path.join(tempfile.gettempdir(), f"holdfast-locks-{os.geteuid()}")
    with suppress(FileExistsError):
        os.mkdir(home, 0o700)
    found = os.lstat(home)
    if not st.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise OSError(errno.EPERM, "the private lock directory is not a directory that only we can write to", home)
    # 256 shared files bound what stays behind; two paths meeting in one only wait for each other.
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:2]
    flags = os.O_RDWR | os.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    handle = os.open(os.path.join(home, name), flags, 0o600)
    try:
        _wait(handle, path, timeout_s)
        yield
    finally:
        os.close(handle)

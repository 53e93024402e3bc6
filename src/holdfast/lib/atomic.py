"""The atomic writer: a file is always wholly old or wholly new, whatever fails and whenever.

Order of a write: temporary file in the same directory, all bytes, owner, attributes and mode of the file it replaces,
fsync; then under the directory's lock the comparison with what the caller saw, and the change of names (by exchange
where the system can: what comes out is looked at once more); then fsync of the directory. The caller judges the path
before; here it is walked by handles, so a link put in later is refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat as st
from contextlib import contextmanager
from enum import Enum
from threading import Thread
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from holdfast.lib import exchange
from holdfast.lib.handles import NotRegularFileError, directory_handle, kind_of, open_regular_at
from holdfast.lib.lock import directory_lock
from holdfast.lib.stamp import Stamp, hash_fd
from holdfast.lib.strays import StrayNotes, discard, make_temp, remove_strays

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

__all__ = [
    "ABSENT",
    "Absent",
    "FileChangedError",
    "StrayNotes",
    "WriteFailedError",
    "Written",
    "lockable",
    "remove_strays",
    "write_atomic",
]

_CHUNK_BYTES = 1024 * 1024
_LARGE_BYTES = 8 * 1024 * 1024
# Set by the kernel or by security modules for the content they vouch for; new content must earn them anew.
_CONTENT_BOUND_XATTRS = {"security.capability", "security.ima", "security.evm"}
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class Absent(Enum):
    """The expectation that no file is there yet."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class WriteFailedError(OSError):
    """The file could not be written; it still holds its old content unless `landed` says otherwise."""

    def __init__(self, cause: OSError, path: str, *, landed: bool) -> None:
        super().__init__(cause.errno or errno.EIO, cause.strerror or str(cause), path)
        self.landed = landed

    def __str__(self) -> str:
        """Name the path, the cause and what is in the file now."""
        state = "the new content is in place, but the disk did not confirm it" if self.landed else "nothing was changed"
        return f"could not write {self.filename!r}: {self.strerror}; {state}"


class FileChangedError(OSError):
    """The file is not what the caller saw any more, so nothing was written."""

    def __init__(self, path: str, how: str) -> None:
        super().__init__(errno.ESTALE, how, path)

    def __str__(self) -> str:
        """Say what happened to the file."""
        return f"{self.filename!r} {self.strerror}; nothing was changed"


class Written(msgspec.Struct, frozen=True):
    """What a write left on disk."""

    path: str
    """The resolved path that now holds the content."""
    stamp: Stamp
    """The new file's stamp, with the hash of its content."""
    created: bool
    """Whether the file is new."""
    notes: tuple[str, ...] = ()
    """What could not be kept, in words."""


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes | bytearray | Iterable[bytes | memoryview],
    *,
    mode: int | None = None,
    expect: Stamp | Absent | None = None,
    links: Literal["follow", "refuse"] = "follow",
    make_parents: bool = False,
    strays: StrayNotes | None = None,
    lock_timeout_s: float = 30.0,
) -> Written:
    """Replace or create a file so that every reader, and every crash, sees the old bytes or the new ones.

    Args:
        path: The file. A symbolic link is followed to its target, which is what gets replaced.
        data: All bytes, or an iterable of parts for content that should not be in memory at once.
        mode: Permission bits; by default those of the replaced file, or 0666 less the umask for a new one.
        expect: What the file must still be at the moment of replacement: a stamp, or `ABSENT`. A caller that keeps the
            stamped file open while writing cannot be fooled by a reused inode number.
        links: `refuse` when the path was already resolved and judged; any link in it is then an error.
        make_parents: Create missing directories.
        strays: Where to note the directory for sweeping after a crash.
        lock_timeout_s: How long to wait for another process that writes in the same directory.

    Raises:
        FileChangedError: The file is not what `expect` says.
        WriteFailedError: Anything else; names the path and the cause.
    """
    real = os.path.realpath(path) if links == "follow" else os.fspath(path)
    parent, name = os.path.split(real)
    progress = _Progress()
    try:
        if not name or name in {".", ".."}:
            raise IsADirectoryError(errno.EISDIR, "the path names a directory", real)
        with directory_handle(parent, create=make_parents) as walked, lockable(walked) as directory:
            if strays is not None:
                strays.note(parent)
            job = _Job(directory, name, real, mode, expect, lock_timeout_s)
            return _write(job, (data,) if isinstance(data, bytes | bytearray) else data, progress)
    except FileChangedError:
        raise
    except OSError as error:
        raise WriteFailedError(error, real, landed=progress.landed) from error


class _Progress(msgspec.Struct):
    landed: bool = False


class _Job(msgspec.Struct, frozen=True):
    directory: int
    name: str
    real: str
    mode: int | None
    expect: Stamp | Absent | None
    lock_timeout_s: float


def _write(job: _Job, parts: Iterable[bytes | bytearray | memoryview], progress: _Progress) -> Written:
    old = _current(job)
    _check_writable(job, old)
    _check_expected(job, old)
    # A new file gets its mode from the umask and the directory's default ACL; a replacement is private until dressed.
    private = old is not None or job.mode is not None
    temp, handle = make_temp(job.directory, 0o600 if private else 0o666)
    try:
        try:
            digest = _fill(handle, parts)
            notes = _dress(job, handle, old)
            os.fsync(handle)
            parent = os.path.dirname(job.real)
            with directory_lock(job.directory, path=parent, timeout_s=job.lock_timeout_s):
                seen = _check_expected(job, _current(job), at_last=True)
                _land(job, temp, handle, seen, progress)
            _sync_directory(job.directory)
            stamp = Stamp.of(os.fstat(handle), sha256=digest)
        finally:
            os.close(handle)
    finally:
        if not progress.landed:
            discard(job.directory, temp)
    return Written(job.real, stamp, created=old is None, notes=notes)


@contextmanager
def lockable(walked: int) -> Generator[int]:
    """Yield a handle that can be locked and synced; a directory we may not list is used by its path handle."""
    try:
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=walked)
    except PermissionError:
        yield walked
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _current(job: _Job) -> os.stat_result | None:
    try:
        found = os.stat(job.name, dir_fd=job.directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not st.S_ISREG(found.st_mode):
        raise NotRegularFileError(job.real, kind_of(found.st_mode))
    return found


def _check_writable(job: _Job, old: os.stat_result | None) -> None:
    # A rename would happily replace a file its owner has made read-only.
    if old is None or os.access(job.name, os.W_OK, dir_fd=job.directory, effective_ids=True):
        return
    raise PermissionError(errno.EACCES, "the file is read-only", job.real)


def _check_expected(job: _Job, now: os.stat_result | None, *, at_last: bool = False) -> os.stat_result | None:
    """Refuse a file that is not what the caller saw; at last a hash decides, because times have their grain.

    Returns the file that was compared; none where none is expected.
    """
    if job.expect is None:
        return None
    if job.expect is ABSENT:
        if now is not None:
            raise FileChangedError(job.real, "was created meanwhile")
        return None
    if now is None:
        raise FileChangedError(job.real, "was removed meanwhile")
    if job.expect.same_state(now) and not (at_last and job.expect.sha256):
        return now
    if job.expect.sha256 is None or job.expect.size != now.st_size:
        raise FileChangedError(job.real, "was changed meanwhile")
    handle = open_regular_at(job.directory, job.name, path=job.real)
    try:
        same, seen = hash_fd(handle) == job.expect.sha256, os.fstat(handle)
        later = _current(job)  # the name may have got another file while this one was read
        if not same or later is None or not os.path.samestat(later, seen):
            raise FileChangedError(job.real, "was changed meanwhile")
        return later
    finally:
        os.close(handle)


def _fill(handle: int, parts: Iterable[bytes | bytearray | memoryview]) -> str:
    if isinstance(parts, list | tuple) and sum(map(len, parts)) >= _LARGE_BYTES:
        return _fill_large(handle, parts)
    digest = hashlib.sha256()
    for part in parts:
        view = memoryview(part).cast("B")
        position = 0
        while position < len(view):
            written = os.write(handle, view[position : position + _CHUNK_BYTES])
            digest.update(view[position : position + written])
            position += written
    return digest.hexdigest()


def _fill_large(handle: int, parts: Sequence[bytes | bytearray | memoryview]) -> str:
    """Write and hash at the same time: both leave the interpreter free, and together they cost half."""
    digest = hashlib.sha256()

    def take_in() -> None:
        for part in parts:
            digest.update(part)

    helper = Thread(target=take_in)
    helper.start()
    try:
        for part in parts:
            view = memoryview(part).cast("B")
            position = 0
            while position < len(view):
                position += os.write(handle, view[position : position + _CHUNK_BYTES])
    finally:
        helper.join()
    return digest.hexdigest()


def _dress(job: _Job, handle: int, old: os.stat_result | None) -> tuple[str, ...]:
    """Give the new file the owner, extended attributes and mode of the old one; returns what could not be kept."""
    if old is None:
        if job.mode is not None:
            os.fchmod(handle, job.mode)
        return ()
    notes: list[str] = []
    mode = st.S_IMODE(old.st_mode) if job.mode is None else job.mode
    if not _keep_owner(handle, old):
        notes.append("the owner could not be kept")
        mode &= ~(st.S_ISUID | st.S_ISGID)  # privileges of another user must not move to us
    if hasattr(os, "listxattr"):
        notes.extend(_keep_xattrs(job, handle))
    os.fchmod(handle, mode)
    return tuple(notes)


def _keep_owner(handle: int, old: os.stat_result) -> bool:
    mine = os.fstat(handle)
    if (mine.st_uid, mine.st_gid) == (old.st_uid, old.st_gid):
        return True
    try:
        os.fchown(handle, old.st_uid, old.st_gid)
    except PermissionError:
        try:
            os.fchown(handle, -1, old.st_gid)
        except PermissionError:
            return False
        return mine.st_uid == old.st_uid
    return True


def _keep_xattrs(job: _Job, handle: int) -> list[str]:
    try:
        source = open_regular_at(job.directory, job.name, path=job.real)
    except PermissionError:
        return ["extended attributes could not be read"]
    lost: list[str] = []
    try:
        for name in os.listxattr(source):
            if name in _CONTENT_BOUND_XATTRS:
                continue
            try:
                os.setxattr(handle, name, os.getxattr(source, name))
            except OSError:
                lost.append(f"extended attribute {name!r} could not be kept")
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    finally:
        os.close(source)
    return lost


def _land(job: _Job, temp: str, handle: int, seen: os.stat_result | None, progress: _Progress) -> None:
    """Give the new file its name; `seen` is the file that has it, if one is expected there."""
    if seen is not None:
        ours = os.fstat(handle)
        if exchange.exchange_names(job.directory, temp, job.name):
            _look_at_what_came_out(job, temp, ours, seen, progress)
            return
        if _current(job) is None:
            raise FileChangedError(job.real, "was removed meanwhile")
    if job.expect is ABSENT:
        try:
            os.link(temp, job.name, src_dir_fd=job.directory, dst_dir_fd=job.directory, follow_symlinks=False)
        except FileExistsError:
            raise FileChangedError(job.real, "was created meanwhile") from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            progress.landed = True
            discard(job.directory, temp)
            return
    os.rename(temp, job.name, src_dir_fd=job.directory, dst_dir_fd=job.directory)
    progress.landed = True


def _look_at_what_came_out(
    job: _Job, temp: str, ours: os.stat_result, seen: os.stat_result, progress: _Progress
) -> None:
    """The last look may have been too early: whatever was saved after it goes back to its name."""
    progress.landed = True
    if not exchange.is_unchanged(job.directory, temp, seen):
        exchange.put_back(job.directory, temp, job.name, ours=ours)
        progress.landed = False
        raise FileChangedError(job.real, "was changed meanwhile")
    discard(job.directory, temp)


def _sync_directory(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError as error:
        # EINVAL: the file system has no such thing; EBADF: a directory we may not list, held by its path only.
        if error.errno not in {errno.EINVAL, errno.EBADF}:
            raise

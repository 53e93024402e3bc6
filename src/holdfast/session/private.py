"""Directories and files that only this user can read, reached by handles so that no planted link is followed.

Every step is an open relative to a directory handle with `O_NOFOLLOW`, and what was opened is judged, not its name.
"""

import errno
import os
import stat as st
from contextlib import suppress

from holdfast.lib import posix
from holdfast.lib.guarded_read import others_may_write
from holdfast.lib.handles import kind_of
from holdfast.session.errors import SessionUnsafe

__all__ = ["open_child_directory", "open_private_directory", "open_private_file"]

_DIRECTORY = os.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
_FILE = posix.O_NOFOLLOW | posix.O_CLOEXEC | posix.O_NONBLOCK | posix.O_NOCTTY
_LINKED = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


def open_private_directory(path: str, *, create: bool = False) -> int:
    """Open a directory of this user's own; its parents may be anybody's, it may not.

    Raises:
        SessionUnsafe: It is a link, belongs to somebody else, or others may write to it.
        FileNotFoundError: It does not exist and `create` is false.
    """
    if create:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
    return _open_directory(path, path, None, create=create)


def open_child_directory(parent: int, name: str, *, path: str, create: bool = False) -> int:
    """Open a private directory by name in an open one; `path` is for messages."""
    return _open_directory(name, path, parent, create=create)


def open_private_file(directory: int, name: str, flags: int, *, path: str) -> int:
    """Open a regular file of mode 0600 by name in an open private directory.

    Raises:
        SessionUnsafe: It is a link or no regular file, has a second name, belongs to somebody else, or others may
            write to it.
        OSError: The system refused.
    """
    try:
        handle = os.open(name, flags | _FILE, 0o600, dir_fd=directory)
    except OSError as error:
        if error.errno in _LINKED or error.errno == errno.ENXIO:
            raise _unsafe("not a regular file of Holdfast but a link or a special file", path) from error
        raise
    try:
        found = os.fstat(handle)
        _judge_file(found, path)
        _judge_owner(handle, found, path, 0o600)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _open_directory(name: str, path: str, parent: int | None, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    try:
        handle = os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in _LINKED:
            raise _unsafe("a directory of Holdfast is needed here, not a link or a file", path) from error
        raise
    try:
        _judge_owner(handle, os.fstat(handle), path, 0o700)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _judge_file(found: os.stat_result, path: str) -> None:
    if not st.S_ISREG(found.st_mode):
        raise _unsafe(f"{kind_of(found.st_mode)}, not a regular file", path)
    if found.st_nlink > 1:
        raise _unsafe("the file has a second name elsewhere (a hard link)", path)


def _judge_owner(handle: int, found: os.stat_result, path: str, mode: int) -> None:
    if found.st_uid != os.geteuid():
        raise _unsafe(f"it belongs to another user (uid {found.st_uid})", path)
    if others_may_write(found):
        raise _unsafe("other users may write to it", path, "Look at what is in it, then take that right away (chmod).")
    if found.st_mode & 0o077:
        os.fchmod(handle, mode)


def _unsafe(reason: str, path: str, advice: str = "Move it away; it may have been planted.") -> SessionUnsafe:
    return SessionUnsafe(reason, path=path, advice=advice)

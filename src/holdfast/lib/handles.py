"""Open files and directories by handle, so that what was judged is what is used.

A resolved path holds no symbolic links. Walking it component by component with `O_NOFOLLOW` therefore fails when
somebody put a link into it after it was judged, and the handle at the end cannot be moved elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat as st
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from holdfast.lib import posix

if TYPE_CHECKING:
    from collections.abc import Generator

_WALK_FLAGS = (posix.O_PATH or os.O_RDONLY) | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
_HAS_HANDLES = posix.has_directory_handles()
_KINDS = {
    st.S_IFDIR: "a directory",
    st.S_IFLNK: "a symbolic link",
    st.S_IFIFO: "a named pipe (FIFO)",
    st.S_IFSOCK: "a socket",
    st.S_IFCHR: "a character device",
    st.S_IFBLK: "a block device",
}


class NotRegularFileError(OSError):
    """The path names something other than a regular file; `kind` says what, in words."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"{kind}, not a regular file", path)
        self.kind = kind


def kind_of(mode: int) -> str:
    """Name the file type of a stat mode in words."""
    return _KINDS.get(st.S_IFMT(mode), "a regular file" if st.S_ISREG(mode) else "an unknown kind of file")


@contextmanager
def directory_handle(real_path: str, *, create: bool = False) -> Generator[int]:
    """Yield a handle on the directory at an absolute, already resolved path; refuses any link on the way.

    Args:
        real_path: The resolved path. A component that is a symbolic link raises `OSError(ELOOP)`.
        create: Make missing directories on the way.
    """
    handle = _walk(real_path, create=create)
    try:
        yield handle
    finally:
        os.close(handle)


def _walk(real_path: str, *, create: bool) -> int:
    if not _HAS_HANDLES:
        raise OSError(errno.ENOSYS, posix.NO_HANDLES, real_path)
    if not os.path.isabs(real_path):
        raise OSError(errno.EINVAL, "not an absolute path", real_path)
    handle = os.open("/", _WALK_FLAGS)
    for name in real_path.split("/"):
        if name in {"", "."}:
            continue
        try:
            deeper = _step(handle, name, real_path, create=create)
        finally:
            os.close(handle)
        handle = deeper
    return handle


def _step(handle: int, name: str, real_path: str, *, create: bool) -> int:
    if name == "..":
        raise OSError(errno.EINVAL, "not a resolved path: it holds '..'", real_path)
    try:
        return os.open(name, _WALK_FLAGS, dir_fd=handle)
    except FileNotFoundError as error:
        if not create:
            raise FileNotFoundError(error.errno, error.strerror, real_path) from None
    except NotADirectoryError as error:
        if st.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "became a symbolic link after it was resolved", real_path) from None
        raise NotADirectoryError(error.errno, error.strerror, real_path) from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, real_path) from None
    with suppress(FileExistsError):  # made by somebody else meanwhile; the open below refuses it if it is a link
        os.mkdir(name, dir_fd=handle)
    return os.open(name, _WALK_FLAGS, dir_fd=handle)


def open_regular_at(directory: int, name: str, *, path: str) -> int:
    """Open a regular file for reading, by name in an open directory; anything else is refused without opening it.

    Raises:
        NotRegularFileError: It is a directory, link, FIFO, socket or device.
        OSError: The system refused, with `path` as its file name.
    """
    try:
        _require_regular(os.stat(name, dir_fd=directory, follow_symlinks=False), path)
        flags = os.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
        handle = os.open(name, flags, dir_fd=directory)
    except NotRegularFileError:
        raise
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None
    try:
        _require_regular(os.fstat(handle), path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _require_regular(found: os.stat_result, path: str) -> None:
    if not st.S_ISREG(found.st_mode):
        raise NotRegularFileError(path, kind_of(found.st_mode))


@contextmanager
def regular_file(real_path: str) -> Generator[int]:
    """Yield a read handle on the regular file at an absolute, already resolved path; refuses any link on the way."""
    parent, name = os.path.split(real_path)
    with directory_handle(parent) as directory:
        handle = open_regular_at(directory, name, path=real_path)
    try:
        yield handle
    finally:
        os.close(handle)

"""Temporary files beside their target, recognised and removed when their writer died.

A living writer holds an advisory lock on its temporary file, which the kernel drops with the process. So a recognised
name whose lock is free is a stray, whatever process numbers say.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat as st
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.lib import posix
from holdfast.lib.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"\.holdfast-[0-9a-f]{16}\.tmp")
_UNLOCKABLE_AGE_S = 3600.0
_OPEN = os.O_RDWR | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC


def is_temp_name(name: str) -> bool:
    """Whether a file name is one of our temporary names."""
    return _NAME.fullmatch(name) is not None


def make_temp(directory: int, mode: int) -> tuple[str, int]:
    """Create a fresh temporary file in an open directory and lock it; returns its name and handle."""
    for _ in range(8):
        name = f".holdfast-{secrets.token_hex(8)}.tmp"
        handle = os.open(name, _OPEN | os.O_CREAT | os.O_EXCL, mode, dir_fd=directory)
        try:
            # A sweeper may have met the file before it was locked; then it holds the lock or has removed the name.
            if try_lock(handle) is not False and os.fstat(handle).st_nlink > 0:
                return name, handle
        except BaseException:
            discard(directory, name)
            os.close(handle)
            raise
        os.close(handle)
        discard(directory, name)
    raise OSError(errno.EAGAIN, "temporary files vanish as fast as they are made")


def discard(directory: int, name: str) -> None:
    """Remove a temporary file if it is still there; a failure here must not hide the error that led to it."""
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)


def remove_strays(directory: str) -> list[str]:
    """Remove the temporary files that dead writers left in a directory; returns their names."""
    removed: list[str] = []
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if is_temp_name(entry.name)]
        if not names:
            return removed
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return removed  # gone or unreadable: nothing of ours that we could remove
    try:
        removed.extend(name for name in names if _remove_stray(handle, name))
    finally:
        os.close(handle)
    return removed


def _remove_stray(directory: int, name: str) -> bool:
    try:
        handle = os.open(name, _OPEN, dir_fd=directory)
    except OSError:
        return False
    try:
        found = os.fstat(handle)
        if not st.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return False
        locked = try_lock(handle)
        if locked is None:
            locked = time.time() - found.st_mtime > _UNLOCKABLE_AGE_S
        if not locked:
            return False
        os.unlink(name, dir_fd=directory)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


class StrayNotes:
    """Remembers, in a private directory, where this process writes, so that the next start can sweep after a crash."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._handle: int | None = None
        self._path = ""
        self._noted: set[str] = set()

    def note(self, directory: str) -> None:
        """Record that a temporary file may soon exist in a directory; costs one short write per directory."""
        if directory in self._noted:
            return
        if self._handle is None:
            os.makedirs(self._home, mode=0o700, exist_ok=True)
            home = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                name = f"writing-{secrets.token_hex(8)}"
                handle = os.open(name, _OPEN | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600, dir_fd=home)
            finally:
                os.close(home)
            try_lock(handle)
            self._handle, self._path = handle, os.path.join(self._home, name)
        os.write(self._handle, os.fsencode(directory) + b"\0")
        self._noted.add(directory)

    def close(self) -> None:
        """Forget the notes of this process after a clean end."""
        if self._handle is not None:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._handle)
            self._handle = None
            self._noted.clear()

    def recover(self) -> list[str]:
        """Sweep the directories noted by processes that are gone; returns the paths of the removed files."""
        removed: list[str] = []
        try:
            names = [name for name in os.listdir(self._home) if name.startswith("writing-")]
        except OSError:
            return removed
        for name in names:
            path = os.path.join(self._home, name)
            if path != self._path:
                removed.extend(self._recover_one(path))
        return removed

    def _recover_one(self, path: str) -> list[str]:
        try:
            handle = os.open(path, _OPEN)
        except OSError:
            return []
        try:
            if not try_lock(handle):
                return []
            size = os.fstat(handle).st_size
            directories = [os.fsdecode(part) for part in os.pread(handle, size, 0).split(b"\0") if part]
            removed = list(_sweep(directories))
            os.unlink(path)
        except OSError:
            return []
        finally:
            os.close(handle)
        return removed


def _sweep(directories: Iterable[str]) -> Iterable[str]:
    for directory in directories:
        for name in remove_strays(directory):
            yield os.path.join(directory, name)

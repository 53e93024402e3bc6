"""Stamps: what a file was when it was looked at, and whether it still is.

A hash decides wherever one was taken, so a touched but identical file stays fresh. Without one, identity, size and
times decide, and any difference counts as a change.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

CHUNK_BYTES = 256 * 1024


class Stamp(msgspec.Struct, frozen=True):
    """A file at one moment."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str | None = None
    """Hash of the whole content, when all of it was read."""

    @classmethod
    def of(cls, stat: os.stat_result, *, sha256: str | None = None) -> Stamp:
        """Stamp a file by its stat result and, if known, the hash of its content."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, sha256)

    def same_state(self, stat: os.stat_result) -> bool:
        """Whether identity, size and times all agree with a new stat result."""
        mine = (self.dev, self.ino, self.size, self.mtime_ns, self.ctime_ns)
        return mine == (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def hash_bytes(data: bytes | memoryview) -> str:
    """Hash bytes as stamps do."""
    return hashlib.sha256(data).hexdigest()


def hash_parts(parts: Iterable[bytes | memoryview]) -> str:
    """Hash content given in parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def hash_fd(fd: int, *, start: int = 0, end: int | None = None) -> str:
    """Hash an open file, or its bytes `start:end`, in bounded memory and without moving its position."""
    digest = hashlib.sha256()
    position = start
    while True:
        wanted = CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - position)
        if wanted <= 0 or not (chunk := os.pread(fd, wanted, position)):
            return digest.hexdigest()
        digest.update(chunk)
        position += len(chunk)


def is_fresh(stamp: Stamp, fd: int) -> bool:
    """Whether an open file is still what the stamp says; a whole hash decides if there is one."""
    stat = os.fstat(fd)
    if stamp.sha256 is None:
        return stamp.same_state(stat)
    return stat.st_size == stamp.size and hash_fd(fd) == stamp.sha256

"""Stamps: what a file was when it was looked at, and whether it still is.

A hash decides wherever one was taken, so a touched but identical file stays fresh. A large file of which only a window
was shown has no whole hash; then identity and times decide, and any difference counts as a change.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import Literal

CHUNK_BYTES = 256 * 1024

Freshness = Literal["same", "touched", "changed"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file at one moment."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str | None = None
    """Hash of the whole content, when all of it was read."""
    shown_from: int = 0
    """First byte of the part that was shown."""
    shown_to: int | None = None
    """Byte after the part that was shown; None means nothing in particular was shown."""
    shown_sha256: str | None = None
    """Hash of the bytes `shown_from:shown_to`."""
    whole: bool = False
    """Whether the whole content was shown, which is what replacing the file needs."""

    @classmethod
    def of(cls, stat: os.stat_result, *, sha256: str | None = None, whole: bool = False) -> Stamp:
        """Stamp a file by its stat result and, if known, the hash of its content."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, sha256, whole=whole)

    def showing(self, start: int, end: int, *, sha256: str) -> Stamp:
        """Return this stamp with the window of bytes that was shown."""
        return replace(self, shown_from=start, shown_to=end, shown_sha256=sha256)

    def same_state(self, stat: os.stat_result) -> bool:
        """Whether identity, size and times all agree with a new stat result."""
        mine = (self.dev, self.ino, self.size, self.mtime_ns, self.ctime_ns)
        return mine == (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def hash_fd(fd: int) -> str:
    """Hash a whole open file from its start, in bounded memory, without moving its position."""
    digest = hashlib.sha256()
    position = 0
    while chunk := os.pread(fd, CHUNK_BYTES, position):
        digest.update(chunk)
        position += len(chunk)
    return digest.hexdigest()


def hash_window(fd: int, start: int, end: int) -> str:
    """Hash the bytes `start:end` of an open file; a file that ends earlier gives the hash of what there is."""
    digest = hashlib.sha256()
    position = start
    while position < end and (chunk := os.pread(fd, min(CHUNK_BYTES, end - position), position)):
        digest.update(chunk)
        position += len(chunk)
    return digest.hexdigest()


def freshness(stamp: Stamp, fd: int) -> Freshness:
    """Compare a stamp with the open file: `same`, `touched` (other times, equal content) or `changed`.

    With a whole hash the content is read and decides. Without one, equal state and an equal shown window mean `same`,
    and anything else means `changed`, because nothing could prove the rest equal.
    """
    stat = os.fstat(fd)
    same_state = stamp.same_state(stat)
    if stamp.sha256 is not None:
        if stat.st_size != stamp.size or hash_fd(fd) != stamp.sha256:
            return "changed"
        return "same" if same_state else "touched"
    if not same_state:
        return "changed"
    if stamp.shown_to is None or stamp.shown_sha256 is None:
        return "same"
    return "same" if hash_window(fd, stamp.shown_from, stamp.shown_to) == stamp.shown_sha256 else "changed"

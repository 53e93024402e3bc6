"""What the model has seen of a file, and whether that still holds.

The rules are shared by all tools that show or change files; a shell command that is proven to print one file (`cat`,
`head`, `sed -n`) counts as a read by `note_read`.
"""

import os
from collections.abc import Callable
from threading import Thread

from holdfast.contract import FileRead, FileStamp, ToolContext, ToolFailed
from holdfast.lib.handles import regular_file
from holdfast.lib.stamp import Stamp, hash_bytes, hash_fd

HASHED_BYTES = 8 * 1024 * 1024
"""Up to this size the whole content is hashed even when only a part is shown: it costs a few milliseconds."""


def stamp_read(
    fd: int, *, shown: tuple[int, int], window: tuple[int, int], whole: bool, before: FileStamp | None
) -> FileStamp:
    """Stamp a file of which some bytes were just shown; parts shown one after the other add up to the whole."""
    facts = os.fstat(fd)
    known = before if before is not None and _same_state(before, facts) else None
    if known is not None and not known.whole and known.shown[0] <= shown[1] and shown[0] <= known.shown[1]:
        shown = (min(shown[0], known.shown[0]), max(shown[1], known.shown[1]))
    whole = whole or (known is not None and known.whole) or (shown[0] == 0 and shown[1] >= facts.st_size)
    if whole:
        shown = (0, facts.st_size)
    digest = hash_fd(fd, start=shown[0], end=shown[1])
    content = digest if whole else hash_fd(fd) if facts.st_size <= HASHED_BYTES else None
    return _stamp(facts, digest, whole=whole)._replace(content_sha256=content, shown=shown, window=window)


def note_read(path: str, *, shown: tuple[int, int] | None = None, before: FileStamp | None = None) -> FileRead | None:
    """Say that bytes of a file were shown by other means than Read; None if it is no regular file any more.

    Args:
        path: The resolved path.
        shown: Which bytes, from and to; all of them if omitted.
        before: What was known of the file.
    """
    try:
        with regular_file(path) as handle:
            window = shown or (0, os.fstat(handle).st_size)
            stamp = stamp_read(handle, shown=window, window=(0, 0), whole=shown is None, before=before)
    except OSError:
        return None
    return FileRead(path, stamp._replace(window=None))


def stamp_written(written: Stamp, *, whole: bool) -> FileStamp:
    """Stamp a file that a tool has just written; nothing of the new state was shown yet, so a read will show it."""
    digest = written.sha256 or ""
    return FileStamp(
        written.dev,
        written.ino,
        written.size,
        written.mtime_ns,
        digest,
        whole,
        ctime_ns=written.ctime_ns,
        content_sha256=digest,
        shown=(0, written.size),
    )


def _stamp(facts: os.stat_result, sha256: str, *, whole: bool) -> FileStamp:
    return FileStamp(
        facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, sha256, whole, ctime_ns=facts.st_ctime_ns
    )


def _same_state(stamp: FileStamp, facts: os.stat_result) -> bool:
    return (stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns or facts.st_ctime_ns) == (
        facts.st_dev,
        facts.st_ino,
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_ctime_ns,
    )


def is_unchanged(stamp: FileStamp, fd: int, data: bytes | None = None) -> bool:
    """Whether an open file is still what the stamp says: a whole hash decides, else state and the part shown."""
    facts = os.fstat(fd)
    content = stamp.sha256 if stamp.whole else stamp.content_sha256
    if content is not None:
        if facts.st_size != stamp.size:
            return False
        return (hash_bytes(data) if data is not None else hash_fd(fd)) == content
    return _same_state(stamp, facts) and hash_fd(fd, start=stamp.shown[0], end=stamp.shown[1]) == stamp.sha256


def found_unchanged(stamp: FileStamp, fd: int, data: bytes) -> Callable[[], bool]:
    """As `is_unchanged` for the bytes of the file, answered when asked; many bytes are hashed beside other work."""
    content = stamp.sha256 if stamp.whole else stamp.content_sha256
    if content is None or len(data) < HASHED_BYTES or len(data) != stamp.size:
        same = is_unchanged(stamp, fd, data)
        return lambda: same
    found: list[str] = []
    helper = Thread(target=lambda: found.append(hash_bytes(data)))
    helper.start()

    def ask() -> bool:
        helper.join()
        return found == [content]

    return ask


def require_read(ctx: ToolContext, path: str, shown_as: str, *, whole: bool) -> FileStamp:
    """Return the stamp of a file that the model has seen, enough of it for what it wants to do.

    Raises:
        ToolFailed: With code 2, if it has not.
    """
    stamp = ctx.file_reads.get(path)
    if stamp is None:
        raise ToolFailed(f"{shown_as!r} has not been read yet; Read it first, then try again", error_code=2)
    if whole and not stamp.whole:
        raise ToolFailed(
            f"only a part of {shown_as!r} has been read, and replacing the file needs all of it; "
            "Read the rest, or change the part you know with Edit",
            error_code=2,
        )
    return stamp


def stale(shown_as: str) -> ToolFailed:
    """Return the error for a file that changed behind the model's back."""
    return ToolFailed(
        f"{shown_as!r} was changed since it was read, by the user or another program; Read it again, then try again",
        error_code=3,
    )

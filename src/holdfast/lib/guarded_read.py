"""Read a small file that somebody else may have put there: regular files only, bounded, never hanging.

A FIFO would block, a device may act when opened, a link may lead anywhere, a huge file fills the memory. So: look
before opening, open without blocking, look again at what was opened, read a bounded amount.
"""

import errno
import io
import os
import select
import stat
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Owner = Literal["anyone", "me"]
_QUIET = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
"""Opens without waiting for anybody, and without becoming anybody's terminal."""


class ReadRefusedError(OSError):
    """The file exists but must not be read; the message says why and what to do."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, path)
        self.reason = reason


def read_guarded(path: str, *, limit_bytes: int, owner: Owner = "anyone", follow: bool = True) -> bytes | None:
    """Return the content of a regular file, or None when nothing has that name.

    Args:
        path: The file.
        limit_bytes: A longer file is refused.
        owner: `me` also demands that the file and the link to it belong to this user or to root, and that nobody else
            may write to it or put another file in its place.
        follow: Whether a symbolic link in the last component may lead elsewhere.

    Raises:
        ReadRefusedError: The file is not regular, too long, a link that must not be followed, or not safely owned.
        OSError: The system refused.
    """
    found = _look(path, owner=owner, follow=follow)
    if found is None:
        return None
    handle = os.open(path, _QUIET if follow else _QUIET | getattr(os, "O_NOFOLLOW", 0))
    try:
        opened = os.fstat(handle)
        _check(path, opened, owner)
        if opened.st_size > limit_bytes:
            raise ReadRefusedError(path, f"it has {opened.st_size} bytes, more than the limit of {limit_bytes}")
        # Files of /proc and the like call themselves empty; reading some of them has effects.
        return _drain(handle, path, limit_bytes) if opened.st_size else b""
    finally:
        os.close(handle)


def read_named(path: str, *, limit_bytes: int) -> bytes:
    """Return the content of a file or pipe that the user named; see `open_named`. More than the limit is refused.

    Raises:
        ReadRefusedError: It is too long, or nothing that `open_named` opens.
        OSError: Nothing has that name, or the system refused.
    """
    with open_named(path) as file:
        parts: list[bytes] = []
        total = 0
        while chunk := file.read(1 << 20):
            parts.append(chunk)
            total += len(chunk)
            if total > limit_bytes:
                raise ReadRefusedError(path, f"it has more than {limit_bytes} bytes")
        return b"".join(parts)


def open_named(path: str, *, patience_s: float = 1.0) -> io.BufferedReader:
    """Open a file or pipe that the user named, such as `/dev/stdin` or what `<(...)` stands for.

    A pipe is read as long as somebody holds its other end; one that nobody writes to is refused by the first read.

    Args:
        path: The file or pipe.
        patience_s: How long the writer of a pipe may take to appear.

    Raises:
        ReadRefusedError: It is a device or a socket.
        OSError: Nothing has that name, or the system refused.
    """
    _check_named(path, os.stat(path).st_mode)  # a device may act when it is opened
    handle = os.open(path, _QUIET)
    try:
        kind = os.fstat(handle).st_mode
        _check_named(path, kind)
        if stat.S_ISFIFO(kind):
            return io.BufferedReader(_Pipe(handle, path, patience_s))
        return open(path, "rb", opener=lambda _path, _flags: handle)
    except OSError:
        os.close(handle)
        raise


def _check_named(path: str, kind: int) -> None:
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
        raise ReadRefusedError(path, "it is neither a file nor a pipe")


class _Pipe(io.RawIOBase):
    """The reading end of a pipe, opened without blocking: a plain open of one without a writer never returns."""

    def __init__(self, handle: int, path: str, patience_s: float) -> None:
        self._handle = handle
        self.name = path
        self._patience_s = patience_s
        self._has_writer = False
        """Somebody wrote, or could have: from now on nothing to read is the end."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while True:
            try:
                count = os.readv(self._handle, [buffer])
            except BlockingIOError:  # nothing yet, but somebody holds the other end
                self._has_writer = True
                self._is_ready_within(None)
                continue
            if count or self._has_writer:
                self._has_writer = True
                return count
            if self._patience_s <= 0:
                raise ReadRefusedError(
                    self.name, "it is a pipe that nobody writes to; name a file, or start what writes first"
                )
            # Who comes and does not write in that time is seen by the next look.
            self._has_writer = self._is_ready_within(self._patience_s)
            self._patience_s = 0.0

    def _is_ready_within(self, timeout_s: float | None) -> bool:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))

    def close(self) -> None:
        if not self.closed:
            os.close(self._handle)
        super().close()


def _look(path: str, *, owner: Owner, follow: bool) -> os.stat_result | None:
    try:
        named = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if owner == "me":
        _check_directory(path)
    if not stat.S_ISLNK(named.st_mode):
        _check(path, named, owner)
        return named
    if not follow:
        raise ReadRefusedError(path, "it is a symbolic link, which is not followed here")
    if owner == "me" and not is_mine(named):
        raise ReadRefusedError(path, f"it is a symbolic link made by another user (uid {named.st_uid})")
    try:
        target = os.stat(path)
    except FileNotFoundError:
        raise ReadRefusedError(path, "it is a symbolic link to something that does not exist") from None
    _check(path, target, owner)
    return target


def _check(path: str, found: os.stat_result, owner: Owner) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ReadRefusedError(path, "it is not a regular file")
    if owner == "anyone":
        return
    if not is_mine(found):
        raise ReadRefusedError(path, f"it belongs to another user (uid {found.st_uid})")
    if others_may_write(found):
        raise ReadRefusedError(path, "other users may write to it; take that right away (chmod go-w)")


def _check_directory(path: str) -> None:
    place = os.path.dirname(path) or "."
    found = os.stat(place)
    if others_may_write(found) and not found.st_mode & stat.S_ISVTX:
        raise ReadRefusedError(
            path, f"other users may write to its directory; take that right away (chmod go-w {place!r})"
        )


def is_mine(found: os.stat_result) -> bool:
    """Whether a file belongs to this user or to root."""
    return not hasattr(os, "geteuid") or found.st_uid in {0, os.geteuid()}


def others_may_write(found: os.stat_result) -> bool:
    """Whether somebody other than the owner may write. A user's private group (same number) is that user."""
    if os.name == "nt":
        return False
    private_group = found.st_gid == found.st_uid and found.st_uid != 0
    return bool(found.st_mode & (0o002 if private_group else 0o022))


def _drain(handle: int, path: str, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while chunk := os.read(handle, 1 << 20):
        parts.append(chunk)
        total += len(chunk)
        if total > limit_bytes:
            raise ReadRefusedError(path, f"it has more than {limit_bytes} bytes")
    return b"".join(parts)

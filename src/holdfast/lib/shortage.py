"""When the machine has run out of something: which thing, in words, so that nobody looks for a bug instead."""

import errno
import os

__all__ = ["shortage"]

_WORDS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "your disk quota is used up; free some space and try again",
    errno.EMFILE: "this program may open no more files; raise the limit (`ulimit -n`) and try again",
    errno.ENFILE: "the system can open no more files; close other programs and try again",
    errno.ENOMEM: "there is not enough memory; close other programs, or raise the limit (`ulimit -v`), and try again",
    errno.EROFS: "the file system is read-only; choose a place that can be written",
}
_NO_PROCESS = "the system starts no more processes or threads; raise the limits (`ulimit -u`, `ulimit -v`)"
_ABOUT_A_PLACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_DEPTH = 20


def shortage(error: BaseException | None) -> str | None:
    """What the machine has run out of, where that is the reason of an error or of one that led to it."""
    for _ in range(_DEPTH):
        if error is None:
            return None
        words = _of(error)
        if words is not None:
            return words
        error = error.__cause__ or error.__context__
    return None


def _of(error: BaseException) -> str | None:
    if isinstance(error, OSError):
        if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN:  # a fork that found no room
            return _NO_PROCESS
        words = _WORDS.get(error.errno or 0)
        names = error.errno in _ABOUT_A_PLACE and isinstance(error.filename, str | bytes)
        return words if words is None or not names else f"{os.fsdecode(error.filename)!r}: {words}"
    if isinstance(error, MemoryError):
        return _WORDS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return _NO_PROCESS
    if isinstance(error, ImportError) and ("map segment" in str(error) or "allocate memory" in str(error)):
        return _WORDS[errno.ENOMEM]
    return None

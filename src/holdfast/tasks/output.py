"""What a task has written so far: both ends of its file, in bounded memory."""

import os
import stat
from typing import NamedTuple

__all__ = ["TaskText", "read_output"]

_CHAR_BYTES = 4


class TaskText(NamedTuple):
    """A part of a task's output."""

    text: str
    total_bytes: int
    left_out_bytes: int


def read_output(path: str, limit_chars: int) -> TaskText:
    """Both ends of an output file; an empty text when there is none yet."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return TaskText("", 0, 0)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return TaskText("", 0, 0)
        return _both_ends(handle, found.st_size, limit_chars)
    finally:
        os.close(handle)


def _both_ends(handle: int, size: int, limit_chars: int) -> TaskText:
    if size <= limit_chars * _CHAR_BYTES:
        text = os.pread(handle, size, 0).decode("utf-8", "replace")
        if len(text) <= limit_chars:
            return TaskText(text, size, 0)
    half = limit_chars // 2
    head = os.pread(handle, half * _CHAR_BYTES, 0).decode("utf-8", "ignore")[:half]
    start = max(0, size - half * _CHAR_BYTES)
    tail = os.pread(handle, half * _CHAR_BYTES, start).decode("utf-8", "ignore")[-half:]
    shown = len(head.encode()) + len(tail.encode())
    left_out = max(0, size - shown)
    return TaskText(f"{head}\n\n[… {left_out:,} of {size:,} bytes are left out here …]\n\n{tail}", size, left_out)

"""Take a name over so that what stood there comes out again and can be looked at (Linux: `renameat2`).

A rename destroys whatever has the name at that moment, and a look before it may be too early. Two names that are
exchanged in one step lose nothing: the file that comes out is the one that was looked at, or it goes back.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exchange_names", "is_unchanged", "put_back"]

_RENAME_EXCHANGE = 2
_ROUNDS = 100
"""So many further saves are followed while ours is taken back; each would have to fall between two system calls."""


def exchange_names(directory: int, first: str, second: str) -> bool:
    """Exchange two names of one directory in one step; false where that cannot be done."""
    call = _find_call()
    return call is not None and call(directory, os.fsencode(first), directory, os.fsencode(second)) == 0


@cache
def _find_call() -> Callable[[int, bytes, int, bytes], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        import _ctypes  # noqa: PLC0415 - the C half of `ctypes`: a tenth of the cost of the whole

        # None is this program itself; the stub does not know it.
        address = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "renameat2")  # pyright: ignore[reportArgumentType]
    except (ImportError, AttributeError, OSError):
        return None

    def call(old: int, first: bytes, new: int, second: bytes) -> int:
        return int(_ctypes.call_cdeclfunction(address, (old, first, new, second, _RENAME_EXCHANGE)))

    return call


def is_unchanged(directory: int, name: str, seen: os.stat_result) -> bool:
    """Whether the file that came out under a name is the one that was looked at before, and still as it was."""
    found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    return _state(found) == _state(seen)


def put_back(directory: int, temp: str, name: str, *, ours: os.stat_result) -> None:
    """Give a name back to the file that came out under a temporary one; what was saved there since is newer and stands.

    Args:
        directory: The directory of both.
        temp: The temporary name. What has it in the end is of no use to anybody.
        name: The name.
        ours: The file that was given the name, as it was then.
    """
    met = ours
    for _ in range(_ROUNDS):
        put = os.stat(temp, dir_fd=directory, follow_symlinks=False)
        if not exchange_names(directory, temp, name):
            os.rename(temp, name, src_dir_fd=directory, dst_dir_fd=directory)
            return
        if is_unchanged(directory, temp, met):
            return
        met = put


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    """What a change of name leaves as it is."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

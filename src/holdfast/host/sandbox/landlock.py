"""Landlock: the kernel's own rules about which files a program may change, whatever it does with mounts.

It only grants: below a directory everything or nothing. So it is the second wall behind the mounts, which know
exceptions; by itself it keeps a command from writing elsewhere and from the network, and can hide or fix nothing that
lies where the command may write.
"""

import ctypes
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["LEAST", "Grant", "Rights", "grants_for", "landlock_version", "rights_of"]

LEAST: Final = 3
"""The version that knows renames between directories and the cutting of files."""
_CREATE_RULESET: Final = 444
_ASKS_VERSION: Final = 1
_WRITE, _REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_FILE = (1 << bit for bit in (1, 4, 5, 6, 7, 8))
_MAKE_SOCKET, _MAKE_PIPE, _MAKE_BLOCK, _MAKE_LINK, _REFER, _CUT, _DEVICES = (1 << bit for bit in range(9, 16))
_CHANGES: Final = (
    _WRITE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_CHAR | _MAKE_DIR | _MAKE_FILE | _MAKE_SOCKET | _MAKE_PIPE
    | _MAKE_BLOCK | _MAKE_LINK | _REFER | _CUT
)  # fmt: skip
_TCP: Final = 3
"""To listen, and to connect."""
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_DEVICE_NAMES: Final = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
    "/dev/shm", "/dev/console",  # noqa: S108 - where processes share memory
)  # fmt: skip


class Rights(NamedTuple):
    """What is refused unless granted, as the kernel takes it."""

    files: int
    network: int = 0
    scopes: int = 0
    size: int = 8
    """Bytes of all this that the kernel knows."""


class Grant(NamedTuple):
    """What may be done below one path."""

    path: str
    rights: int


@lru_cache(maxsize=1)
def landlock_version() -> int:
    """Which version the kernel has; 0: none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return 0
    found = int(call(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASKS_VERSION))
    return max(found, 0)


def rights_of(version: int, *, network: bool = False, sockets: bool = False) -> Rights:
    """What is refused by this version of the kernel's rules.

    Args:
        version: Of `landlock_version`.
        network: Refuse TCP as well, where no network of its own keeps the command from it.
        sockets: Abstract Unix sockets of others may be reached.
    """
    files = _CHANGES | (_DEVICES if version >= 5 else 0)
    tcp = _TCP if network and version >= 4 else 0
    scopes = (_SIGNALS | (0 if sockets else _ABSTRACT_SOCKETS)) if version >= 6 else 0
    return Rights(files, tcp, scopes, 24 if version >= 6 else 16 if version >= 4 else 8)


def grants_for(rights: Rights, writable: Iterable[str], *, also: Iterable[str] = ()) -> list[Grant]:
    """Everything below the writable paths, and the devices that every program needs.

    Args:
        rights: What is refused otherwise.
        writable: Directories and files.
        also: Directories in which existing files may be written, such as /proc.
    """
    in_files = rights.files & (_WRITE | _CUT | _DEVICES)
    below = rights.files & ~(_MAKE_CHAR | _MAKE_BLOCK)
    found = [Grant(path, below if os.path.isdir(path) else in_files) for path in writable]
    found += [Grant(path, rights.files & (_WRITE | _CUT)) for path in also]
    return [*found, *(Grant(path, _of_device(path, rights)) for path in _DEVICE_NAMES)]


def _of_device(path: str, rights: Rights) -> int:
    if path.endswith("/shm"):
        return rights.files & ~(_MAKE_CHAR | _MAKE_BLOCK)
    return rights.files & (_WRITE | _CUT | _DEVICES)

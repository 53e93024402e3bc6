"""Which files does a git index name, and which of them are repositories of their own? Read from the file alone."""

import os
import stat
import struct
from functools import lru_cache
from typing import NamedTuple

from holdfast.lib.git_config_text import ConfigUnreadableError

_KIND_OF_MODE = 0o170000
_LINK_MODE = 0o160000
_LONG_NAME = 0xFFF
_MODE_AND_FLAGS = struct.Struct(">24xL32xH")
_LARGEST_BYTES = 256_000_000


class _State(NamedTuple):
    """An index file, and what tells its states apart; no program can set the time of a change."""

    path: str
    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


def gitlinks(git_dir: str) -> tuple[str, ...]:
    """Return the paths that the index in this git directory names as submodules."""
    state = _state(git_dir)
    return () if state is None else _read_links(state)


def tracked_names(git_dir: str, chunks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tracked paths that hold one of these texts."""
    state = _state(git_dir)
    return () if state is None else _read_names(state, chunks)


def _state(git_dir: str) -> _State | None:
    path = os.path.join(git_dir, "index")
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return None
    if any(name.startswith("sharedindex.") for name in os.listdir(git_dir)):
        raise ConfigUnreadableError("the index is split over several files")
    if info.st_size > _LARGEST_BYTES or not stat.S_ISREG(info.st_mode):
        raise ConfigUnreadableError("the index is too large, or no regular file")
    return _State(path, info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)


@lru_cache(maxsize=32)
def _read_links(state: _State) -> tuple[str, ...]:
    with open(state.path, "rb") as file:
        data = file.read()
    # Any permissions may stand beside the kind of an entry, so that no search through the bytes can rule links out.
    return tuple(os.fsdecode(name) for mode, name in _entries(data) if mode & _KIND_OF_MODE == _LINK_MODE)


@lru_cache(maxsize=32)
def _read_names(state: _State, chunks: tuple[str, ...]) -> tuple[str, ...]:
    with open(state.path, "rb") as file:
        data = file.read()
    parts = [os.fsencode(chunk) for chunk in chunks]
    whole = data[4:8] in (b"\0\0\0\2", b"\0\0\0\3")  # later versions leave out what a name shares with the last
    if whole and not any(part in data for part in parts):
        return ()
    return tuple(os.fsdecode(name) for _, name in _entries(data) if any(part in name for part in parts))


def _entries(data: bytes) -> list[tuple[int, bytes]]:
    try:
        return _walk(data)
    except (struct.error, ValueError, IndexError) as problem:
        raise ConfigUnreadableError(f"the index is not understood: {problem}") from problem


def _walk(data: bytes) -> list[tuple[int, bytes]]:
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ConfigUnreadableError("the index has an unknown version")
    walk = _walk_packed if version == 4 else _walk_whole
    return walk(data, count, longer=0x4000 if version >= 3 else 0)


def _walk_whole(data: bytes, count: int, *, longer: int) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    at, read, find = 12, _MODE_AND_FLAGS.unpack_from, data.index
    for _ in range(count):
        mode, flags = read(data, at)
        start = at + (64 if flags & longer else 62)
        end = find(b"\0", start)
        _check_length(end - start, flags)
        found.append((mode, data[start:end]))
        at += (end - at + 8) & ~7
    return found


def _walk_packed(data: bytes, count: int, *, longer: int) -> list[tuple[int, bytes]]:
    """Read version 4, whose names leave out what they share with the one before."""
    found: list[tuple[int, bytes]] = []
    at, name = 12, b""
    for _ in range(count):
        mode, flags = _MODE_AND_FLAGS.unpack_from(data, at)
        strip, start = _varint(data, at + (64 if flags & longer else 62))
        if strip > len(name):
            raise ConfigUnreadableError("the index shortens a name by more than it has")
        end = data.index(b"\0", start)
        name = name[: len(name) - strip] + data[start:end]
        _check_length(len(name), flags)
        found.append((mode, name))
        at = end + 1
    return found


def _check_length(length: int, flags: int) -> None:
    """Refuse a name of another length than its entry tells, by which git finds the next: it would see other entries."""
    told = flags & _LONG_NAME
    if told != length and (told != _LONG_NAME or length < _LONG_NAME):
        raise ConfigUnreadableError("the index has a name of another length than it tells")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value = byte & 127
    while byte & 128:
        byte = data[at]
        at += 1
        value = ((value + 1) << 7) + (byte & 127)
    return value, at

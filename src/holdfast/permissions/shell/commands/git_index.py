"""Which files does a git index name, and which of them are repositories of their own? Read from the file alone."""

import os
import struct
from functools import lru_cache

from holdfast.permissions.shell.commands.git_config_text import ConfigUnreadableError

_GITLINK = b"\x00\x00\xe0\x00"
_LINK_MODE = 0o160000
_LARGEST_BYTES = 256_000_000


def gitlinks(git_dir: str) -> tuple[str, ...]:
    """Return the paths that the index in this git directory names as submodules."""
    state = _state(git_dir)
    return () if state is None else _read_links(*state)


def tracked_names(git_dir: str, chunks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tracked paths that hold one of these texts."""
    state = _state(git_dir)
    return () if state is None else _read_names(*state, chunks)


def _state(git_dir: str) -> tuple[str, int, int, int] | None:
    """The index file and what tells its states apart, or None when there is none."""
    path = os.path.join(git_dir, "index")
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return None
    if any(name.startswith("sharedindex.") for name in os.listdir(git_dir)):
        raise ConfigUnreadableError("the index is split over several files")
    if info.st_size > _LARGEST_BYTES:
        raise ConfigUnreadableError("the index is too large")
    return path, info.st_mtime_ns, info.st_size, info.st_ino


@lru_cache(maxsize=32)
def _read_links(path: str, _mtime_ns: int, _size: int, _inode: int) -> tuple[str, ...]:
    """Read one state of the file; the unused arguments make the cache forget older states."""
    with open(path, "rb") as file:
        data = file.read()
    if _GITLINK not in data:
        return ()
    return tuple(name for mode, name in _entries(data) if mode == _LINK_MODE)


@lru_cache(maxsize=32)
def _read_names(path: str, _mtime_ns: int, _size: int, _inode: int, chunks: tuple[str, ...]) -> tuple[str, ...]:
    with open(path, "rb") as file:
        data = file.read()
    whole = data[4:8] in (b"\0\0\0\2", b"\0\0\0\3")  # later versions leave out what a name shares with the last
    if whole and not any(os.fsencode(chunk) in data for chunk in chunks):
        return ()
    return tuple(name for _, name in _entries(data) if any(chunk in name for chunk in chunks))


def _entries(data: bytes) -> list[tuple[int, str]]:
    try:
        return _walk(data)
    except (struct.error, ValueError) as problem:
        raise ConfigUnreadableError(f"the index is not understood: {problem}") from problem


def _walk(data: bytes) -> list[tuple[int, str]]:
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ConfigUnreadableError("the index has an unknown version")
    hash_bytes = 20
    found: list[tuple[int, str]] = []
    at, name = 12, b""
    for _ in range(count):
        start = at
        mode, flags = (
            struct.unpack_from(">L", data, at + 24)[0],
            struct.unpack_from(">H", data, at + 40 + hash_bytes)[0],
        )
        at += 42 + hash_bytes + (2 if version >= 3 and flags & 0x4000 else 0)
        keep = 0
        if version == 4:
            strip, at = _varint(data, at)
            keep = len(name) - strip
        end = data.index(b"\0", at)
        name = name[:keep] + data[at:end]
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        found.append((mode, os.fsdecode(name)))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value = byte & 127
    while byte & 128:
        byte = data[at]
        at += 1
        value = ((value + 1) << 7) + (byte & 127)
    return value, at

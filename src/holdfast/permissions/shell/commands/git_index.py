"""Which directories does a git index name as repositories of their own? Read from the file, git never runs."""

import os
import struct
from functools import lru_cache

from holdfast.permissions.shell.commands.git_config_text import ConfigUnreadableError

_GITLINK = b"\x00\x00\xe0\x00"
_LARGEST_BYTES = 256_000_000


def gitlinks(git_dir: str) -> tuple[str, ...]:
    """Return the paths that the index in this git directory names as submodules."""
    path = os.path.join(git_dir, "index")
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return ()
    if any(name.startswith("sharedindex.") for name in os.listdir(git_dir)):
        raise ConfigUnreadableError("the index is split over several files")
    if info.st_size > _LARGEST_BYTES:
        raise ConfigUnreadableError("the index is too large")
    return _read_links(path, info.st_mtime_ns, info.st_size, info.st_ino)


@lru_cache(maxsize=32)
def _read_links(path: str, _mtime_ns: int, _size: int, _inode: int) -> tuple[str, ...]:
    """Read one state of the file; the unused arguments make the cache forget older states."""
    with open(path, "rb") as file:
        data = file.read()
    if _GITLINK not in data:
        return ()
    try:
        return tuple(_walk(data))
    except (struct.error, ValueError) as problem:
        raise ConfigUnreadableError(f"the index is not understood: {problem}") from problem


def _walk(data: bytes) -> list[str]:
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ConfigUnreadableError("the index has an unknown version")
    hash_bytes = 20
    found: list[str] = []
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
        if mode == 0o160000:
            found.append(os.fsdecode(name))
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

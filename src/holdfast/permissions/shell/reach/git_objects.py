"""Whether a word may be the hash of a file's content, which git prints whatever paths it is given."""

import os
import re
import zlib
from collections.abc import Iterator
from typing import Final

__all__ = ["may_be_blob"]

_HASH: Final = re.compile(r"(?:.*-g)?([0-9a-fA-F]{4,64})(?:\^\{[^}]*\})?", re.DOTALL)
_COMMITS: Final = (b"commit ", b"tag ")
_HEADER_BYTES: Final = 8
_MAX_LOG_BYTES: Final = 4_000_000


def may_be_blob(word: str, git_dir: str) -> bool:
    """Whether a word is a hash, perhaps shortened, that is not known to be a commit's.

    Args:
        word: an operand of a git command.
        git_dir: the repository.
    """
    found = _HASH.fullmatch(word)
    if found is None:
        return False
    digits = found[1].lower()
    kinds = list(_loose_kinds(digits, git_dir))
    return not all(kind.startswith(_COMMITS) for kind in kinds) if kinds else not _is_logged(digits, git_dir)


def _loose_kinds(digits: str, git_dir: str) -> Iterator[bytes]:
    folder = f"{git_dir}/objects/{digits[:2]}"
    try:
        names = [name for name in os.listdir(folder) if name.startswith(digits[2:])]
    except OSError:
        return
    for path in (f"{folder}/{name}" for name in names):
        if not os.path.isfile(path):  # a pipe would never end
            yield b""
            continue
        try:
            with open(path, "rb") as file:
                yield zlib.decompressobj().decompress(file.read(64), _HEADER_BYTES)
        except (OSError, zlib.error):
            yield b""


def _is_logged(digits: str, git_dir: str) -> bool:
    """Whether the log of what was checked out names such a commit."""
    path = f"{git_dir}/logs/HEAD"
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            log = b"\n" + file.read(_MAX_LOG_BYTES)
    except OSError:
        return False
    start = digits.encode()
    return b"\n" + start in log or any(b" " + start in line[:90] for line in log.splitlines())

"""What is under version control: which files an index names, what a hash means, which removals take some."""

import os
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.lib.git_config_text import ConfigUnreadableError
from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.paths import and_above

if TYPE_CHECKING:
    from holdfast.permissions.shell.words.parts import Part

_HASH: Final = re.compile(r"(?:.*-g)?([0-9a-fA-F]{4,64})(?:\^\{[^}]*\})?", re.DOTALL)
_COMMITS: Final = (b"commit ", b"tag ")
_HEADER_BYTES: Final = 8
_MAX_LOG_BYTES: Final = 4_000_000


def may_be_blob(word: str, git_dir: str) -> bool:
    """Whether a word is a hash, perhaps shortened, that is not known to be a commit's."""
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


_ELSE: Final = frozenset(("-o", "-or", "-not", "!", ",", "(", ")", "\\(", "\\)"))


def top_of(directory: str) -> str | None:
    """The root of the working tree that a directory lies in."""
    tops = (here for here in and_above(directory) if os.path.lexists(f"{here}/.git"))
    return next((here for here in tops if not _is_passed_by(f"{here}/.git")), None)


def _is_passed_by(dot_git: str) -> bool:
    """Whether git goes on to the folder above: a directory by that name need not be a repository."""
    from holdfast.permissions.shell.reach.git_config import is_git_directory  # noqa: PLC0415 - as below

    try:
        return os.path.isdir(dot_git) and not is_git_directory(dot_git)
    except (ConfigUnreadableError, OSError):
        return False


def removes_tracked(parts: "Iterable[Part]", cwd: str) -> bool:
    """Whether `rm -r` or `find` would take directories with tracked files; what cannot be read counts as such."""
    from holdfast.permissions.shell.programs.parsers.find import removes  # noqa: PLC0415 - a first request needs none

    for part in parts:
        if part.name == "rm":
            removed = _by_rm(part)
        elif part.name == "find" and removes(part.texts):
            removed = _by_find(part)
        else:
            continue
        for directory in part.cwds or ("",):
            start = os.path.join(cwd, directory)
            if any(_holds_tracked(os.path.join(start, word), fits) for word, fits in removed):
                return True
    return False


def _by_rm(part: "Part") -> "list[tuple[str, Callable[[str], bool]]]":
    from holdfast.permissions.shell.words.patterns import WILD  # noqa: PLC0415 - see above
    from holdfast.permissions.shell.words.word import has_option  # noqa: PLC0415 - see above

    if not has_option(part.texts, "rR", "--recursive"):
        return []
    found: list[tuple[str, Callable[[str], bool]]] = []
    for word in part.texts[1:]:
        if word[:1] == "-":
            continue
        fixed = word.split("/")
        wild = next((at for at, name in enumerate(fixed) if not WILD.isdisjoint(name)), None)
        if wild is None:
            found.append((word, _fits_all))
        else:
            found.append(("/".join(fixed[:wild]) or ("/" if word[:1] == "/" else "."), _fitting(fixed[wild:])))
    return found


def _by_find(part: "Part") -> "list[tuple[str, Callable[[str], bool]]]":
    from holdfast.permissions.shell.programs.parsers.find import starts_of  # noqa: PLC0415 - see above

    words = part.texts
    patterns = [two for one, two in pairwise(words) if one in ("-name", "-iname")]
    fits = _fits_all if not patterns or not _ELSE.isdisjoint(words) else _named_by(patterns)
    return [(root, fits) for root in [words[at] for at in starts_of(words)] or ["."]]


def _fits_all(_name: str) -> bool:
    return True


def _fitting(patterns: list[str]) -> "Callable[[str], bool]":
    def fits(name: str) -> bool:
        names = name.split("/")
        # A name that the pattern itself is, is a file; what lies deeper goes with its directory.
        return len(names) > len(patterns) and all(map(fnmatchcase, names, patterns))

    return fits


def _named_by(patterns: list[str]) -> "Callable[[str], bool]":
    return lambda name: all(any(fnmatchcase(part, pattern) for part in name.split("/")) for pattern in patterns)


def _holds_tracked(path: str, fits: "Callable[[str], bool]") -> bool:
    place = os.path.realpath(path)
    top = top_of(place) if os.path.isdir(place) else None
    if top is None:
        return False
    below = "" if place == top else os.path.relpath(place, top) + "/"
    if not os.path.isdir(f"{top}/.git"):
        return True
    try:
        found = tracked_names(f"{top}/.git", (below,))
    except (ConfigUnreadableError, OSError):
        return True
    return any(name.startswith(below) and fits(name[len(below) :]) for name in found)

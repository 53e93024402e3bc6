"""What stands for a while where nothing may come into being: empty directories, harmless files of git. None stays.

Each is noted before it is made, so that the next start removes what a crash left. One that another session still
needs stays: taking a mount point away would open its mask.
"""

import contextlib
import itertools
import os
import stat
from collections import Counter
from collections.abc import Container, Generator, Iterable

from holdfast.host import tree
from holdfast.host.sandbox.blanks import SUFFIX as BLANKS
from holdfast.host.sandbox.blanks import Blanks, remove_place
from holdfast.host.sandbox.policy import PINNED
from holdfast.lib.lock import directory_lock

__all__ = ["Placeholders", "remove_leftovers"]

_SUFFIX = ".masks"
_numbers = itertools.count(1)
"""Several owners may live in one process: each has a record of its own."""


class Placeholders:
    """The placeholders of one owner."""

    def __init__(self, directory: str | None = None) -> None:
        """Keep the notes in a private directory; nowhere when omitted."""
        self._directory = directory
        self._held: Counter[str] = Counter()
        self._record: str | None = None

    def hold(self, paths: Iterable[str], perhaps: Iterable[str] = (), *, files: Container[str] = ()) -> tuple[str, ...]:
        """Make what is missing; returns what to give to `release`.

        Args:
            paths: What is missing.
            perhaps: What was there already. What of it is a placeholder, of this owner or of another one, is held too:
                whoever made it must not take it away while this one needs it.
            files: What of it is a file.
        """
        with self._locked():
            held = (*paths, *(path for path in perhaps if self._must_hold(path)))
            fresh = [path for path in held if not self._held[path]]
            if fresh:
                self._note(fresh)
            for path in held:
                with contextlib.suppress(FileExistsError):
                    _make(path, is_file=path in files)
                self._held[path] += 1
        return held

    def release(self, held: Iterable[str]) -> None:
        """Remove what nobody needs any more; what is not empty is somebody's and stays."""
        with self._locked():
            for path in held:
                self._held[path] -= 1
                if self._held[path] <= 0:
                    del self._held[path]
                    if not self._is_needed_elsewhere(path):
                        _remove(path)
            if not self._held and self._record is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._record)
                self._record = None

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Nobody else makes or removes placeholders meanwhile."""
        if self._directory is None:
            yield
            return
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        with _lock(self._directory):
            yield

    def _note(self, paths: list[str]) -> None:
        if self._directory is None:
            return
        if self._record is None:
            self._record = os.path.join(self._directory, f"{_owner()}.{next(_numbers)}{_SUFFIX}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(self._record, flags, 0o600), "ab") as file:
            file.write(b"".join(os.fsencode(path) + b"\0" for path in paths))

    def make_blanks(self) -> Blanks:
        """What covers things in the sandboxes of this owner, where the next start finds what a crash left."""
        if self._directory is None:
            return Blanks()
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        return Blanks(self._directory, owner=_owner())

    def _must_hold(self, path: str) -> bool:
        """Whether what was there a moment ago is a placeholder, or was one that is gone by now."""
        return bool(self._held[path]) or self._is_needed_elsewhere(path) or not os.path.lexists(path)

    def _is_needed_elsewhere(self, path: str) -> bool:
        if self._directory is None:
            return False
        others = (record for record in _records(self._directory) if record != self._record)
        return any(_is_alive(record) and path in _paths(record) for record in others)


def remove_leftovers(directory: str) -> list[str]:
    """Remove what sessions that died left behind; returns the paths."""
    removed: list[str] = []
    if not _records(directory, _SUFFIX, BLANKS):
        return removed
    with _lock(directory):
        for blanks in _records(directory, BLANKS):
            if not _is_alive(blanks):
                remove_place(blanks)
        records = _records(directory)
        alive = {path for record in records if _is_alive(record) for path in _paths(record)}
        for record in records:
            if _is_alive(record):
                continue
            removed += [path for path in _paths(record) if path not in alive and _remove(path)]
            with contextlib.suppress(OSError):
                os.unlink(record)
    return removed


@contextlib.contextmanager
def _lock(directory: str) -> Generator[None]:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with directory_lock(handle, path=directory):
            yield
    finally:
        os.close(handle)


def _make(path: str, *, is_file: bool) -> None:
    content = PINNED.get(os.path.basename(path), b"" if is_file else None)
    if content is None:
        os.mkdir(path, 0o755)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
        file.write(content)


def _remove(path: str) -> bool:
    """Take away one that is still as it was made."""
    try:
        content = PINNED.get(os.path.basename(path))
        if content is None and stat.S_ISDIR(os.lstat(path).st_mode):
            os.rmdir(path)
            return True
        content = content or b""
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode) or file.read(len(content) + 1) != content:
                return False
        os.unlink(path)
    except OSError:
        return False
    return True


def _owner() -> str:
    own = tree.read_entry(os.getpid())
    return f"{os.getpid()}-{own.start_ticks if own else 0}"


def _records(directory: str, *kinds: str) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [os.path.join(directory, name) for name in sorted(names) if name.endswith(kinds or _SUFFIX)]


def _is_alive(record: str) -> bool:
    pid, _, ticks = os.path.basename(record).split(".")[0].partition("-")
    if not (pid.isdigit() and ticks.isdigit()):
        return False
    entry = tree.read_entry(int(pid))
    return entry is not None and entry.is_running and entry.start_ticks == int(ticks)


def _paths(record: str) -> set[str]:
    try:
        with open(record, "rb") as file:
            return {os.fsdecode(path) for path in file.read().split(b"\0") if path.startswith(b"/")}
    except OSError:
        return set()

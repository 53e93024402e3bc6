"""Find definition files and read the beginning of each: bounded, regular files only, no link out of the folder."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from holdfast.definitions.places import Place, is_below
from holdfast.lib.front_matter import HEAD_BYTES
from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.text import NotTextError, detect_whole

__all__ = ["MAX_BODY_BYTES", "Head", "Scan", "decode_head", "read_whole"]

SKILL_FILE: Final = "SKILL.md"
MAX_BODY_BYTES: Final = 1 << 20
"""A longer file is not told to a model."""
_MAX_FILES: Final = 20_000
_MAX_ENTRIES: Final = 100_000
_MAX_DEPTH: Final = 6
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_NOT_THERE: Final = (errno.ENOENT, errno.ENOTDIR)


class Head(NamedTuple):
    """The beginning of one file."""

    path: str
    name: str
    """By its place: the skill's directory, or the file without `.md`."""
    group: str
    """The directories between the place and it, joined by colons."""
    data: bytes
    size: int


class Scan:
    """Goes through places and hands out the files; what cannot be read is said in `problems`."""

    def __init__(self, may_read: Callable[[str], bool] | None = None) -> None:
        self.problems: list[tuple[str, str]] = []
        """Path and why it does not count."""
        self._may_read = may_read
        self._left = _MAX_ENTRIES
        self._files = 0

    def skills(self, place: Place) -> Iterator[Head]:
        """Every `DIRECTORY/SKILL.md`; a directory without one may group others."""
        for directory, names in self._directories(place, into=self._is_group):
            group = _group(directory, place)
            for name in names:
                head = self._head(f"{directory}/{name}/{SKILL_FILE}", name, group, place)
                if head is not None:
                    yield head

    def markdown(self, place: Place) -> Iterator[Head]:
        """Every `.md` file in the place and below."""
        for directory, _ in self._directories(place, into=lambda path: not path.endswith("/.git")):
            group = _group(directory, place)
            for name in sorted(self._names_of_files):
                if name.endswith(".md") and not name.startswith("."):
                    head = self._head(os.path.join(directory, name), name[:-3], group, place)
                    if head is not None:
                        yield head

    # -- directories

    def _directories(self, place: Place, *, into: Callable[[str], bool]) -> Iterator[tuple[str, list[str]]]:
        """Each directory with the names of those in it, the place first; no link back or out is followed."""
        self._names_of_files: list[str] = []
        waiting = [(place.directory, 0)]
        seen: set[str] = set()
        while waiting:
            here, depth = waiting.pop(0)
            if depth == 0 or os.path.islink(here):
                real = os.path.realpath(here)
                if real in seen or self._leads_out(here, real, place):
                    continue
                seen.add(real)
            names = self._listed(here)
            if names is None:
                continue
            yield here, names
            if depth < _MAX_DEPTH:
                waiting += [(path, depth + 1) for name in names if into(path := os.path.join(here, name))]

    def _is_group(self, path: str) -> bool:
        return not os.path.lexists(os.path.join(path, SKILL_FILE))

    def _listed(self, here: str) -> list[str] | None:
        """The directories in it, sorted; its files are kept beside."""
        directories: list[str] = []
        self._names_of_files = []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        self._problem(here, "there are too many files, so the rest is not read")
                        break
                    (directories if entry.is_dir() else self._names_of_files).append(entry.name)
        except OSError as error:
            if error.errno not in _NOT_THERE:
                self._problem(here, error.strerror or str(error))
            return None
        return sorted(directories)

    def _leads_out(self, here: str, real: str, place: Place) -> bool:
        if place.boundary is None or is_below(real, place.boundary):
            return False
        if os.path.exists(real):
            self._problem(here, "it leads out of the folder it stands in")
        return True

    # -- files

    def _head(self, path: str, name: str, group: str, place: Place) -> Head | None:
        if self._files >= _MAX_FILES:
            return None
        try:
            found = self._read(path, place)
        except OSError as error:
            if error.errno not in _NOT_THERE or os.path.islink(path):
                self._problem(path, error.strerror or str(error))
            return None
        if found is None:
            return None
        if self._may_read is not None and not self._may_read(path):
            self._problem(path, "a rule forbids to read it")
            return None
        self._files += 1
        return Head(path, name, group, *found)

    def _read(self, path: str, place: Place) -> tuple[bytes, int] | None:
        real = path
        if place.boundary is not None and (os.path.islink(path) or os.path.islink(os.path.dirname(path))):
            real = os.path.realpath(path)
            if self._leads_out(path, real, place):
                return None
        handle = os.open(real, _FLAGS)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            return os.read(handle, HEAD_BYTES), found.st_size
        finally:
            os.close(handle)

    def _problem(self, path: str, reason: str) -> None:
        if len(self.problems) < 200:
            self.problems.append((path, reason))


def _group(directory: str, place: Place) -> str:
    inner = directory[len(place.directory) :].strip("/")
    return inner.replace("/", ":")


def decode_head(data: bytes) -> str:
    """The text of a file's beginning, which may end in the middle of a character."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[: len(data) & ~1].decode("utf-16", "replace")
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def read_whole(path: str, boundary: str | None = None) -> tuple[str, bytes]:
    """The whole text of a file that is about to be used, and its bytes.

    Raises:
        OSError: It is gone, too long, no regular file, or a link leads out of the boundary by now; the text says which.
    """
    if boundary is not None and not is_below(os.path.realpath(path), boundary):
        raise OSError(errno.EPERM, "it leads out of the folder it stands in", path)
    data = read_guarded(path, limit_bytes=MAX_BODY_BYTES)
    if data is None:
        raise FileNotFoundError(errno.ENOENT, "it is not there any more", path)
    try:
        encoding = detect_whole(data)
    except NotTextError as error:
        raise OSError(errno.EINVAL, f"it is not text: {error.reason}", path) from error
    return encoding.show(data[len(encoding.mark) :]), data

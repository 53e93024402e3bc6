"""What a path really names: resolved by the kernel's view, links first, and judged by whole components.

A deny rule holds for every name a path goes through (as given, each link, the target); an allow rule must cover the
name as given and the target. Paths that cannot be judged are refused, which is stricter than any rule.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from holdfast.lib import posix

MAX_PATH_BYTES: Final = 4_096
_MAX_LINKS: Final = 40
_KERNEL_ROOTS: Final = ("/proc", "/sys", "/dev")
NULL_DEVICE: Final = "/dev/null"


class PathFacts(NamedTuple):
    """One path of a call, resolved."""

    given: str
    """Absolute, with `.` and `..` removed as text."""
    target: str
    """Where the kernel ends up."""
    names: tuple[str, ...]
    """Every name on the way: given, each link, target. Deny and ask rules look at all of them."""
    is_dir: bool | None = None
    """None when nothing is there, or the disk was not asked."""
    links: int = 1
    """How many names the file has; 1 for directories and for what does not exist."""
    folds: bool = False
    """The disk there takes upper and lower case as the same name."""
    refusal: str = ""
    """Why no tool may open it, whatever the rules say; empty when it may be judged."""


class Disk(Protocol):
    """How paths are resolved: the real disk, or none at all."""

    def look(self, path: str, cwd: str, *, home: str) -> PathFacts:
        """Resolve the path of a call."""
        ...

    def real(self, path: str) -> str:
        """An absolute path with every link resolved."""
        ...


def absolute_path(path: str, cwd: str, *, home: str) -> str:
    """The path joined to the working directory, `~` as home; `..` stays, because links decide what it means."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    if not path.startswith("/"):
        path = f"{cwd}/{path}"
    return path


def is_inside(path: str, roots: Iterable[str]) -> bool:
    """Whether a resolved path is one of `roots` or below it, by whole components."""
    for root in roots:  # noqa: SIM110 - every decision comes through here, and `any` would make a generator each time
        if root in (path, "/") or (path.startswith(root) and path[len(root)] == "/"):
            return True
    return False


def and_above(directory: str) -> Iterator[str]:
    """A directory and those above it, up to the root."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _normal(path: str) -> str:
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def _refusal(names: Iterable[str]) -> str:
    for name in names:
        if name.startswith(_KERNEL_ROOTS) and name != NULL_DEVICE and is_inside(name, _KERNEL_ROOTS):
            return f"{name!r} belongs to the kernel (/proc, /sys, /dev); file tools do not open it"
    return ""


def _unjudgeable(path: str) -> str:
    if "\0" in path:
        return "the path contains a NUL character; no file can have such a name"
    if len(path) > MAX_PATH_BYTES or not (path.isascii() or len(_utf8(path)) <= MAX_PATH_BYTES):
        return f"the path is longer than {MAX_PATH_BYTES} bytes; no file can have such a name"
    return ""


def _utf8(path: str) -> bytes:
    return path.encode("utf-8", "surrogatepass")


def _lexical(path: str, cwd: str, home: str) -> PathFacts:
    given = _normal(absolute_path(path, cwd, home=home))
    refusal = _unjudgeable(given) or _refusal((given,))
    return PathFacts(given, given, (given,), is_dir=True if path.endswith("/") else None, refusal=refusal)


class NoDisk:
    """Judges paths as text alone: nothing is read. For policy tests whose directories need not exist."""

    def look(self, path: str, cwd: str, *, home: str) -> PathFacts:
        """The path with `..` removed as text."""
        return _lexical(path, cwd, home)

    def real(self, path: str) -> str:
        """The path itself: without a disk there are no links."""
        return path


class LiveDisk:
    """The real disk.

    Args:
        folding: Says whether names in a directory fold; asked once per directory.
    """

    def __init__(self, folding: Callable[[str], bool] | None = None) -> None:
        self._folding = folding or probe_folding
        self._folds: dict[str, bool] = {}

    def look(self, path: str, cwd: str, *, home: str) -> PathFacts:
        """Resolve as the kernel would, without opening the file for reading."""
        absolute = absolute_path(path, cwd, home=home)
        given = _normal(absolute)
        problem = _unjudgeable(given)
        if problem or len(absolute) > MAX_PATH_BYTES:
            too_long = f"the path is longer than {MAX_PATH_BYTES} bytes; shorten it"
            return _lexical(path, cwd, home)._replace(refusal=problem or too_long)
        facts = self._opened(absolute, given)
        if facts is None:
            facts = self._walked(absolute, given)
        refusal = facts.refusal or _refusal(facts.names)
        folds = self._case_folds(facts.target)
        return facts._replace(folds=folds, refusal=refusal) if folds or refusal else facts

    def real(self, path: str) -> str:
        """The path with every link resolved, as far as it exists."""
        return self.look(path, "/", home="/").target

    def _opened(self, absolute: str, given: str) -> PathFacts | None:
        """The usual cases in a few system calls: what goes through no link, and new files beside such."""
        status = _status_without_links(absolute, given)
        if status is not None:
            return _facts(given, given, (given,), status)
        if absolute != given:
            return None
        directory, _, name = given.rpartition("/")
        if not name or _status_without_links(directory, directory) is None:
            return None
        try:
            os.lstat(given)
        except FileNotFoundError:
            return PathFacts(given, given, (given,))
        except (OSError, ValueError):
            return None
        return None

    def _walked(self, absolute: str, given: str) -> PathFacts:
        """Follow the path component by component, remembering every link on the way."""
        walk = _Walk()
        walk.follow(absolute)
        target = walk.current or "/"
        names = tuple(dict.fromkeys((given, *walk.passed, target)))
        try:
            status = os.lstat(target) if not walk.problem else None
        except (OSError, ValueError):
            status = None
        return _facts(given, target, names, status)._replace(refusal=walk.problem)

    def _case_folds(self, target: str) -> bool:
        """Whether names fold where the target lies; asked once per directory."""
        directory = target.rpartition("/")[0]
        known = self._folds.get(directory)
        if known is None:
            if len(self._folds) > 10_000:
                self._folds.clear()
            known = self._folds[directory] = self._folding(directory)
        return known


def _status_without_links(path: str, wanted: str) -> os.stat_result | None:
    """The status of what a path names, when the kernel knows it by exactly the wanted name."""
    if not posix.O_PATH:  # elsewhere to open something is to touch it, and nobody tells its name
        return None
    try:
        handle = os.open(path, posix.O_PATH | posix.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if os.readlink(f"/proc/self/fd/{handle}") != wanted:
            return None
        status = os.fstat(handle)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if status.st_nlink == 0 else status


def _facts(given: str, target: str, names: tuple[str, ...], status: os.stat_result | None) -> PathFacts:
    if status is None:
        return PathFacts(given, target, names)
    if stat.S_ISDIR(status.st_mode):
        return PathFacts(given, target, names, is_dir=True)
    return PathFacts(given, target, names, is_dir=False, links=status.st_nlink)


def probe_folding(directory: str) -> bool:
    """Whether the disk takes names in `directory` as equal when only their case differs."""
    while directory not in ("", "/"):
        answer = _same_in_other_case(directory)
        if answer is not None:
            return answer
        directory = directory.rpartition("/")[0]
    return False


def _same_in_other_case(directory: str) -> bool | None:
    """Compare a directory with its name in the other case; none when that says nothing."""
    parent, _, name = directory.rpartition("/")
    swapped = name.swapcase()
    try:
        here = os.stat(directory)
    except (OSError, ValueError):
        return None
    if swapped == name:
        return None
    try:
        return os.path.samestat(here, os.stat(f"{parent}/{swapped}"))
    except (OSError, ValueError):
        return False


class _Walk:
    """Resolution of one path, as the kernel does it."""

    def __init__(self) -> None:
        self.current = ""
        """Resolved so far, without a trailing slash; empty for the root."""
        self.passed: list[str] = []
        self.problem = ""
        self._links_left = _MAX_LINKS

    def follow(self, path: str) -> None:
        pending = path.split("/")[::-1]
        while pending and not self.problem:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self.current = self.current.rpartition("/")[0]
                continue
            self._enter(part, pending)

    def _enter(self, part: str, pending: list[str]) -> None:
        name = f"{self.current}/{part}"
        try:
            link = os.readlink(name)
        except (OSError, ValueError):
            self.current = name
            return
        rest = "/".join(reversed(pending))
        self.passed.append(_normal(f"{name}/{rest}"))
        self._links_left -= 1
        if self._links_left < 0 or len(link) + len(rest) > 2 * MAX_PATH_BYTES:
            self.problem = f"{name!r} goes through too many links (a loop?); no file can be opened by that name"
            self.current = name
            return
        if link.startswith("/"):
            self.current = ""
        pending.extend(reversed(link.split("/")))

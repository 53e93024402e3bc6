"""After a confined command: what it made that other programs obey, and what it was kept from."""

import os
import re
import stat
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from holdfast.host.command import Command, Entering, WayIn
from holdfast.lib.names import show_name
from holdfast.permissions.protected import protected_by

__all__ = ["Lookout", "denial", "protected_in"]

_HELD: Final = frozenset({".git", ".claude", ".holdfast", ".mcp.json"})
"""What mounts hold, unless it is a link."""
_MOUNTED: Final = (".git/config", ".git/hooks", ".claude", ".holdfast", ".mcp.json")
_GIT_GOVERNS: Final = ("hooks", "config", "config.worktree", "commondir")
_MOST_WATCHED: Final = 500
_BARE: Final = "HEAD"
"""With it a directory may be a repository of its own, with a configuration that git obeys."""
_WRITES: Final = re.compile(r"^.*(?:Read-only file system|\[Errno 30\]).*$", re.MULTILINE)
_NETWORK: Final = re.compile(
    r"^.*(?:Could not resolve host|Temporary failure in name resolution|Network is unreachable|EAI_AGAIN).*$",
    re.MULTILINE,
)
_LINE_CHARS: Final = 200


def protected_in(places: Iterable[str]) -> list[str]:
    """Protected names that exist at the top of these directories; what governs the agent is handled by itself."""
    return [path for path in _names(places) if os.path.basename(path) != ".git" and protected_by((path,)) is not None]


def _names(places: Iterable[str]) -> list[str]:
    found: list[str] = []
    for place in places:
        try:
            found += [os.path.join(place, name) for name in os.listdir(place)]
        except OSError:
            continue
    return found


def _state(places: Iterable[str], *, holds: bool, lost: Container[str] = ()) -> dict[str, str]:
    """What other programs obey, each with where it leads if it is a link, else with which file it is.

    Args:
        places: Where such names are looked for.
        holds: Mounts keep commands from what governs the agent; otherwise its content is looked at too.
        lost: For these the mounts hold no longer.
    """
    found: dict[str, str] = {}
    for path in _names(places):
        name = os.path.basename(path)
        if name != _BARE and protected_by((path,)) is None:
            continue
        if os.path.islink(path):
            found[path] = os.readlink(path)
        elif name not in _HELD:
            found[path] = "" if name == _BARE else _which(path, is_lost=path in lost)
        elif not holds:
            found |= _states_below(path)
    return found


def _held(places: Iterable[str], lost: Container[str]) -> dict[str, str]:
    """Which files and directories mounts hold: one that is put in the place of such a file has no mount on it."""
    found: dict[str, str] = {}
    for place in places:
        for name in _MOUNTED:
            path = os.path.join(place, name)
            if state := _which(path, is_lost=path in lost):
                found[path] = state
    return found


def _which(path: str, *, is_lost: bool) -> str:
    try:
        about = os.lstat(path)
        is_empty = stat.S_ISDIR(about.st_mode) and not os.listdir(path)
    except OSError:
        return ""
    # One that is empty may be a placeholder of somebody else, and goes.
    number = "" if is_empty else f"{about.st_dev} {about.st_ino}"
    return f"{number} {about.st_size} {about.st_mtime_ns}" if is_lost else number


def _states_below(path: str) -> dict[str, str]:
    """What governs the agent, each file with what tells that it changed; of git only what it runs by itself."""
    starts = [os.path.join(path, name) for name in _GIT_GOVERNS] if os.path.basename(path) == ".git" else [path]
    found: dict[str, str] = {}
    waiting = [start for start in starts if os.path.lexists(start)]
    while waiting and len(found) < _MOST_WATCHED:
        place = waiting.pop()
        try:
            about = os.lstat(place)
            found[place] = f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_mode}"
            waiting += [] if not os.path.isdir(place) or os.path.islink(place) else _names([place])
        except OSError:
            continue
    return found


class Lookout:
    """What came into being while confined commands ran; nobody has said yet that it is right."""

    def __init__(self) -> None:
        self.holds = True
        """Mounts keep commands from what governs the agent."""
        self._running = 0
        self._places: tuple[str, ...] = ()
        self._before: dict[str, str] = {}
        self._mounted: dict[str, str] = {}
        self._lost: set[str] = set()
        self.waiting: dict[str, None] = {}
        """Paths that a person should look at before anything runs unasked again."""

    def watch(self, way: WayIn, places: Iterable[str]) -> WayIn:
        """The same way in, looked at while the command runs."""
        return _WatchedWay(self, way, tuple(places))

    def begin(self, places: tuple[str, ...]) -> None:
        """A command starts."""
        if not self._running:
            self._lost.clear()
            self._places, self._before = places, _state(places, holds=self.holds)
            self._mounted = _held(places, ()) if self.holds else {}
        self._running += 1

    def end(self) -> None:
        """Nothing of a command runs any more."""
        self.look()
        self._running -= 1

    def look(self) -> list[str]:
        """What is new since the last look."""
        now = _state(self._places, holds=self.holds, lost=self._lost)
        gone = [path for path, target in self._before.items() if target and path not in now]
        fresh = [path for path, target in now.items() if self._before.get(path) != target] + gone
        mounted = _held(self._places, self._lost) if self.holds else {}
        replaced = [path for path, state in self._mounted.items() if mounted.get(path) != state]
        self._lost.update(fresh, replaced)
        if self._lost:  # whoever replaced them, from now on only their content tells
            now = _state(self._places, holds=self.holds, lost=self._lost)
            mounted = _held(self._mounted and self._places, self._lost)
        self._before = now
        self._mounted = {path: mounted.get(path, "") for path in self._mounted}
        self.waiting.update(dict.fromkeys((*fresh, *replaced)))
        return [*fresh, *replaced]


class _WatchedWay:
    def __init__(self, lookout: Lookout, way: WayIn, places: tuple[str, ...]) -> None:
        self._lookout, self._way, self._places = lookout, way, places

    def enter(self, command: Command) -> Entering:
        self._lookout.begin(self._places)
        try:
            return _Watched(self._way.enter(command), self._lookout)
        except BaseException:
            self._lookout.end()
            raise


class _Watched:
    def __init__(self, entering: Entering, lookout: Lookout) -> None:
        self.command = entering.command
        self._entering = entering
        self._lookout: Lookout | None = lookout

    def started(self) -> None:
        self._entering.started()

    async def opened(self) -> None:
        await self._entering.opened()

    def left(self) -> None:
        self._entering.left()
        lookout, self._lookout = self._lookout, None
        if lookout is not None:
            lookout.end()


def denial(
    command: str,
    errors: str,
    *,
    ignored: Mapping[str, tuple[str, ...]],
    may_leave: bool,
    turned: Sequence[str] = (),
) -> str:
    """What the sandbox kept a failed command from, for the model; empty when nothing points to it.

    Args:
        command: Its text.
        errors: What it wrote to stderr.
        ignored: For commands that hold a text (`*`: for all), parts of complaints that are not worth telling.
        may_leave: A call may ask to run outside.
        turned: Hosts that the proxy turned away meanwhile, each with the reason.
    """
    silent = [part for text, parts in ignored.items() if text == "*" or text in command for part in parts]

    def first(lines: Iterable[str]) -> str:
        return next((line for line in lines if not any(part in line for part in silent)), "")

    for lines, what, setting in (
        (_lines(_WRITES, errors), "writing outside the working directories and $TMPDIR", "filesystem.allowWrite"),
        (turned, "reaching this host", "network.allowedDomains"),
        (_lines(_NETWORK, errors), "reaching the network", "network.allowedDomains"),
    ):
        if line := first(lines):
            asks = " or ask for one call outside with dangerouslyDisableSandbox" if may_leave else ""
            return (
                f"The sandbox keeps commands from {what}, and this was refused: {show_name(line[:_LINE_CHARS])}. Do "
                f"not try other ways around it; if it is needed, tell the user, who can allow it by sandbox.{setting},"
                f"{asks}"
            ).removesuffix(",")
    return ""


def _lines(pattern: re.Pattern[str], errors: str) -> list[str]:
    return [one.group().strip() for one in pattern.finditer(errors)]

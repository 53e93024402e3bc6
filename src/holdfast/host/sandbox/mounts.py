"""From a policy to the mounts that make it true.

The law of the mask: every directory between a writable one and a protected path is itself a mount point. The kernel
moves no mount point, so nothing above a mask can be renamed away and made anew. Of a path that must not come into
being the first missing component is masked by an empty directory that nobody can write.
"""

import os
import stat
from collections.abc import Sequence
from typing import Literal, NamedTuple

from holdfast.host.sandbox.named import is_below, outermost, really, roots_among, trusted
from holdfast.host.sandbox.policy import Policy

__all__ = ["Mount", "Plan", "plan_mounts", "writable_roots"]

Kind = Literal["writable", "fixed", "hidden", "placeholder"]
_STRICTNESS = {"writable": 0, "fixed": 1, "placeholder": 2, "hidden": 3}
_MAX_LINKS = 16
_MAX_SOCKETS = 100
_MISSING, _UNSEEN = -1, -2
_RUN = "/run"
_RUN_SHOWN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers", "/run/host")
"""What lies in /run and is no road to a service: where NixOS keeps its programs."""


class Mount(NamedTuple):
    """One place that differs from what lies around it."""

    path: str
    kind: Kind
    is_dir: bool
    has_shown: bool = False
    """Something below this hidden directory is shown."""


class Plan(NamedTuple):
    """What to mount, from the outside to the inside."""

    mounts: tuple[Mount, ...]
    placeholders: tuple[str, ...]
    """Directories and files to make before, and to take away afterwards."""
    perhaps: tuple[str, ...]
    """Such ones that are there already: another command's, which must not go before this one, or the user's own."""
    watched: tuple[str, ...]
    """Links on the way to what governs the agent: no mount holds them, so they are looked at afterwards."""
    files: frozenset[str] = frozenset()
    """The placeholders that are files; the others are directories."""


def plan_mounts(policy: Policy) -> Plan:
    """Work out the mounts; looks at the disk and changes nothing."""
    return _Planner(policy).plan()


class _Planner:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._found: dict[str, Mount] = {}
        self._placeholders: list[str] = []
        self._perhaps: list[str] = []
        self._modes: dict[str, int] = {}
        self._files: list[str] = []
        self._watched: list[str] = []
        fixed = really((*policy.fixed, *policy.denied))
        own = (*policy.granted, *((policy.temporary,) if policy.temporary else ()))
        named = roots_among(dict.fromkeys((*policy.writable, *own)), policy.changeable)
        self._own = [path for path in named if path in really(own)]
        # A place that may not be changed stays so, also where somebody calls something inside it writable.
        wanted = [path for path in named if path in self._own or not any(_covers(one, path) for one in fixed)]
        self.roots = outermost(wanted)

    def plan(self) -> Plan:
        policy = self._policy
        for root in (*self.roots, *self._own):
            self._put(root, "writable")
        for path in policy.governing:
            self._protect(path, "fixed", must_not_appear=True)
        for path in policy.pinned:
            self._pin(path)
        for path in policy.denied:
            self._protect(path, "fixed", must_not_appear=True)
        for path in policy.fixed:
            self._protect(path, "fixed")
        shown = trusted((*policy.shown, *policy.sockets), self.roots, policy.changeable)
        for path in (*policy.hidden, *self._other_sockets(shown)):
            self._protect(path, "hidden")
        self._hide_run()
        mounts = self._ordered(shown)
        kept = {mount.path for mount in mounts}
        made = [path for path in self._placeholders if path in kept]
        return Plan(mounts, tuple(made), tuple(self._perhaps), tuple(self._watched), frozenset(self._files))

    def _other_sockets(self, shown: list[str]) -> list[str]:
        """Those that others listen at now, where some may be reached: the filter cannot tell one from another."""
        if not self._policy.sockets or self._policy.all_sockets:
            return []
        found = [path for path in _listening() if path not in shown and not is_below(path, _RUN)]
        if len(found) > _MAX_SOCKETS:
            raise OSError(f"{len(found)} Unix sockets would have to be hidden; set sandbox.network.allowAllUnixSockets")
        return found

    def _hide_run(self) -> None:
        """Sockets and pipes of services lie there, and a read-only mount holds back neither."""
        if os.path.isdir(_RUN) and not os.path.islink(_RUN):
            self._put(_RUN, "hidden")

    def _pin(self, path: str) -> None:
        self._protect(path, "fixed")
        if not self._is_below_root(path):
            return
        if not os.path.lexists(path):
            self._placeholders.append(path)
            self._files.append(path)
            self._put(path, "fixed", is_dir=False)
        else:
            self._perhaps.append(path)

    def _protect(self, path: str, kind: Kind, *, must_not_appear: bool = False) -> None:
        for _ in range(_MAX_LINKS):
            target = self._walk(path, kind, must_not_appear=must_not_appear)
            if target is None:
                return
            path = target
        raise OSError(f"{path!r} leads through too many links; remove some of them")

    def _walk(self, path: str, kind: Kind, *, must_not_appear: bool) -> str | None:
        """Make mount points on the way to a path. Returns the path to go on with when a link lies on the way."""
        names = [name for name in path.split("/") if name]
        place = ""
        for number, name in enumerate(names):
            place = f"{place}/{name}"
            last = number == len(names) - 1
            mode = self._mode(place)
            if mode == _MISSING and must_not_appear and self._is_below_root(place):
                self._put_placeholder(place)
            if mode in (_MISSING, _UNSEEN):
                return None  # what we cannot see a command cannot either
            if stat.S_ISLNK(mode):
                if must_not_appear and self._is_below_root(place):
                    self._watched.append(place)
                return os.path.join(os.path.realpath(place), *names[number + 1 :])
            is_dir = stat.S_ISDIR(mode)
            if last or not is_dir:
                if must_not_appear and is_dir and self._is_below_root(place):
                    self._perhaps.append(place)
                self._put(place, kind, is_dir=is_dir)
                return None
            if self._is_below_root(place):
                self._put(place, "writable")
        return None

    def _mode(self, place: str) -> int:
        """Looked at once for each plan: most paths begin alike."""
        found = self._modes.get(place)
        if found is None:
            try:
                found = os.lstat(place).st_mode
            except FileNotFoundError:
                found = _MISSING
            except (NotADirectoryError, PermissionError):
                found = _UNSEEN
            self._modes[place] = found
        return found

    def _is_below_root(self, path: str) -> bool:
        return any(is_below(path, root) for root in self.roots)

    def _put_placeholder(self, path: str) -> None:
        if path not in self._found:
            self._placeholders.append(path)
        self._put(path, "placeholder")

    def _put(self, path: str, kind: Kind, *, is_dir: bool | None = None) -> None:
        known = self._found.get(path)
        if known is None or _STRICTNESS[kind] > _STRICTNESS[known.kind]:
            self._found[path] = Mount(path, kind, os.path.isdir(path) if is_dir is None else is_dir)

    def _ordered(self, shown: list[str]) -> tuple[Mount, ...]:
        for path in shown:
            if path not in self._found and self._is_covered(path):
                self._put(path, "fixed")
        for path in _RUN_SHOWN:
            if os.path.isdir(path):
                self._put(path, "fixed")
        ordered = sorted(self._found.values(), key=lambda mount: (mount.path.count("/"), mount.path))
        kept: list[Mount] = []
        for mount in ordered:
            around = next((one for one in reversed(kept) if is_below(mount.path, one.path)), None)
            if around is None and mount.kind == "fixed" and not self._is_covered(mount.path):
                continue  # everything is read-only already
            if around is not None and _says_nothing(mount, around, shown, (*self.roots, *self._own)):
                continue
            kept.append(mount)
        return tuple(_with_shown(mount, kept) for mount in kept)

    def _is_covered(self, path: str) -> bool:
        return any(is_below(path, mount.path) for mount in self._found.values())


def _says_nothing(mount: Mount, around: Mount, shown: Sequence[str], roots: Sequence[str]) -> bool:
    """What lies in something fixed or hidden is so too, unless it was named to be otherwise."""
    if mount.path in roots or mount.path in shown or mount.path in _RUN_SHOWN:
        return False
    return around.kind in ("hidden", "placeholder") or (around.kind == "fixed" and mount.kind != "hidden")


def _with_shown(mount: Mount, mounts: list[Mount]) -> Mount:
    if mount.kind != "hidden":
        return mount
    return mount._replace(has_shown=any(is_below(other.path, mount.path) for other in mounts))


def _listening() -> list[str]:
    """The Unix sockets of this machine that have a path."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.rstrip("\n").split(maxsplit=7) for line in file]
    except OSError:
        return []
    return really(line[7] for line in lines if len(line) == 8 and line[7].startswith("/"))


def writable_roots(policy: Policy) -> list[str]:
    """Where a command may write, resolved, the outermost only."""
    return list(_Planner(policy).roots)


def _covers(place: str, path: str) -> bool:
    return path == place or is_below(path, place)

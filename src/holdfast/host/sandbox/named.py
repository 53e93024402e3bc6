"""Where the paths of a policy really lie, without trust in links that a command may have made.

A place that the settings name, such as `./build`, may lie where commands write. One of them could put a link there, and
the next would then write, read or reach what the link leads to. So such a link opens nothing.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["is_below", "outermost", "really", "roots_among", "trusted"]

_MAX_LINKS = 40


class _Way(NamedTuple):
    """Where a path really lies, and the links on the way there."""

    real: str
    links: tuple[str, ...]


def roots_among(paths: Iterable[str], changeable: Iterable[str]) -> list[str]:
    """The places among those named that commands may write, resolved.

    Args:
        paths: As the user named them.
        changeable: Places that earlier commands may have written, as the user named them.
    """
    return _accepted(paths, _accepted(changeable, ()))


def trusted(paths: Iterable[str], roots: Iterable[str], changeable: Iterable[str]) -> list[str]:
    """The same for what commands may only see or reach."""
    places = (*roots, *_accepted(changeable, ()))
    ways = (way for path in dict.fromkeys(paths) if (way := _way(path)) is not None)
    return [way.real for way in ways if not _is_doubtful(way, places)]


def _accepted(paths: Iterable[str], places: Sequence[str]) -> list[str]:
    """Those whose links lie neither in these places nor in each other; what has no link counts first."""
    ways = {path: way for path in paths if (way := _way(path)) is not None}
    found: dict[str, None] = {}
    for path in sorted(ways, key=lambda one: (bool(ways[one].links), one.count("/"))):
        if not _is_doubtful(ways[path], (*found, *places)):
            found[ways[path].real] = None
    return list(dict.fromkeys(way.real for way in ways.values() if way.real in found))


def really(paths: Iterable[str]) -> list[str]:
    """Where existing paths lie, whatever links say: for what is taken away from commands, not given to them."""
    return [real for path in dict.fromkeys(paths) if os.path.lexists(real := os.path.realpath(path))]


def outermost(paths: Iterable[str]) -> list[str]:
    """Those that lie in no other one."""
    kept = list(dict.fromkeys(paths))
    return [path for path in kept if not any(is_below(path, other) for other in kept)]


def is_below(path: str, root: str) -> bool:
    """Whether a path lies below a directory, and is not that directory itself."""
    if not path.startswith(root) or path == root:
        return False
    return root.endswith("/") or path[len(root)] == "/"


def _is_doubtful(way: _Way, places: Sequence[str]) -> bool:
    return any(is_below(link, place) for link in way.links for place in places)


def _way(path: str) -> _Way | None:
    """Follow a path link by link; None: it is not there."""
    waiting = [name for name in reversed(path.split("/")) if name not in ("", ".")]
    place: str = ""
    links: list[str] = []
    while waiting:
        name = waiting.pop()
        if name == "..":
            place = os.path.dirname(place) if place else ""
            continue
        step = f"{place}/{name}"
        try:
            is_link = stat.S_ISLNK(os.lstat(step).st_mode)
        except OSError:
            return None
        if not is_link:
            place = step
            continue
        links.append(step)
        if len(links) > _MAX_LINKS:
            return None
        target = os.readlink(step)
        place = "" if target.startswith("/") else place
        waiting += [name for name in reversed(target.split("/")) if name not in ("", ".")]
    return _Way(place or "/", tuple(links))

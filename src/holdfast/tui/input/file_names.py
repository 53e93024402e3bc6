"""The names of a project's files, for completion: found once in a while, in bounded time."""

import os
import time
from collections import deque

__all__ = ["FileNames", "score"]

_MOST = 20_000
_SLOWEST_S = 1.0
_FRESH_S = 15.0
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", ".cache", "target"}
)


class FileNames:
    """Knows the files below a directory; directories that nobody writes by hand are left out."""

    def __init__(self) -> None:
        self._root = ""
        self._found_at = 0.0
        self._names: list[str] = []

    def below(self, root: str) -> list[str]:
        """Paths relative to the root, directories with a slash behind them, those near the root first."""
        if root != self._root or time.monotonic() - self._found_at > _FRESH_S:
            self._names = _walk(root)
            self._root, self._found_at = root, time.monotonic()
        return self._names


def _walk(root: str) -> list[str]:
    ends = time.monotonic() + _SLOWEST_S
    found: list[str] = []
    waiting: deque[str] = deque([""])
    while waiting and len(found) < _MOST and time.monotonic() < ends:
        inner = waiting.popleft()
        try:
            with os.scandir(os.path.join(root, inner)) as entries:
                for entry in sorted(entries, key=lambda one: one.name):
                    if not entry.name.isprintable():
                        continue
                    name = f"{inner}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            found.append(f"{name}/")
                            waiting.append(f"{name}/")
                    else:
                        found.append(name)
        except OSError:
            continue
    return found[:_MOST]


def score(name: str, typed: str) -> int | None:
    """How well a path fits what was typed, the smaller the better; none when its letters do not come in that order."""
    lowered, wanted = name.lower(), typed.lower()
    base = lowered.rstrip("/").rpartition("/")[2]
    if base.startswith(wanted):
        return len(name)
    if wanted in base:
        return 1_000 + len(name)
    if wanted in lowered:
        return 2_000 + len(name)
    at = 0
    for char in wanted:
        at = lowered.find(char, at) + 1
        if not at:
            return None
    return 4_000 + len(name)

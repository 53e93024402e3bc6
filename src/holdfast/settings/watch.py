"""Notice changed settings files and load them again, without a watcher process: a handful of stat calls when asked.

A file that became broken counts with its last good content: its deny and ask rules stay in force, and the notice says
what is wrong. Everything else, trust included, counts as it is now.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

import msgspec

from holdfast.lib.positions import Json
from holdfast.settings.documents import command_line_path
from holdfast.settings.errors import SettingsError
from holdfast.settings.layout import find_layout
from holdfast.settings.load import Memory, Request, candidates, load
from holdfast.settings.model import Settings
from holdfast.settings.sources import MANAGED_DROP_INS

_Signature: TypeAlias = tuple[tuple[int, ...] | None, ...]


class Reloader:
    """Holds the current settings of a request and replaces them when a file changed."""

    def __init__(self, request: Request) -> None:
        """Load for the first time; a broken file is an error here, because there is no older state to keep."""
        self.request = request
        self.errors: tuple[SettingsError, ...] = ()
        """What is wrong with files on disk, so that older content of them is in force."""
        self._memory = Memory()
        self._paths, self._seen = self._look()
        self.current: Settings = load(request, self._memory)

    def changed(self) -> bool:
        """Whether any file that matters is not what it was when it was last looked at."""
        return signature(self._paths) != self._seen

    def changed_paths(self) -> list[str]:
        """The files that are not what they were when they were last looked at."""
        now = signature(self._paths)
        return [path for path, before, after in zip(self._paths, self._seen, now, strict=True) if before != after]

    def leave(self) -> None:
        """Leave a change as it is: the settings stay as they were until the next one."""
        self._paths, self._seen = self._look()

    def reload(self) -> Settings:
        """Load again and return the settings in force.

        A broken file counts with its last good content; when there is none, or a policy directory cannot be listed, all
        settings stay as they were.
        """
        self._paths, self._seen = self._look()
        self._memory.errors.clear()
        try:
            self.current = load(self.request, self._memory)
        except SettingsError as error:
            self.errors = (*self._memory.errors, error)
        else:
            self.errors = tuple(self._memory.errors)
        return self.current

    def refresh(self) -> Settings:
        """Return the settings in force, loaded again if a file changed."""
        return self.reload() if self.changed() else self.current

    def use_session(self, session: Mapping[str, Json]) -> Settings:
        """Replace the settings made for this session, and load again."""
        self.request = msgspec.structs.replace(self.request, session=session)
        return self.reload()

    def _look(self) -> tuple[tuple[str, ...], _Signature]:
        # Looked at before loading: a change during the load is then noticed the next time.
        paths = watched_paths(self.request)
        return paths, signature(paths)


def watched_paths(request: Request) -> tuple[str, ...]:
    """Return every path whose change may change the settings, also those that do not exist yet."""
    layout = find_layout(request.cwd, home=request.roots.home)
    places = (*request.roots.managed_existing, *request.roots.managed_native)
    found = [os.path.join(place, MANAGED_DROP_INS) for place in places]
    found += [os.path.join(place, ".git") for place in layout.directories]
    given = [value for value in request.cli.settings if not value.lstrip().startswith("{")]
    found += [command_line_path(value, cwd=layout.cwd, home=request.roots.home) for value in given]
    record = getattr(request.trust, "path", None)
    if isinstance(record, str):
        found.append(record)
    with suppress(SettingsError):  # a policy directory that cannot be listed: loading says so
        found += [candidate.path for candidate in candidates(request, layout)]
    return tuple(found)


def signature(paths: tuple[str, ...]) -> _Signature:
    """Return what stat says about each path now."""
    return tuple(_stat(path) for path in paths)


def _stat(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

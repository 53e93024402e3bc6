"""Single calls of a person, without a session: their changes can be taken back, and their long results stay."""

import hashlib
import logging
import os
import time
from contextlib import suppress

from holdfast.app.files import checkpoints_of
from holdfast.engine import Executor
from holdfast.host.file_state import note_read
from holdfast.lib.checkpoints import CheckpointStore
from holdfast.lib.names import read_path
from holdfast.lib.resolve import resolve_path
from holdfast.session import user_store
from holdfast.settings import SettingsError
from holdfast.settings.directories import private_directory, user_directories

__all__ = ["calls_home", "count_as_seen", "latest_changes"]

_log = logging.getLogger(__name__)
_SEEN_BYTES = 1024**3
_KEPT_S = 30 * 86_400.0


def calls_home(project: str) -> str | None:
    """The private directory of the single calls in a directory; None where there can be none."""
    path = _home(project)
    try:
        private_directory(os.path.dirname(path))
        private_directory(path)
    except (OSError, SettingsError) as error:
        _log.warning("this call cannot be taken back, and long results go with it: %s", error)
        return None
    _forget_old(os.path.join(path, "tool-results"))
    return path


def count_as_seen(executor: Executor, path: str) -> None:
    """A person who changes a file by hand has seen it as it is now."""
    with suppress(OSError, ValueError):  # what cannot be opened is told by the tool itself
        real = resolve_path(os.path.join(executor.state.cwd, os.path.expanduser(read_path(path)))).path
        seen = note_read(real) if os.stat(real).st_size <= _SEEN_BYTES else None  # the tools refuse larger ones
        if seen is not None:
            executor.state.apply(seen, "Read")


def latest_changes(project: str) -> CheckpointStore | None:
    """Where the newest change in this directory is kept that can still be taken back, by a session or a single call."""
    homes = [*user_store().paths(project), _home(project)]
    stores = [checkpoints_of(home) for home in homes]
    newest = [(changes[-1].time_s, index) for index, store in enumerate(stores) if (changes := store.changes())]
    return stores[max(newest)[1]] if newest else None


def _home(project: str) -> str:
    digest = hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]
    return os.path.join(user_directories().state, "calls", digest)


def _forget_old(directory: str) -> None:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and time.time() - entry.stat().st_mtime > _KEPT_S:
                os.unlink(entry.path)

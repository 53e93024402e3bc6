"""Old sessions go, by age, number and size. A session in use never does."""

import os
import shutil
import time
from contextlib import suppress
from typing import NamedTuple

from holdfast.session.directory import SessionStore
from holdfast.session.errors import SessionBusy, SessionError
from holdfast.session.lock import SessionLock
from holdfast.session.mirror import forget_mirror
from holdfast.session.private import open_child_directory, open_private_directory
from holdfast.session.summaries import SessionSummary, is_in_use, list_sessions

__all__ = ["Pruned", "Retention", "prune"]

_LEFTOVER = ".removing-"
"""How the name of a directory begins that is being removed, or whose removal was cut short."""
_DAY_S = 86_400.0


class Retention(NamedTuple):
    """What is kept; a limit of none is no limit."""

    keep_days: float | None = 30
    keep_count: int | None = None
    """Sessions per project."""
    max_bytes: int | None = None
    """Of all sessions together."""


class Pruned(NamedTuple):
    """What a pruning did."""

    removed: tuple[SessionSummary, ...]
    failed: tuple[tuple[SessionSummary, str], ...]
    """Sessions that should have gone, and why they did not."""


def prune(
    store: SessionStore,
    retention: Retention,
    *,
    project: str | None = None,
    now: float | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Remove sessions beyond the limits, the longest unused first."""
    removed: list[SessionSummary] = []
    failed: list[tuple[SessionSummary, str]] = []
    if not dry_run:
        _sweep(store)
    for summary in _surplus(list_sessions(store, project), retention, time.time() if now is None else now):
        try:
            if not dry_run:
                _remove(store, summary.path)
        except SessionBusy:
            continue  # resumed since we looked
        except (OSError, SessionError) as error:
            failed.append((summary, str(error)))
        else:
            removed.append(summary)
    return Pruned(tuple(removed), tuple(failed))


def _surplus(newest_first: list[SessionSummary], retention: Retention, now: float) -> list[SessionSummary]:
    kept_of: dict[str, int] = {}
    total = 0
    surplus: list[SessionSummary] = []
    for summary in newest_first:
        project = os.path.dirname(summary.path)
        kept = kept_of.get(project, 0)
        too_old = retention.keep_days is not None and now - summary.active_at > retention.keep_days * _DAY_S
        too_many = retention.keep_count is not None and kept >= retention.keep_count
        too_big = retention.max_bytes is not None and total + summary.size_bytes > retention.max_bytes
        if (too_old or too_many or too_big) and not summary.live:
            surplus.append(summary)
        else:
            kept_of[project] = kept + 1
            total += summary.size_bytes
    return surplus[::-1]


def _remove(store: SessionStore, path: str) -> None:
    """Lock it, so that nobody resumes it now; move it out of sight in one step; then remove its files."""
    name = os.path.basename(path)
    slug_path = os.path.dirname(path)
    root = open_private_directory(store.root)
    try:
        slug = open_child_directory(root, os.path.basename(slug_path), path=slug_path)
    finally:
        os.close(root)
    try:
        directory = open_child_directory(slug, name, path=path)
        try:
            if is_in_use(directory, path=path):
                raise SessionBusy("the session is in use", path=path)
            lock = SessionLock.take(directory, path=path)
            try:
                forget_mirror(path)
                os.rename(name, _LEFTOVER + name, src_dir_fd=slug, dst_dir_fd=slug)
                shutil.rmtree(_LEFTOVER + name, dir_fd=slug)
            finally:
                lock.release()
        finally:
            os.close(directory)
    finally:
        os.close(slug)
    with suppress(OSError):  # the project's directory goes with its last session
        os.rmdir(slug_path)


def _sweep(store: SessionStore) -> None:
    """Finish removals that were cut short."""
    with suppress(OSError, SessionError):
        for slug in os.listdir(store.root):
            folder = os.path.join(store.root, slug)
            with suppress(OSError):
                for name in os.listdir(folder):
                    if name.startswith(_LEFTOVER):
                        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)

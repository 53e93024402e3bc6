"""Earlier contents of files, kept by their hash, so that changes can be taken back.

Every change is one line in a log: which file, its content before, its content after. Contents are stored once each,
under their own hash, which is checked before anything is restored. A file that somebody else has changed since is not
touched. The oldest contents go when the store grows over its limit.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.lib.atomic import write_atomic
from holdfast.lib.handles import regular_file
from holdfast.lib.stamp import hash_fd
from holdfast.lib.undoing import Plan, Restored, UndoRefusedError, chunks, restore_all

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Change", "CheckpointStore", "Restored", "UndoRefusedError"]

_LOG = "changes.jsonl"
_LINKED_BYTES = 1024 * 1024


class Change(msgspec.Struct, frozen=True):
    """One file changed by one call."""

    call: str
    path: str
    before: str | None
    """Hash of the earlier content; none if there was no file."""
    after: str | None
    """Hash of the later content; none if the file was removed."""
    mode: int = 0o644
    time_s: float = 0.0
    undone: bool = False


class CheckpointStore:
    """Keeps contents and the log of changes in one private directory."""

    def __init__(self, home: str, *, limit_bytes: int = 1024**3) -> None:
        self._home = home
        self._blobs = os.path.join(home, "blobs")
        self._limit = limit_bytes

    def keep(self, fd: int, sha256: str | None = None, *, source: str | None = None) -> str:
        """Store the content of an open file and return its hash; content that is already there costs nothing.

        Args:
            fd: The open file.
            sha256: Its hash, if known.
            source: Its path. A large file about to be replaced by a rename can be linked instead of copied, because
                nobody will write into the old one any more; the hash tells if somebody does.
        """
        digest = sha256 or hash_fd(fd)
        path = self._blob(digest)
        if os.path.exists(path):
            return digest
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if source is not None and os.fstat(fd).st_size >= _LINKED_BYTES:
            try:
                os.link(source, path, follow_symlinks=False)
            except OSError:
                pass  # another file system, or links not allowed: copy
            else:
                return digest
        write_atomic(path, chunks(fd), mode=0o600)
        self._shrink()
        return digest

    def record(self, change: Change) -> None:
        """Add one change to the log, in a single write that a crash leaves whole or absent."""
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        stamped = change if change.time_s else msgspec.structs.replace(change, time_s=time.time())
        said = json.dumps(msgspec.structs.asdict(stamped), separators=(",", ":"))
        line = said.encode("utf-8", "surrogatepass") + b"\n"
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        log = os.open(os.path.join(self._home, _LOG), flags, 0o600)
        try:
            size = os.fstat(log).st_size
            if size and os.pread(log, 1, size - 1) != b"\n":
                line = b"\n" + line  # a crash cut the last line; it must not swallow this one
            os.write(log, line)
            os.fsync(log)
        finally:
            os.close(log)

    def forget(self, change: Change) -> None:
        """Note that a change does not stand any more: it was taken back, or never came about."""
        self.record(msgspec.structs.replace(change, undone=True, time_s=0.0))

    def changes(self) -> list[Change]:
        """Return the changes that can still be taken back, oldest first."""
        standing: list[Change] = []
        for change in self._log():
            if not change.undone:
                standing.append(change)
                continue
            key = (change.call, change.path)  # ids may come again in a later turn: the latest such change is meant
            last = next((index for index in reversed(range(len(standing))) if _key(standing[index]) == key), None)
            if last is not None:
                del standing[last]
        return standing

    def undo(self, to: str | None = None) -> list[Restored]:
        """Take back the last call, or every call since and including `to`.

        All files are checked first; if one cannot be brought back, all keep the content that they have.

        Raises:
            UndoRefusedError: A content is lost or damaged, a file was changed by somebody else, or the call is unknown.
        """
        chosen, plans = self._planned(to)
        restored = restore_all(plans, self._home)
        try:
            for change in reversed(chosen):
                self.forget(change)
        except OSError as error:
            reason = error.strerror or error
            raise UndoRefusedError(
                [f"all files were taken back, but this could not be noted: {reason}; undo again once that is mended"]
            ) from error
        return restored

    def preview(self, to: str | None = None) -> list[Plan]:
        """What `undo` would do, file by file; raises as it would."""
        return self._planned(to)[1]

    def _planned(self, to: str | None) -> tuple[list[Change], list[Plan]]:
        standing = self.changes()
        chosen = _since(standing, standing[-1].call if to is None and standing else to)
        if not chosen:
            raise UndoRefusedError(
                [f"no change by call {to!r} is on record" if to else "there is nothing to take back"]
            )
        oldest: dict[str, Change] = {}
        newest: dict[str, Change] = {}
        for change in chosen:
            oldest.setdefault(change.path, change)
            newest[change.path] = change
        plans = [self._plan(oldest[path], newest[path]) for path in oldest]
        problems = [problem for plan in plans if (problem := self._problem(plan)) is not None]
        if problems:
            raise UndoRefusedError(problems)
        return chosen, plans

    def _plan(self, oldest: Change, newest: Change) -> Plan:
        then = oldest.before
        return Plan(newest.path, newest.after, then, oldest.mode, None if then is None else self._blob(then))

    def _problem(self, plan: Plan) -> str | None:
        current = _hash_of(plan.path)
        if current not in {plan.now, plan.then}:
            return f"{plan.path!r} was changed by somebody else since; it is left as it is"
        if plan.then is None or current == plan.then:
            return None
        try:
            with regular_file(self._blob(plan.then)) as blob:
                if hash_fd(blob) != plan.then:
                    return f"the earlier content of {plan.path!r} is damaged"
        except OSError:
            return f"the earlier content of {plan.path!r} is no longer kept"
        return None

    def _blob(self, digest: str) -> str:
        return os.path.join(self._blobs, digest[:2], digest)

    def _log(self) -> Iterable[Change]:
        try:
            with regular_file(os.path.join(os.path.realpath(self._home), _LOG)) as handle:
                raw = b"".join(chunks(handle))
        except OSError:
            return
        for line in raw.split(b"\n"):
            with suppress(ValueError, TypeError):  # a line that a crash cut short
                fields: dict[str, Any] = json.loads(line)
                yield Change(**fields)

    def _shrink(self) -> None:
        """Drop the oldest contents until the store is within its limit."""
        found: list[tuple[float, int, str]] = []
        for directory, _, names in os.walk(self._blobs):
            for name in names:
                path = os.path.join(directory, name)
                with suppress(OSError):
                    facts = os.lstat(path)
                    found.append((facts.st_ctime, facts.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            with suppress(OSError):
                os.unlink(path)
            total -= size


def _key(change: Change) -> tuple[str, str]:
    return change.call, change.path


def _since(standing: list[Change], call: str | None) -> list[Change]:
    """The changes since the latest call with this id; a file that comes again is another call's."""
    start = next((index for index in reversed(range(len(standing))) if standing[index].call == call), None)
    if start is None:
        return []
    paths = {standing[start].path}
    while start and standing[start - 1].call == call and standing[start - 1].path not in paths:
        start -= 1
        paths.add(standing[start].path)
    return standing[start:]


def _hash_of(path: str) -> str | None:
    """Hash of a file now; none if there is no file, and a value that fits nothing if it is no regular file."""
    try:
        with regular_file(path) as handle:
            return hash_fd(handle)
    except FileNotFoundError:
        return None
    except OSError:
        return "unreadable"

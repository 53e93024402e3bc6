"""The list of work that the model keeps: on disk beside the session, shared by who works on it, never torn or lost.

Every change reads the file under its directory's lock and replaces it as a whole, so that many writers, also in other
processes, lose nothing. Without a directory the list lives in memory.
"""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import msgspec

from holdfast.contract import ToolFailed
from holdfast.lib.lock import LockTimeoutError, directory_lock

__all__ = ["Status", "Todo", "WorkItem", "WorkList", "WorkState"]

Status = Literal["pending", "in_progress", "completed"]
_VERSION = 1
_FILE = "work-list.json"
_MAX_ITEMS = 1_000
_T = TypeVar("_T")


class WorkItem(msgspec.Struct):
    """One task."""

    id: str
    subject: str
    description: str = ""
    status: Status = "pending"
    active_form: str | None = None
    """What is going on while it is worked on, as "Running tests"."""
    owner: str | None = None
    blocks: list[str] = []
    blocked_by: list[str] = []
    metadata: dict[str, Any] = {}

    @property
    def is_internal(self) -> bool:
        """Kept for somebody's own use: not listed."""
        return bool(self.metadata.get("_internal"))


class Todo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a plain list, in either of the shapes that models write."""

    content: str
    status: Status
    activeForm: str | None = None  # noqa: N815 - as it is written and read
    id: str | None = None
    priority: Literal["high", "medium", "low"] | None = None


class WorkState(msgspec.Struct):
    """Everything that is kept."""

    version: int = _VERSION
    next_id: int = 1
    items: dict[str, WorkItem] = {}
    todos: dict[str, list[Todo]] = {}
    """Plain lists, by agent."""
    unverified: int = 0
    """Tasks that were completed since the last one that checks something."""

    def add(self, subject: str, description: str, active_form: str | None, metadata: Mapping[str, Any]) -> WorkItem:
        """A new task with the next number."""
        if len(self.items) >= _MAX_ITEMS:
            raise ToolFailed(f"the list holds {_MAX_ITEMS} tasks, which is the limit; delete some that are done")
        item = WorkItem(str(self.next_id), subject, description, active_form=active_form, metadata=dict(metadata))
        self.next_id += 1
        self.items[item.id] = item
        return item

    def remove(self, item_id: str) -> None:
        """Take a task away, and out of what others wait for."""
        self.items.pop(item_id, None)
        for item in self.items.values():
            item.blocks = [other for other in item.blocks if other != item_id]
            item.blocked_by = [other for other in item.blocked_by if other != item_id]

    def open_blockers(self, item: WorkItem) -> list[str]:
        """What it still waits for."""
        found = (self.items.get(other) for other in item.blocked_by)
        return [other.id for other in found if other is not None and other.status != "completed"]


class WorkList:
    """One list for everybody of a scope: a session now, a team later."""

    def __init__(self, directory: str | None = None) -> None:
        self._directory = directory
        self._memory = WorkState()

    def look(self) -> WorkState:
        """The list as it is now; changing it changes nothing."""
        if self._directory is None:
            return msgspec.json.decode(msgspec.json.encode(self._memory), type=WorkState)
        return self._read(self._directory)

    def change(self, deed: Callable[[WorkState], _T]) -> _T:
        """Change the list in one step; a deed that raises changes nothing.

        Raises:
            ToolFailed: The file cannot be read or written, in words.
        """
        if self._directory is None:
            state = self.look()
            done = deed(state)
            self._memory = state
            return done
        try:
            with self._locked(self._directory) as directory:
                state = self._read(directory)
                done = deed(state)
                _replace(os.path.join(directory, _FILE), msgspec.json.encode(state))
                return done
        except LockTimeoutError as error:
            raise ToolFailed("somebody else is changing the task list; try again") from error
        except OSError as error:
            raise ToolFailed(f"the task list cannot be written: {error.strerror or error}") from error

    @contextmanager
    def _locked(self, directory: str) -> Generator[str]:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            with directory_lock(handle, path=directory):
                yield directory
        finally:
            os.close(handle)

    @staticmethod
    def _read(directory: str) -> WorkState:
        file = os.path.join(directory, _FILE)
        try:
            with open(file, "rb") as stream:
                found = msgspec.json.decode(stream.read(), type=WorkState)
        except FileNotFoundError:
            return WorkState()
        except (msgspec.DecodeError, OSError) as error:
            raise ToolFailed(
                f"the task list {file!r} cannot be read: {error}; move it away to begin a new one"
            ) from error
        if found.version > _VERSION:
            raise ToolFailed(f"the task list {file!r} was written by a newer version of Holdfast")
        return found


def _replace(file: str, data: bytes) -> None:
    """Old or new, never between."""
    temporary = f"{file}.{os.getpid()}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise

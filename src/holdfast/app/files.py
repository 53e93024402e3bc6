"""What the file tools share: checkpoints for undo, and notes for the sweep after a crash."""

import os
from collections.abc import Callable

from holdfast.contract import Tool
from holdfast.contract.roles import OpenBuffers
from holdfast.host.programs import current_folder
from holdfast.host.ripgrep import Ripgrep
from holdfast.host.targets import Targets
from holdfast.lib.checkpoints import CheckpointStore
from holdfast.lib.strays import StrayNotes
from holdfast.permissions import PermissionContext
from holdfast.settings import Settings
from holdfast.settings.directories import user_directories
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.notebook_edit import NotebookEdit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write
from holdfast.tools.search.glob import LIMIT, Glob
from holdfast.tools.search.grep import Grep

__all__ = ["CHECKPOINTS", "FileKit", "checkpoints_of"]

CHECKPOINTS = "checkpoints"


class FileKit:
    """Read, Write, Edit, NotebookEdit, Glob and Grep around one view of the files."""

    def __init__(self, session_directory: str | None = None, buffers: OpenBuffers | None = None) -> None:
        """With a session's directory every change can be taken back, and a crash leaves nothing behind.

        `buffers` is the editor that runs the session, where it tells what is not saved.
        """
        self.permissions: Callable[[], PermissionContext] | None = None
        """The session's rights as they are now, for what is found once for all; calls bring their own."""
        self._buffers = buffers
        self._checkpoints = None if session_directory is None else checkpoints_of(session_directory)
        self._strays = None if session_directory is None else StrayNotes(_stray_directory())

    def recover(self) -> list[str]:
        """Remove temporary files that a crashed process left; the paths that were removed."""
        return [] if self._strays is None else self._strays.recover()

    def roots(self) -> tuple[str, ...]:
        """The directories we work in, as they are now."""
        return current_folder() if self.permissions is None else self.permissions().roots.working

    def tools(self, ripgrep: Ripgrep, settings: Settings | None = None) -> list[Tool]:
        """The tools, all with the same view."""
        limit = None if settings is None else settings.get("globLimits.maxResults")
        targets = Targets()
        bench = Workbench(targets, checkpoints=self._checkpoints, strays=self._strays, buffers=self._buffers)
        return [
            Read(targets, self._buffers),
            Write(bench),
            Edit(bench),
            NotebookEdit(bench),
            Glob(ripgrep, targets, limit=limit if isinstance(limit, int) else LIMIT),
            Grep(ripgrep, targets),
        ]

    def close(self) -> None:
        """Forget the notes after a clean end."""
        if self._strays is not None:
            self._strays.close()


def checkpoints_of(session_directory: str) -> CheckpointStore:
    """The changes of a session that can be taken back."""
    return CheckpointStore(os.path.join(session_directory, CHECKPOINTS))


def _stray_directory() -> str:
    return os.path.join(user_directories().state, "writing")

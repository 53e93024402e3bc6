"""Where long output goes: into the session's directory, or into a private temporary one that goes with us."""

import itertools
import os
import secrets
import stat
import weakref
from contextlib import suppress

__all__ = ["Places"]


class Places:
    """Paths for results and task outputs. They are named at once and made when first needed."""

    def __init__(self, session_directory: str | None = None) -> None:
        """Use a session's directory, or choose a temporary name that nobody can guess."""
        self.is_temporary = session_directory is None
        self.root = session_directory or os.path.join(_temporary_root(), f"holdfast-{secrets.token_hex(12)}")
        self.results = os.path.join(self.root, "tool-results")
        self.tasks = os.path.join(self.root, "tasks")
        self._made: set[str] = set()
        # Unique without a look at the disk, also beside what an earlier run of this session has left.
        self._run = secrets.token_hex(3)
        self._numbers = itertools.count(1)
        self._remover = weakref.finalize(self, _remove, self.root, os.getpid()) if self.is_temporary else None

    def result_file(self, stem: str) -> str:
        """A path in `results` that nobody has; the file itself is not made."""
        directory = self.results if self.results in self._made else self.make(self.results)
        return f"{directory}/{_safe(stem)}-{self._run}-{next(self._numbers)}.txt"

    def task_file(self, task_id: str) -> str:
        """The output file of a task; ids are not used twice."""
        return f"{self.make(self.tasks)}/{_safe(task_id)}.output"

    def make(self, directory: str) -> str:
        """Make one of the directories, readable by this user alone.

        Raises:
            OSError: It cannot be made, or something that is not ours is in its place.
        """
        if directory not in self._made:
            for path in (self.root, directory):
                with suppress(FileExistsError):
                    os.mkdir(path, 0o700)
                found = os.lstat(path)
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                    raise OSError(f"{path!r} is not a directory of Holdfast; move it away")
            self._made.add(directory)
        return directory

    def remove(self) -> None:
        """Remove the temporary directory with all that is in it; a session's directory stays."""
        if self._remover is not None:
            _remove(self.root, os.getpid())
            self._made.clear()


def _remove(root: str, owner_pid: int) -> None:
    if os.getpid() == owner_pid and os.path.isdir(root):  # never by a fork of us
        import shutil  # noqa: PLC0415 - only who has written something pays for it

        shutil.rmtree(root, ignore_errors=True)


def _temporary_root() -> str:
    for candidate in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp"):  # noqa: S108 - a name of 24 random digits, made 0700
        if candidate and os.path.isabs(candidate) and os.access(candidate, os.W_OK | os.X_OK):
            return candidate
    return os.getcwd()


def _safe(text: str) -> str:
    if text.isascii() and text.isalnum() and len(text) <= 80:
        return text
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in text[:80]) or "x"

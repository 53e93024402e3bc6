"""Where long output goes: into the session's directory, or into a private temporary one that goes with us."""

import os
import secrets
import stat
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

    def result_file(self, stem: str) -> str:
        """A path in `results` that is not taken yet."""
        return self._free(self.results, _safe(stem), ".txt")

    def task_file(self, task_id: str) -> str:
        """The output file of a task."""
        return self._free(self.tasks, _safe(task_id), ".output")

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
                    raise OSError(f"{path!r} is not a directory of ours; move it away")
            self._made.add(directory)
        return directory

    def remove(self) -> None:
        """Remove the temporary directory with all that is in it; a session's directory stays."""
        if self.is_temporary and self._made:
            import shutil  # noqa: PLC0415 - only who has written something pays for it

            shutil.rmtree(self.root, ignore_errors=True)
            self._made.clear()

    def _free(self, directory: str, stem: str, suffix: str) -> str:
        self.make(directory)
        path = os.path.join(directory, stem + suffix)
        number = 1
        while os.path.lexists(path):
            path = os.path.join(directory, f"{stem}-{number}{suffix}")
            number += 1
        return path


def _temporary_root() -> str:
    for candidate in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp"):  # noqa: S108 - a name of 24 random digits, made 0700
        if candidate and os.path.isabs(candidate) and os.access(candidate, os.W_OK | os.X_OK):
            return candidate
    return os.getcwd()


def _safe(text: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in text[:80]) or "x"

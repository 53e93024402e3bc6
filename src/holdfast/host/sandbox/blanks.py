"""What covers other things in a sandbox: empty, and for what is hidden such that nobody can open it."""

import contextlib
import os
import shutil
import tempfile
from typing import Final

__all__ = ["SUFFIX", "Blanks", "remove_place"]

SUFFIX: Final = ".blanks"
_CLOSED: Final = "closed"


class Blanks:
    """Those of one session.

    They are held open: a command that may write where they lie could put something else in their place.
    """

    def __init__(self, directory: str | None = None, *, owner: str = "") -> None:
        """Make them.

        Args:
            directory: A private one, where the next start removes what a crash left; a temporary one when omitted.
            owner: Says whose they are, for that start.
        """
        self._place = tempfile.mkdtemp(prefix=f"{owner}." if owner else "holdfast-", suffix=SUFFIX, dir=directory)
        self.closed_file, self.closed_directory, self.open_directory = (
            os.path.join(self._place, name) for name in ("file", _CLOSED, "open")
        )
        os.mkdir(self.closed_directory, 0)
        os.mkdir(self.open_directory, 0o555)
        os.close(os.open(self.closed_file, os.O_CREAT | os.O_EXCL | os.O_RDONLY | os.O_CLOEXEC, 0))
        self._handles = {
            path: os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            for path in (self.closed_file, self.closed_directory, self.open_directory)
        }

    def __contains__(self, path: str) -> bool:
        return path in self._handles

    def opened(self, path: str) -> int:
        """A handle of its own for one of them.

        Raises:
            OSError: Somebody took it away.
        """
        if not os.fstat(self._handles[path]).st_nlink:
            raise OSError(f"{path!r} was removed; begin a new session")
        return os.dup(self._handles[path])

    def remove(self) -> None:
        """The session is over."""
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()
        remove_place(self._place)


def remove_place(place: str) -> None:
    """Take away where such things lie."""
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(place, _CLOSED))  # only empty; nobody may look into it
    shutil.rmtree(place, ignore_errors=True)

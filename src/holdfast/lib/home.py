"""The user's home directory, and directories that are made below it, but never it itself."""

import errno
import os
from collections.abc import Mapping

__all__ = ["HomeMissingError", "check_home", "home_directory", "make_directories"]


class HomeMissingError(OSError):
    """The home directory that something should be made in does not exist; the message says what to do."""

    def __init__(self, home: str) -> None:
        super().__init__(
            errno.ENOENT,
            f"the home directory {home!r} does not exist, and is not made. Set HOME to one that does, or "
            "XDG_STATE_HOME and XDG_CONFIG_HOME to other places",
        )

    def __str__(self) -> str:
        """Only the words: the number tells people nothing."""
        return self.strerror or ""


def home_directory(environ: Mapping[str, str] | None = None) -> str:
    """Return the home directory: `$HOME` when it is absolute, else what the user database says."""
    home = (os.environ if environ is None else environ).get("HOME", "")
    return os.path.normpath(home) if os.path.isabs(home) else os.path.expanduser("~")


def check_home(path: str) -> None:
    """Raise `HomeMissingError` when a path lies in a home directory that does not exist."""
    home = home_directory()
    below = os.path.join(home, "")
    if os.path.join(os.path.abspath(path), "").startswith(below) and not os.path.isdir(home):
        raise HomeMissingError(home)


def make_directories(path: str, *, mode: int = 0o700) -> None:
    """Make a directory and the parents it lacks.

    A home directory that is not there is not made: its name is a mistake, or it is not mounted yet, and what was
    written there would be lost or in the way.

    Raises:
        HomeMissingError: It would be the home directory, or lie in it, and that does not exist.
        OSError: The system refused.
    """
    check_home(path)
    os.makedirs(path, mode=mode, exist_ok=True)

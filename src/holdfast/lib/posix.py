"""What only POSIX systems have, by names that exist everywhere: flags that mean nothing elsewhere, words for the rest.

The library loads on Windows, so that own tools, models and the executor can be used there. What stands on directory
handles or process groups says in words that it is missing.
"""

import os

O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
O_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
O_NOCTTY: int = getattr(os, "O_NOCTTY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
O_PATH: int = getattr(os, "O_PATH", 0)
"""Open without the right to read; 0 where a handle always needs it."""

NO_HANDLES = "this system has no directory handles (openat), on which the file tools stand; use a POSIX system, or WSL"
NO_PROCESSES = "this system has no process groups, on which commands stand; use a POSIX system, or WSL"


def has_directory_handles() -> bool:
    """Whether a file can be opened by its name in an open directory."""
    return os.open in os.supports_dir_fd and O_NOFOLLOW != 0


def has_process_groups() -> bool:
    """Whether a command and all it starts can be ended together."""
    return hasattr(os, "killpg") and hasattr(os, "setsid")

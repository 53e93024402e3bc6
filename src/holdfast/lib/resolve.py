"""Where a path leads, as the kernel would walk it, and whether the way goes through a kernel file system."""

import errno
import os
from typing import NamedTuple

_MAX_LINKS = 40
_KERNEL_ROOTS = ("/proc", "/sys", "/dev")
_HARMLESS = ("/dev", "/dev/null")


class Resolved(NamedTuple):
    """The end of a path."""

    path: str
    """Absolute and free of links, as far as it exists."""
    kernel: str | None
    """The first place on the way inside /proc, /sys or /dev, but for /dev/null; links there lead to anything."""


def resolve_path(path: str) -> Resolved:
    """Follow every link of an absolute path; a missing rest stays as it is.

    Raises:
        OSError: More than 40 links (`ELOOP`), or a NUL in the path (`EINVAL`).
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "the path holds a NUL character", path)
    rest = path.split("/")[::-1]
    done = ""
    kernel: str | None = None
    links = 0
    while rest:
        name = rest.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{name}"
        if kernel is None and here not in _HARMLESS and (here in _KERNEL_ROOTS or _is_kernel(done)):
            kernel = here
        try:
            target = os.readlink(here)
        except OSError:
            done = here  # no link, or not there, or not ours to look at: the open will tell
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if target.startswith("/"):
            done = ""
        rest.extend(target.split("/")[::-1])
    return Resolved(done or "/", done if done == "/dev" else kernel)


def _is_kernel(path: str) -> bool:
    return any(path == root or path.startswith(root + "/") for root in _KERNEL_ROOTS)

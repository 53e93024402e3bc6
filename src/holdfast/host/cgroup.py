"""A ceiling on tasks by the kernel itself, where we may set one: for a fork bomb that outruns the watchdog."""

import contextlib
import os

# Threads count too, and a build may have many; the watchdog counts processes and is the finer measure.
TASKS_PER_DESCENDANT = 8

_PREFIX = "holdfast-"


class TaskLimit:
    """A control group of our own with `pids.max`. This process and all it starts from then on live in it."""

    def __init__(self, path: str, home: str) -> None:
        self.path = path
        self.home = home

    def close(self) -> None:
        """Go back to the group we came from and remove ours; one that is still used goes at a later start."""
        with contextlib.suppress(OSError):
            _write(os.path.join(self.home, "cgroup.procs"), str(os.getpid()))
            os.rmdir(self.path)


def limit_tasks(max_tasks: int) -> TaskLimit | None:
    """Move this process into a group with at most so many tasks; None where the system does not let us."""
    home = find_group("/sys/fs/cgroup", "/proc/self/cgroup")
    if home is None:
        return None
    _sweep(home)
    path = os.path.join(home, f"{_PREFIX}{os.getpid()}")
    try:
        _enable(home)
        os.mkdir(path, 0o755)
    except OSError:
        return None
    try:
        _write(os.path.join(path, "pids.max"), str(max_tasks))
        _write(os.path.join(path, "cgroup.procs"), str(os.getpid()))
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        return None
    return TaskLimit(path, home)


def can_limit() -> bool:
    """Whether there is a control group in which we may make our own."""
    return find_group("/sys/fs/cgroup", "/proc/self/cgroup") is not None


def find_group(mounts: str, memberships: str) -> str | None:
    """The directory of the control group we are in, of the kind that counts tasks."""
    try:
        with open(memberships, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, path in lines:
        if "pids" in controllers.split(","):
            return _existing(f"{mounts}/pids{path}")
    for number, controllers, path in lines:
        if number == "0" and not controllers:
            return _existing(f"{mounts}{path}", "cgroup.controllers")
    return None


def _existing(directory: str, name: str = "cgroup.procs") -> str | None:
    directory = directory.rstrip("/")
    return directory if os.access(os.path.join(directory, name), os.R_OK) and os.access(directory, os.W_OK) else None


def _sweep(home: str) -> None:
    """Remove the groups of sessions that were killed; the kernel refuses to remove one that is used."""
    for name in os.listdir(home):
        if name.startswith(_PREFIX):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(home, name))


def _enable(home: str) -> None:
    # The unified hierarchy hands controllers down only when told; this one allows processes on the way down.
    control = os.path.join(home, "cgroup.subtree_control")
    if os.path.exists(control):
        _write(control, "+pids")


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)

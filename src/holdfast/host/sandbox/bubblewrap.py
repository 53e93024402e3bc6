"""The arguments of bubblewrap: what it promises is entirely what these say."""

import os
import tempfile
from collections.abc import Callable, Sequence

from holdfast.host.sandbox.mounts import Mount, Plan
from holdfast.host.sandbox.policy import Policy

__all__ = ["arguments"]

_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ALWAYS = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


class Blanks:
    """What covers other things: empty, and for what is hidden such that nobody can open it."""

    def __init__(self) -> None:
        self._place = tempfile.mkdtemp(prefix="holdfast-blank-")
        self.closed_file, self.closed_directory, self.open_directory = (
            os.path.join(self._place, name) for name in ("file", "closed", "open")
        )
        os.mkdir(self.closed_directory, 0)
        os.mkdir(self.open_directory, 0o555)
        os.close(os.open(self.closed_file, os.O_CREAT | os.O_EXCL | os.O_RDONLY | os.O_CLOEXEC, 0))

    def remove(self) -> None:
        """The session is over."""
        os.rmdir(self.closed_directory)
        os.rmdir(self.open_directory)
        os.unlink(self.closed_file)
        os.rmdir(self._place)


def arguments(
    policy: Policy,
    plan: Plan,
    blanks: Blanks,
    *,
    cwd: str,
    disables_users: bool,
    opened: Callable[[str], int] | None = None,
) -> list[str]:
    """Everything up to the command; each value is taken by the option before it.

    Args:
        policy: What is allowed.
        plan: The mounts that make it true.
        blanks: What covers the rest.
        cwd: Where the command starts.
        disables_users: Bubblewrap itself keeps user namespaces from being made.
        opened: Opens what is to be mounted, so that a link that is put there meanwhile leads nowhere; None: by name.
    """
    made = [*_NAMESPACES, *(("--disable-userns",) if disables_users else ()), *_ALWAYS]
    if not policy.open_network:
        made.append("--unshare-net")
    made += ["--ro-bind", "/", "/", "--dev", "/dev", *_proc(policy)]
    closed: list[str] = []
    for mount in plan.mounts:
        made += _mounted(mount, blanks, closed, opened)
    for path in closed:
        made += ["--remount-ro", path]
    made += ["--chdir", cwd]
    return made


def _proc(policy: Policy) -> list[str]:
    if policy.is_nested:
        return []
    # Root without capabilities still owns the kernel's settings there, such as the program that takes core dumps.
    return ["--proc", "/proc", *(("--remount-ro", "/proc") if os.geteuid() == 0 else ())]


def _mounted(mount: Mount, blanks: Blanks, closed: list[str], opened: Callable[[str], int] | None) -> Sequence[str]:
    path = mount.path
    if mount.kind in ("writable", "fixed"):
        option = "--bind" if mount.kind == "writable" else "--ro-bind"
        return (option, path, path) if opened is None else (f"{option}-fd", str(opened(path)), path)
    if mount.kind == "placeholder":
        return "--ro-bind", blanks.open_directory, path
    if not mount.is_dir:
        return "--ro-bind", blanks.closed_file, path
    if mount.has_shown:
        closed.append(path)
        return "--tmpfs", path
    return "--ro-bind", blanks.closed_directory, path

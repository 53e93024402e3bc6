"""The arguments of bubblewrap: what it promises is entirely what these say."""

import os
from collections.abc import Callable, Sequence

from holdfast.host.sandbox.blanks import Blanks
from holdfast.host.sandbox.mounts import Mount, Plan
from holdfast.host.sandbox.policy import Policy

__all__ = ["arguments"]

_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_ALWAYS = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


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
    # A root mounted later would cover the new /dev and /proc with those of the machine.
    whole = plan.mounts[:1] if plan.mounts and plan.mounts[0].path == "/" else ()
    made += ["--bind" if whole else "--ro-bind", "/", "/", "--dev", "/dev", *_proc(policy)]
    closed: list[str] = []
    for mount in plan.mounts[len(whole) :]:
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
    if mount.has_shown and mount.is_dir:
        closed.append(path)
        return "--tmpfs", path
    blank = blanks.closed_directory if mount.is_dir else blanks.closed_file
    if mount.kind == "placeholder":
        blank = blanks.open_directory
    return ("--ro-bind", blank, path) if opened is None else ("--ro-bind-fd", str(opened(blank)), path)

"""Which wall there is on this machine: tried, not guessed."""

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from holdfast.host.programs import find_program
from holdfast.host.sandbox.seccomp import ARCHITECTURES

__all__ = ["Found", "NotAvailable", "look_for_sandbox"]

_LIMIT_S = 10.0
_TRY = ("--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev")
_TRUE = "/bin/true"


class NotAvailable(OSError):
    """There is no sandbox here; the text says why and what to do."""


class Found(NamedTuple):
    """The bubblewrap of this machine and what it can do."""

    program: str
    version: str
    disables_users: bool
    """It keeps user namespaces from being made inside; otherwise our filter does."""
    binds_handles: bool
    """It mounts what an open handle leads to, so that no link can be put in between."""
    has_proc: bool
    """A new /proc can be mounted, which most containers do not allow."""


def look_for_sandbox(*, path: str | None = None, outside: Iterable[str] = ()) -> Found:
    """Find bubblewrap and try it.

    Args:
        path: The program that the user chose (setting `sandbox.bwrapPath`).
        outside: Directories whose programs do not count.

    Raises:
        NotAvailable: There is none, or it cannot work here.
    """
    if not sys.platform.startswith("linux"):
        raise NotAvailable(f"there is no sandbox for {sys.platform} yet; leave `sandbox.enabled` out")
    if os.uname().machine not in ARCHITECTURES:
        raise NotAvailable(f"system calls of {os.uname().machine!r} are not known, so they cannot be filtered")
    program = path or find_program("bwrap", outside=outside)
    if program is None:
        raise NotAvailable("bubblewrap is missing; install it, on Debian and Ubuntu with: sudo apt install bubblewrap")
    if not (os.path.isabs(program) and os.access(program, os.X_OK)):
        raise NotAvailable(f"{program!r} is no program; give `sandbox.bwrapPath` the absolute path of bubblewrap")
    return _tried(program)


@lru_cache(maxsize=4)
def _tried(program: str) -> Found:
    version = _said(program, "--version").split()
    if len(version) != 2 or version[0] != "bubblewrap":
        raise NotAvailable(f"{program!r} is not bubblewrap; install it, or correct `sandbox.bwrapPath`")
    knows = _said(program, "--help")
    disables = "--disable-userns" in knows and _works(program, "--disable-userns") is None
    problem = _works(program, "--proc", "/proc")
    has_proc = problem is None
    if problem is not None and (problem := _works(program)) is not None:
        raise NotAvailable(_explain(program, problem))
    return Found(program, version[1], disables, "--bind-fd" in knows, has_proc)


def _said(program: str, option: str) -> str:
    try:
        done = subprocess.run([program, option], capture_output=True, timeout=_LIMIT_S, check=False, env={})
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NotAvailable(f"{program!r} cannot be run: {problem}") from problem
    return done.stdout.decode("utf-8", "replace")


def _works(program: str, *more: str) -> str | None:
    """None, or what bubblewrap complains about."""
    argv = [program, *_TRY, *more, "--", _TRUE]
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=_LIMIT_S, check=False, env={}, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    if done.returncode == 0:
        return None
    return done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"


def _explain(program: str, problem: str) -> str:
    return f"{program} does not work here ({problem.splitlines()[-1]}). {_advice()}"


def _advice() -> str:
    if _number("/proc/sys/user/max_user_namespaces") == 0:
        return "User namespaces are switched off: sudo sysctl user.max_user_namespaces=15000"
    if _number("/proc/sys/kernel/unprivileged_userns_clone") == 0:
        return "User namespaces are for root only: sudo sysctl kernel.unprivileged_userns_clone=1"
    if _number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        return (
            "AppArmor keeps it from making user namespaces: install the profile of the package apparmor-profiles for "
            "bwrap, or: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return (
            "In a container user namespaces need more rights: start it with --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined, and where /proc cannot be mounted set "
            "sandbox.enableWeakerNestedSandbox"
        )
    return "Check that user namespaces are allowed: unshare -Ur true"


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None

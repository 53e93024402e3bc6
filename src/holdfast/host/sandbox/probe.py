"""Which wall there is on this machine: tried, not guessed."""

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from holdfast.host.programs import find_program
from holdfast.host.sandbox.landlock import LEAST, grants_for, landlock_version, rights_of
from holdfast.host.sandbox.seccomp import ARCHITECTURES
from holdfast.host.sandbox.starter import Starter, starter_handle, starting

__all__ = ["Found", "NotAvailable", "look_for_landlock", "look_for_sandbox"]

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
    landlock: int = 0
    """The version of the kernel's own rules about files, where they can be the second wall; 0: they cannot."""


def look_for_sandbox(*, path: str | None = None, outside: Iterable[str] = ()) -> Found:
    """Find bubblewrap and try it.

    Args:
        path: The program that the user chose (setting `sandbox.bwrapPath`).
        outside: Directories whose programs do not count.

    Raises:
        NotAvailable: There is none, or it cannot work here.
    """
    if not sys.platform.startswith("linux"):
        mac = " (a profile for sandbox-exec is written and was never run: holdfast sandbox profile)"
        more = mac if sys.platform == "darwin" else ""
        raise NotAvailable(f"there is no sandbox for {sys.platform} yet{more}; leave `sandbox.enabled` out")
    if os.uname().machine not in ARCHITECTURES:
        raise NotAvailable(f"system calls of {os.uname().machine!r} are not known, so they cannot be filtered")
    program = path or find_program("bwrap", outside=outside)
    if program is None:
        raise NotAvailable("bubblewrap is missing; install it, on Debian and Ubuntu with: sudo apt install bubblewrap")
    if not (os.path.isabs(program) and os.access(program, os.X_OK)):
        raise NotAvailable(f"{program!r} is not a program; give `sandbox.bwrapPath` the absolute path of bubblewrap")
    found = _tried(program)
    if isinstance(found, str):
        raise NotAvailable(found)
    return found


@lru_cache(maxsize=4)
def _tried(program: str) -> Found | str:
    """What it can do, or why it cannot; both are found out once."""
    try:
        return _try(program)
    except NotAvailable as problem:
        return str(problem)


def _try(program: str) -> Found:
    version = _said(program, "--version").split()
    if len(version) != 2 or version[0] != "bubblewrap":
        raise NotAvailable(f"{program!r} is not bubblewrap; install it, or correct `sandbox.bwrapPath`")
    knows = _said(program, "--help")
    disables = "--disable-userns" in knows and _works(program, "--disable-userns") is None
    problem = _works(program, "--proc", "/proc")
    has_proc = problem is None
    if problem is not None and (problem := _works(program)) is not None:
        raise NotAvailable(_explain(program, problem))
    return Found(program, version[1], disables, "--bind-fd" in knows, has_proc, _second_wall(program))


def look_for_landlock() -> int:
    """The version of the kernel's own rules about files, tried.

    Raises:
        NotAvailable: It has none, or they cannot be used here.
    """
    if not sys.platform.startswith("linux") or os.uname().machine not in ARCHITECTURES:
        raise NotAvailable(f"Landlock is not known for {sys.platform} on {os.uname().machine}")
    version = landlock_version()
    if version < LEAST:
        raise NotAvailable(f"the kernel has no Landlock (version {LEAST}, Linux 6.2); take a newer kernel")
    if not _starts():
        raise NotAvailable("a program in memory cannot be started here (vm.memfd_noexec)")
    return version


def _second_wall(program: str) -> int:
    version = landlock_version()
    return version if version >= LEAST and _starts(program, *_TRY, "--") else 0


@lru_cache(maxsize=4)
def _starts(*around: str) -> bool:
    """Whether the first program can be started, alone or by bubblewrap, and puts its rules in force."""
    rights = rights_of(landlock_version())
    handles: list[int] = []
    try:
        handle = starter_handle(Starter(rights, grants_for(rights, ()), is_alone=not around), handles)
        argv = [*around, *starting(handle, [_TRUE])]
        done = subprocess.run(
            argv, capture_output=True, timeout=_LIMIT_S, check=False, env={}, stdin=subprocess.DEVNULL, pass_fds=handles
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        for handle in handles:
            os.close(handle)
    return done.returncode == 0


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
    return (
        f"{program} does not work here ({problem.splitlines()[-1]}). {_advice()}. A weaker sandbox, by Landlock alone, "
        "can be chosen with sandbox.enableWeakerLandlockSandbox"
    )


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
    if _is_there("/.dockerenv") or _is_there("/run/.containerenv"):
        return (
            "In a container user namespaces need more rights: start it with --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined, and where /proc cannot be mounted set "
            "sandbox.enableWeakerNestedSandbox"
        )
    return "Check that user namespaces are allowed: unshare -Ur true"


def _is_there(path: str) -> bool:
    return os.path.exists(path)


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None

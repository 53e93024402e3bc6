"""What the sandbox promises on this machine, in words: for `holdfast doctor` and `holdfast sandbox status`."""

from collections.abc import Callable
from typing import Final, NamedTuple

from holdfast.host.sandbox.probe import Found, NotAvailable, look_for_landlock

__all__ = ["Promise", "promises"]


_FIRST: Final = "commands can be confined"
_PLAN: Final = "in plan mode commands cannot write, with or without the sandbox"


_MODES: Final = "but the mode, owner and times of your files can be changed elsewhere too"


class Promise(NamedTuple):
    """One promise, whether it holds, and what is to be known about it."""

    name: str
    holds: bool
    detail: str = ""


def promises(find: Callable[[], Found], *, weak: bool = False) -> list[Promise]:
    """Every promise; the first says whether there is a sandbox at all.

    Args:
        find: Looks for bubblewrap.
        weak: Landlock alone will do where that fails.
    """
    try:
        return [*_whole(find()), _plan()]
    except NotAvailable as problem:
        try:
            version = look_for_landlock() if weak else 0
        except NotAvailable:
            version = 0
        if version:
            return [*_weak(version, str(problem)), _plan()]
        return [Promise(_FIRST, holds=False, detail=str(problem)), _plan()]


def _whole(found: Found) -> list[Promise]:
    proc = "" if found.has_proc else "a new /proc cannot be mounted here, so other processes can be seen"
    users = "" if found.disables_users else "by the filter of system calls: this bubblewrap is older than 0.8"
    links = "" if found.binds_handles else "this bubblewrap mounts by name; a later one mounts by handle"
    second = (
        f"Landlock {found.landlock}" if found.landlock else "the kernel has no Landlock 3, or it cannot be used here"
    )
    return [
        Promise(_FIRST, holds=True, detail=f"{found.program} {found.version}"),
        Promise("files are written only where allowed", holds=True),
        Promise("what governs the agent cannot be changed or made", holds=True),
        Promise("what rules and settings hide cannot be read", holds=True),
        Promise("the network is reached only through Holdfast's proxy", holds=True),
        Promise("other processes cannot be seen or signalled", holds=found.has_proc, detail=proc),
        Promise("no new namespaces, no capabilities, no set-user-id programs", holds=True, detail=users),
        Promise("no link can be put in the way while mounts are made", holds=found.binds_handles, detail=links),
        Promise("a second wall stands behind the mounts", holds=bool(found.landlock), detail=second),
    ]


def _weak(version: int, problem: str) -> list[Promise]:
    signals = "" if version >= 6 else "Landlock 6 could keep signals back"
    return [
        Promise(_FIRST, holds=True, detail=f"by Landlock {version} alone, which is weaker: {problem}"),
        Promise("files are written only where allowed", holds=True, detail=_MODES),
        Promise("what governs the agent cannot be changed or made", holds=False, detail="it is looked at afterwards"),
        Promise("what rules and settings hide cannot be read", holds=False),
        Promise("no network is reached", holds=True),
        Promise("other processes cannot be seen", holds=False),
        Promise("other processes cannot be signalled", holds=version >= 6, detail=signals),
        Promise("no new namespaces, no capabilities, no set-user-id programs", holds=True),
    ]


def _plan() -> Promise:
    """Plan mode has a wall of its own where no sandbox is asked for."""
    try:
        version = look_for_landlock()
    except NotAvailable as problem:
        return Promise(
            _PLAN, holds=False, detail=f"only the reading of a command's text keeps it from writing: {problem}"
        )
    return Promise(_PLAN, holds=True, detail=f"Landlock {version}; without the sandbox modes and times can change")

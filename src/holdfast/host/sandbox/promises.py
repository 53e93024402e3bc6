"""What the sandbox promises on this machine, in words: for `holdfast doctor` and `holdfast sandbox status`."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.host.sandbox.probe import Found, NotAvailable

__all__ = ["Promise", "promises"]


class Promise(NamedTuple):
    """One promise, whether it holds, and what is to be known about it."""

    name: str
    holds: bool
    detail: str = ""


def promises(find: Callable[[], Found]) -> list[Promise]:
    """Every promise; the first says whether there is a sandbox at all."""
    try:
        found = find()
    except NotAvailable as problem:
        return [Promise("commands can be confined", holds=False, detail=str(problem))]
    proc = "" if found.has_proc else "a new /proc cannot be mounted here, so other processes can be seen"
    users = "" if found.disables_users else "by the filter of system calls: this bubblewrap is older than 0.8"
    links = "" if found.binds_handles else "this bubblewrap mounts by name; a later one mounts by handle"
    return [
        Promise("commands can be confined", holds=True, detail=f"{found.program} {found.version}"),
        Promise("files are written only where allowed", holds=True),
        Promise("what governs the agent cannot be changed or made", holds=True),
        Promise("the network is reached only through our proxy", holds=True),
        Promise("other processes cannot be seen or signalled", holds=found.has_proc, detail=proc),
        Promise("no new namespaces, no capabilities, no set-user-id programs", holds=True, detail=users),
        Promise("no link can be put in the way while mounts are made", holds=found.binds_handles, detail=links),
    ]

"""The same policy as a profile for macOS's `sandbox-exec`. It was never run: no Mac was at hand.

Nothing starts commands by it. `holdfast sandbox profile` prints it, so that somebody with a Mac can try it; until then
the sandbox is refused there. Of several lines that fit the last one counts, and paths need not exist: what must not
come into being is simply denied by its name.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.host.sandbox.mounts import writable_roots
from holdfast.host.sandbox.named import is_below, trusted
from holdfast.host.sandbox.policy import Policy
from holdfast.host.sandbox.proxy_variables import PORT

__all__ = ["profile_of", "starting_under"]

_PROGRAM: Final = "/usr/bin/sandbox-exec"
_HEAD: Final = """;; Holdfast's sandbox for sandbox-exec. Never run on a Mac: read it before you rely on it.
(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem ipc-posix-shm)
(allow pseudo-tty)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read*)
(allow file-write* file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx"))
(allow file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$"))"""
_SERVICES: Final = ("/private/var/run", "/var/run")


def profile_of(policy: Policy) -> str:
    """The profile of one command.

    Raises:
        OSError: A path holds a character that no profile can hold.
    """
    roots = writable_roots(policy)
    kept = _both((*policy.governing, *policy.pinned, *policy.fixed, *policy.denied))
    hidden = _both((*policy.hidden, *_SERVICES))
    own = _both((*policy.granted, *((policy.temporary,) if policy.temporary else ())))
    shown = trusted((*policy.shown, *policy.sockets), roots, policy.changeable)
    lines = [_HEAD, *_rules("allow", "file-write*", "subpath", roots)]
    # Who moves a directory away and back changes what lies in it under another name.
    lines += _rules("deny", "file-write-unlink", "literal", _between(roots, kept))
    lines += _rules("deny", "file-write*", "subpath", kept)
    lines += _rules("deny", "file-read* file-write*", "subpath", hidden)
    lines += _rules("allow", "file-read*", "subpath", [*shown, *(root for root in roots if _lies_in(root, hidden))])
    lines += _rules("allow", "file-read* file-write*", "subpath", [path for path in own if _lies_in(path, roots)])
    return "\n".join([*lines, *_network(policy, shown), ""])


def starting_under(profile: str, argv: Sequence[str]) -> list[str]:
    """The words that start a command under a profile."""
    return [_PROGRAM, "-p", profile, "--", *argv]


def _network(policy: Policy, shown: Iterable[str]) -> list[str]:
    lines = ['(allow network-bind network-inbound (local ip "localhost:*"))']
    if policy.open_network:
        lines.append("(allow network-outbound (remote ip))")
    if policy.border is not None:
        lines.append(f'(allow network-outbound (remote ip "localhost:{PORT}"))')
    if policy.all_sockets:
        lines.append("(allow network-outbound (remote unix-socket))")
    reached = [path for path in shown if path in _both(policy.sockets)]
    return [
        *lines,
        *(f"(allow network-outbound (remote unix-socket (path-literal {_text(path)})))" for path in reached),
    ]


def _both(paths: Iterable[str]) -> list[str]:
    """Each path as it is named and where it lies: the kernel there judges by the latter."""
    return list(dict.fromkeys(one for path in paths for one in (path, os.path.realpath(path))))


def _between(roots: Iterable[str], kept: Iterable[str]) -> list[str]:
    """Every directory between a writable one and a protected path, and the writable ones themselves."""
    found: dict[str, None] = dict.fromkeys(roots)
    for path in kept:
        above = os.path.dirname(path)
        while any(is_below(above, root) for root in roots):
            found[above] = None
            above = os.path.dirname(above)
    return list(found)


def _lies_in(path: str, places: Iterable[str]) -> bool:
    return any(path == place or is_below(path, place) for place in places)


def _rules(verb: str, what: str, kind: str, paths: Iterable[str]) -> list[str]:
    return [f"({verb} {what} ({kind} {_text(path)}))" for path in paths]


def _text(path: str) -> str:
    if not path.isprintable():
        raise OSError(f"{path!r} holds a character that a profile cannot hold")
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

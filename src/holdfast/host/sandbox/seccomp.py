"""A filter for system calls, as the bytes that the kernel takes: no library is needed to make them.

What a confined program has no use for, and what walls made of mounts and namespaces do not cover, is refused with
EPERM. Another architecture's calls would pass unseen under other numbers, so such a process is ended.
"""

import errno
import os
import struct
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

__all__ = ["ARCHITECTURES", "filter_program"]

_LOAD, _AND, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_SET, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_AT, _SECOND_AT, _THIRD_AT, _FOURTH_AT = 0, 4, 16, 24, 32, 40
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_STREAM, _PACKETS, _KIND_OF_SOCKET = 1, 5, 0xF
_OF_TERMINALS: Final = {
    "TIOCSTI": 0x5412,
    "TIOCLINUX": 0x541C,
    "TIOCSETD": 0x5423,
    "TIOCEXCL": 0x540C,
    "TIOCCONS": 0x541D,
}
"""Typing, pasting, another way to read lines, keeping others out, taking the console's output."""
_NAMESPACES = 0x7E020080
"""Every CLONE_NEW flag: time, mount, cgroup, UTS, IPC, user, process, network."""
_SET_USER_ID, _MAKES_FILE, _TEMPORARY_FILE = 0o4000, 0o100, 0o20000000

_COMMON: Final = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
}  # fmt: skip
_X86_64: Final = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "add_key": 248,
    "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246,
    "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176, "mount": 165,
    "umount2": 166, "pivot_root": 155, "open_by_handle_at": 304, "setns": 308, "unshare": 272, "swapon": 167,
    "swapoff": 168, "reboot": 169, "acct": 163, "quotactl": 179, "vhangup": 153, "syslog": 103,
}  # fmt: skip
_AARCH64: Final = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "add_key": 217,
    "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104,
    "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106, "mount": 40,
    "umount2": 39, "pivot_root": 41, "open_by_handle_at": 265, "setns": 268, "unshare": 97, "swapon": 224,
    "swapoff": 225, "reboot": 142, "acct": 89, "quotactl": 60, "vhangup": 58, "syslog": 116,
}  # fmt: skip
_CLONE3: Final = 435
_OPENAT2: Final = 437
_MODES_X86_64: Final = {
    "chmod": (90, _SECOND_AT), "fchmod": (91, _SECOND_AT), "fchmodat": (268, _THIRD_AT), "fchmodat2": (452, _THIRD_AT),
    "creat": (85, _SECOND_AT), "mknod": (133, _SECOND_AT), "mknodat": (259, _THIRD_AT),
}  # fmt: skip
_MODES_AARCH64: Final = {
    "fchmod": (52, _SECOND_AT), "fchmodat": (53, _THIRD_AT), "fchmodat2": (452, _THIRD_AT), "mknodat": (33, _THIRD_AT),
}  # fmt: skip


class Architecture:
    """The numbers of one kind of processor."""

    def __init__(self, audit: int, refused: Mapping[str, int], *, has_x32: bool, **numbers: int) -> None:
        self.audit = audit
        self.refused = MappingProxyType({**refused, **_COMMON})
        """System calls that are refused whatever their arguments."""
        self.socket, self.socketpair = numbers["socket"], numbers["socketpair"]
        self.ioctl, self.clone = numbers["ioctl"], numbers["clone"]
        self.modes = _MODES_X86_64 if has_x32 else _MODES_AARCH64
        """System calls that give a file its mode, and where in their arguments it stands."""
        self.opens = {"openat": (numbers["openat"], _THIRD_AT, _FOURTH_AT)}
        """The same where the mode counts only with a flag, and where the flags stand."""
        if "open" in numbers:
            self.opens["open"] = (numbers["open"], _SECOND_AT, _THIRD_AT)
        self.has_x32 = has_x32


ARCHITECTURES: Final = MappingProxyType(
    {
        "x86_64": Architecture(
            0xC000003E, _X86_64, has_x32=True, socket=41, socketpair=53, ioctl=16, clone=56, open=2, openat=257
        ),
        "aarch64": Architecture(
            0xC00000B7, _AARCH64, has_x32=False, socket=198, socketpair=199, ioctl=29, clone=220, openat=56
        ),
    }
)


@lru_cache(maxsize=16)
def filter_program(machine: str | None = None, *, unix: bool = False, internet: bool = True) -> bytes:
    """The filter for one kind of processor.

    Args:
        machine: As `uname -m` names it; this machine's when omitted.
        unix: Unix sockets may be made; pairs of connected ones that stay connected always may.
        internet: Internet sockets may be made. A network namespace makes them harmless, so only where there is none.

    Raises:
        KeyError: Nothing is known about this kind of processor.
    """
    arch = ARCHITECTURES[machine or os.uname().machine]
    domains = ((_AF_UNIX,) if unix else ()) + ((_AF_INET, _AF_INET6) if internet else ())
    lines = _Lines()
    lines.add(_LOAD, _ARCH_AT)
    lines.add(_JUMP_EQUAL, arch.audit, otherwise="kill")
    lines.add(_LOAD, _NUMBER_AT)
    if arch.has_x32:
        lines.add(_JUMP_ABOVE, _X32, then="kill")
    for number in sorted(arch.refused.values()):
        lines.add(_JUMP_EQUAL, number, then="refuse")
    for name in ("socket", "socketpair", "ioctl", "clone"):
        if name != "socketpair" or not unix:
            lines.add(_JUMP_EQUAL, getattr(arch, name), then=name)
    _choose_by_mode(lines, arch)
    lines.add(_JUMP_EQUAL, _OPENAT2, then="missing")
    lines.add(_JUMP_EQUAL, _CLONE3, then="missing")
    lines.label("allow").add(_RETURN, _ALLOW)
    _look_at_sockets(lines, domains)
    # The kernel looks at the lower half of a request only, so no upper half can disguise one.
    lines.label("ioctl").add(_LOAD, _SECOND_AT)
    for request in _OF_TERMINALS.values():
        lines.add(_JUMP_EQUAL, request, then="refuse too")
    lines.add(_RETURN, _ALLOW)
    lines.label("clone").add(_LOAD, _FIRST_AT)
    lines.add(_JUMP_SET, _NAMESPACES, then="refuse too", otherwise="allow too")
    _look_at_modes(lines, arch)
    lines.label("allow too").add(_RETURN, _ALLOW)
    lines.label("refuse too").add(_RETURN, _ERRNO | errno.EPERM)
    # Libraries do without these two, whose arguments no filter sees: a namespace, another group of processes, a mode.
    lines.label("missing").add(_RETURN, _ERRNO | errno.ENOSYS)
    lines.label("kill").add(_RETURN, _KILL)
    return lines.assembled()


def _look_at_sockets(lines: "_Lines", domains: tuple[int, ...]) -> None:
    lines.label("socket").add(_LOAD, _FIRST_AT)
    for domain in domains:
        lines.add(_JUMP_EQUAL, domain, then="allow again")
    lines.label("refuse").add(_RETURN, _ERRNO | errno.EPERM)
    # Datagrams of a pair can be sent to any address, and raw ones are datagrams too.
    lines.label("socketpair").add(_LOAD, _FIRST_AT)
    lines.add(_JUMP_EQUAL, _AF_UNIX, otherwise="refuse too")
    lines.add(_LOAD, _SECOND_AT)
    lines.add(_AND, _KIND_OF_SOCKET)
    lines.add(_JUMP_EQUAL, _STREAM, then="allow again")
    lines.add(_JUMP_EQUAL, _PACKETS, then="allow again", otherwise="refuse too")
    lines.label("allow again").add(_RETURN, _ALLOW)


def _choose_by_mode(lines: "_Lines", arch: Architecture) -> None:
    for number, at in arch.modes.values():
        lines.add(_JUMP_EQUAL, number, then=f"mode at {at}")
    for name, (number, *_) in arch.opens.items():
        lines.add(_JUMP_EQUAL, number, then=name)


def _look_at_modes(lines: "_Lines", arch: Architecture) -> None:
    """A file that runs as its owner would give rights to whoever else is on the machine."""
    for name, (_, flags_at, _) in arch.opens.items():
        lines.label(name).add(_LOAD, flags_at)
        lines.add(_JUMP_SET, _MAKES_FILE | _TEMPORARY_FILE, then=f"mode of {name}", otherwise="allow too")
    for at in sorted({at for _, at in arch.modes.values()}):
        lines.label(f"mode at {at}").add(_LOAD, at)
        lines.add(_JUMP_SET, _SET_USER_ID, then="refuse too", otherwise="allow too")
    for name, (_, _, mode_at) in arch.opens.items():
        lines.label(f"mode of {name}").add(_LOAD, mode_at)
        lines.add(_JUMP_SET, _SET_USER_ID, then="refuse too", otherwise="allow too")


class _Lines:
    """Instructions whose jumps name where they go; all go forwards, as the kernel wants it."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> "_Lines":
        self._labels[name] = len(self._lines)
        return self

    def add(self, code: int, value: int, *, then: str = "", otherwise: str = "") -> None:
        self._lines.append((code, value, then, otherwise))

    def assembled(self) -> bytes:
        words: list[bytes] = []
        for place, (code, value, then, otherwise) in enumerate(self._lines):
            far = [self._labels[name] - place - 1 if name else 0 for name in (then, otherwise)]
            words.append(struct.pack("<HBBI", code, *far, value))
        return b"".join(words)

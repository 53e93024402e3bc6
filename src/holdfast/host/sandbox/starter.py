"""The first program of a confined command: it gives up rights that mounts cannot take, then becomes the command.

Landlock holds only for who asks for it, so something must run inside, after the mounts are made. Starting Python there
would cost more than everything else together. This is a program of about 500 bytes instead: its source is in
`starter_x86_64.s` and `starter_aarch64.s` beside this file, a test assembles that anew, and what it is to do is written
behind the code, for each command.
"""

import errno
import os
import struct
from base64 import b64decode
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.host.sandbox.landlock import Grant, Rights

__all__ = ["CODE", "Starter", "starter_handle", "starter_image", "starting"]

CODE: Final = MappingProxyType(
    {
        "x86_64": b64decode(
            "SInjTI09BgIAAEH3BwkAAAB0a0H3BwEAAAB0Qb8cAAAAvi8AAAAx0kUx0kUxwLidAAAADwWFwHQNQfcHAgAAAA+FUwEAAEmNfyhJ"
            "jXcwuH4AAAAPBYXAD4U8AQAAvyYAAAC+AQAAADHSRTHSRTHAuJ0AAAAPBYXAD4UbAQAASY1/EEGLdwgx0ri8AQAADwWFwA+IAgEA"
            "AEGJxE2Nb1hIg+wQSYtFAEiFwHRVSIkEJL+c////SY11ELoAACgARTHSuAEBAAAPBYXAeCyJRCQIRInnvgEAAABIieJFMdK4vQEA"
            "AA8FhcAPiK0AAACLfCQIuAMAAAAPBUGLRQxJAcXrokSJ5zH2uL4BAAAPBYXAD4WFAAAARInnuAMAAAAPBUGLfwS4AwAAAA8FQfcH"
            "BAAAAHQWvwEAAAAx9kmNV0i4PQEAAA8FhcB1UUiLA0yNdMMQSIt7EEiNcxhMifK4OwAAAA8Fg/j4dSFIi0MQSIlDGEiNPUcAAABI"
            "iXsQSI1zEEyJ8rg7AAAADwW/fwAAAIP4/nQkv34AAADrHb8CAAAASI01IAAAALpIAAAAuAEAAAAPBb99AAAAuOcAAAAPBS9iaW4v"
            "c2gAaG9sZGZhc3Q6IHRoZSBzYW5kYm94J3Mgc2Vjb25kIHdhbGwgY2Fubm90IGJlIGJ1aWx0LCBzbyBub3RoaW5nIHdhcyBydW4K"
            "Dx8A"
        ),
        "aarch64": b64decode(
            "8wMAkbQQABCVAkC5KQGAUr8CCWoAAwBU9QEANoADgNLhBYDSAgCA0gMAgNIEAIDS6BSA0gEAANRAAAC0NQsIN4CiAJGBwgCRaAuA"
            "0gEAANSACgC1wASA0iEAgNICAIDSAwCA0gQAgNLoFIDSAQAA1IAJALWAQgCRgQpAuQIAgNKIN4DSAQAA1MAI+Lf2AwCql2IBkf9D"
            "ANH4AkD5GAMAtPgDAPlgDICS4UIAkQIFoNIDAIDSCAeA0gEAANSgAfi3+QMAquALALngAxaqIQCA0uIDAJEDAIDSqDeA0gEAANQA"
            "Bvi34AMZqigHgNIBAADU+A5AufcCGIvo//8X4AMWqgEAgNLIN4DSAQAA1KAEALXgAxaqKAeA0gEAANSABkC5KAeA0gEAANT1ABA2"
            "IACA0gEAgNKCIgGRqCKA0gEAANQAAwC1eAJA+XgOGIsYQwCRYApA+WFiAJHiAxiqqBuA0gEAANQfIACxIQEAVGAKQPlgDgD5gAIA"
            "EGAKAPlhQgCR4gMYqqgbgNIBAADU4Q+A0h8IALEgAQBUwQ+A0gcAABRAAIDSQQEAEAIJgNIICIDSAQAA1KEPgNLgAwGqyAuA0gEA"
            "ANQvYmluL3NoAGhvbGRmYXN0OiB0aGUgc2FuZGJveCdzIHNlY29uZCB3YWxsIGNhbm5vdCBiZSBidWlsdCwgc28gbm90aGluZyB3"
            "YXMgcnVuCh8gA9U="
        ),
    }
)
_MACHINES: Final = {"x86_64": 62, "aarch64": 183}
_ADDRESS: Final = 0x400000
_HEADS_BYTES: Final = 64 + 2 * 56
_PAGE: Final = 0x10000
_HARDEN, _MUST_HARDEN, _FILTER, _ALONE = 1, 2, 4, 8
_CAPABILITIES_V3: Final = 0x20080522
_FILTER_LINE_BYTES: Final = 8
_TABLE_AT: Final = 88
_MAY_RUN: Final = 0x10
_SHELL_SEARCH: Final = ("/bin/sh", "/bin/sh", "-c", 'exec "$0" "$@"')
"""Finds a program as the command itself would, and becomes it."""


class Starter(NamedTuple):
    """What the program is to do before it becomes the command."""

    rights: Rights
    grants: Sequence[Grant] = ()
    program: bytes = b""
    """A filter of system calls; empty where bubblewrap installs it."""
    is_alone: bool = False
    """There is no bubblewrap around it: no program that it starts can get rights back."""
    drops_capabilities: bool = False
    """And capabilities go, for good."""


def starter_image(starter: Starter, handle: int, *, machine: str | None = None, is_root: bool | None = None) -> bytes:
    """The program as a file.

    Args:
        starter: What it does.
        handle: The handle by which it will be started; it closes that.
        machine: As `uname -m` names it; this machine's when omitted.
        is_root: Whether we are; asked when omitted.
    """
    machine = machine or os.uname().machine
    code = CODE[machine]
    root = os.geteuid() == 0 if is_root is None else is_root
    flags = (_ALONE if starter.is_alone else 0) | (_FILTER if starter.program else 0)
    flags |= (_HARDEN | (_MUST_HARDEN if root else 0)) if starter.drops_capabilities else 0
    table = b"".join(map(_entry, starter.grants)) + bytes(8)
    filter_at = _ADDRESS + _HEADS_BYTES + len(code) + _TABLE_AT + len(table)
    lines = len(starter.program) // _FILTER_LINE_BYTES
    data = b"".join(
        (
            struct.pack("<IIII", flags, handle, starter.rights.size, 0),
            struct.pack("<QQQ", starter.rights.files, starter.rights.network, starter.rights.scopes),
            struct.pack("<II", _CAPABILITIES_V3, 0),
            bytes(24),
            struct.pack("<HxxxxxxQ", lines, filter_at),
        )
    )
    body = code + data + table + starter.program
    return _heads(machine, _HEADS_BYTES + len(body)) + body


def _entry(grant: Grant) -> bytes:
    path = os.fsencode(grant.path) + b"\0"
    path += bytes(-len(path) % 8)
    return struct.pack("<QII", grant.rights, 0, 16 + len(path)) + path


def _heads(machine: str, size: int) -> bytes:
    """The smallest file that the kernel takes for a program: one part, readable and executable, and a plain stack."""
    mark = b"\x7fELF\x02\x01\x01" + bytes(9)
    entry = _ADDRESS + _HEADS_BYTES
    head = struct.pack("<HHIQQQIHHHHHH", 2, _MACHINES[machine], 1, entry, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    part = struct.pack("<IIQQQQQQ", 1, 5, 0, _ADDRESS, _ADDRESS, size, size, _PAGE)
    stack = struct.pack("<IIQQQQQQ", 0x6474E551, 6, 0, 0, 0, 0, 0, 16)
    return mark + head + part + stack


def starter_handle(starter: Starter, handles: list[int]) -> int:
    """An open handle of the program, put to the others that the command inherits.

    Raises:
        OSError: The kernel keeps such programs from being made.
    """
    try:
        handle = os.memfd_create("holdfast", os.MFD_CLOEXEC | _MAY_RUN)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # kernels before 6.3 do not know the second one, and let all run
            raise
        handle = os.memfd_create("holdfast", os.MFD_CLOEXEC)
    handles.append(handle)
    os.write(handle, starter_image(starter, handle))
    return handle


def starting(handle: int, argv: Sequence[str | bytes]) -> list[str | bytes]:
    """The words that start the program by its handle, and let it become the command."""
    own = f"/proc/self/fd/{handle}"
    first = argv[0]
    if (b"/" in first) if isinstance(first, bytes) else ("/" in first):
        return [own, first, *argv]
    return [own, *_SHELL_SEARCH, *argv]

"""Exchange two names for each other as fast as the kernel can, from another process, to race against path checks."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from holdfast.testing.started import started

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_LONGEST_S = 300.0


class Swaps:
    """How often the names were exchanged; known when the race is over."""

    count = 0


def exchange(first: str, second: str) -> None:
    """Exchange two existing names in one step."""
    names = (_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    if ctypes.CDLL(None, use_errno=True).renameat2(*names) != 0:
        raise OSError(ctypes.get_errno(), f"{first!r} and {second!r} could not be exchanged")


@contextmanager
def swapping(first: str, second: str) -> Generator[Swaps]:
    """Keep exchanging two existing names until the block ends."""
    argv = [sys.executable, "-P", "-m", "holdfast.testing.swaps", first, second]
    swaps = Swaps()
    with started(argv, limit_s=_LONGEST_S, stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        try:
            yield swaps
        finally:
            process.send_signal(signal.SIGTERM)
            swaps.count = int(process.stdout.readline() or 0)


def main() -> None:
    """Exchange the two names on the command line until told to end, then print how often."""
    first, second = (os.fsencode(name) for name in sys.argv[1:3])
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        del number, frame
        ended = True

    signal.signal(signal.SIGTERM, end)
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    count = 0
    while not ended:
        if exchange(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "the names could not be exchanged")
        count += 1
    if count % 2:
        exchange(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    main()

"""Drop what nobody wants of a stream without looking at it: the kernel moves it from the pipe to nowhere."""

import contextlib
import os
import time
from array import array
from collections.abc import Callable
from typing import Protocol

try:
    import fcntl
    import termios
except ImportError:  # not on every system: then everything is read
    fcntl = termios = None

_FRESH_S = 0.1  # how old the end of a stream may be that is dropped unseen


class Sink(Protocol):
    """Where a stream goes."""

    def add(self, data: bytes | memoryview) -> None:
        """Take the next piece."""
        ...

    def skip(self, waiting_bytes: int, drop: Callable[[int], int]) -> bool:
        """Have the next bytes dropped by `drop`, unless they are wanted; so many wait. Whether any were dropped."""
        ...


class Dropper:
    """Drops from one pipe."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._nowhere = -1
        if hasattr(os, "splice"):
            with contextlib.suppress(OSError):  # no handle is left: everything is read
                self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._waiting = array("i", [0])
        self._fresh_until = 0.0

    def drops_some(self, sink: Sink) -> bool:
        """Drop what waits, if the sink lets it; now and then it is read all the same, for those who watch."""
        now = time.monotonic()
        if self._nowhere < 0 or now > self._fresh_until or fcntl is None or termios is None:
            self._fresh_until = now + _FRESH_S
            return False
        try:
            fcntl.ioctl(self._fd, termios.FIONREAD, self._waiting)
            return sink.skip(self._waiting[0], self._drop)
        except OSError:  # not on this system
            self.close()
            return False

    def _drop(self, count: int) -> int:
        return os.splice(self._fd, self._nowhere, count)

    def close(self) -> None:
        """Let go."""
        if self._nowhere >= 0:
            os.close(self._nowhere)
            self._nowhere = -1

"""Start a process for the length of a block: it does not outlive it, and nothing about it waits without a limit."""

import os
import signal
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypedDict

from typing_extensions import Unpack

__all__ = ["StartOptions", "started"]

_ENDING_S = 30.0
"""How long a killed process may take until the kernel gives its status."""


class StartOptions(TypedDict, total=False):
    """What `started` hands on to `subprocess.Popen`."""

    stdin: Any
    stdout: Any
    stderr: Any
    cwd: str | os.PathLike[str] | None
    env: Mapping[str, str] | None
    start_new_session: bool


@contextmanager
def started(
    argv: Sequence[str], *, limit_s: float = 60.0, **options: Unpack[StartOptions]
) -> Generator["subprocess.Popen[bytes]"]:
    """A running process, for at most `limit_s`; at the end of the block it is killed, collected and its pipes closed.

    With `start_new_session` everything in its process group goes with it. A block that lasts longer than `limit_s`
    loses its process (so reading from it comes to an end) and ends in `TimeoutError`.
    """
    process = subprocess.Popen(argv, **options)
    whole_group = options.get("start_new_session", False)
    too_late = threading.Event()

    def give_up() -> None:
        too_late.set()
        _kill(process, whole_group=whole_group)

    timer = threading.Timer(limit_s, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield process
    except Exception as error:
        if too_late.is_set():
            raise _late(argv, limit_s) from error
        raise
    finally:
        timer.cancel()
        _kill(process, whole_group=whole_group)
        _close(process)
        process.wait(_ENDING_S)
    if too_late.is_set():
        raise _late(argv, limit_s)


def _late(argv: Sequence[str], limit_s: float) -> TimeoutError:
    return TimeoutError(f"{argv[0]!r} was still in use after {limit_s:g} s and was ended: {list(argv)!r}")


def _kill(process: "subprocess.Popen[bytes]", *, whole_group: bool) -> None:
    if whole_group and process.returncode is None:  # once collected, its number may be somebody else's
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # says nothing where it has ended already


def _close(process: "subprocess.Popen[bytes]") -> None:
    """Close our ends. What was never sent is thrown away: a pipe that nobody reads must not hold the test."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            with suppress(OSError):
                os.set_blocking(stream.fileno(), False)
                stream.close()

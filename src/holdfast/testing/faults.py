"""Make the operating system fail, or the process die, at the Nth call.

For code whose promise is "old or new, whatever happens": count its calls once, then run it again for every N with an
error, or with death, exactly there.
"""

from __future__ import annotations

import fcntl
import os
import signal
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.lib import exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import ModuleType

# fmt: off
_OS_NAMES = [
    "access", "chmod", "chown", "close", "fchmod", "fchown", "fdatasync", "fsync", "fstat", "ftruncate", "getxattr",
    "link", "listdir", "listxattr", "lseek", "lstat", "mkdir", "open", "pread", "pwrite", "read", "readlink",
    "rename", "replace", "rmdir", "scandir", "setxattr", "stat", "symlink", "unlink", "write",
]
# fmt: on
_SITES: list[tuple[ModuleType, str]] = [
    *((os, name) for name in _OS_NAMES if hasattr(os, name)),
    (fcntl, "flock"),
    (exchange, "exchange_names"),
]


@contextmanager
def before_each_call(act: Callable[[int, str], None]) -> Generator[None]:
    """Run `act(number, name)` before every file-system call made by us, counting from 1."""
    count = 0

    def wrapped(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            nonlocal count
            count += 1
            act(count, name)
            return real(*args, **kwargs)

        return call

    originals = [(module, name, getattr(module, name)) for module, name in _SITES]
    for module, name, real in originals:
        setattr(module, name, wrapped(name, real))
    try:
        yield
    finally:
        for module, name, real in originals:
            setattr(module, name, real)


def count_calls(action: Callable[[], object]) -> int:
    """Run an action and say how many file-system calls it made."""
    seen = 0

    def note(number: int, _name: str) -> None:
        nonlocal seen
        seen = number

    with before_each_call(note):
        action()
    return seen


@contextmanager
def failing_at(nth: int, error_number: int, *, onward: bool = False) -> Generator[None]:
    """Let the Nth file-system call fail with an error; with `onward`, all later ones too."""

    def fail(number: int, name: str) -> None:
        # A close that reports an error has still closed on Linux; keeping the handle would only leak it.
        if name != "close" and (number == nth or (onward and number > nth)):
            raise OSError(error_number, os.strerror(error_number))

    with before_each_call(fail):
        yield


def killed_at(nth: int, action: Callable[[], object]) -> bool:
    """Run an action in a forked child that gets SIGKILL right before its Nth call; says whether it came that far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child only runs the action and leaves by _exit
        child = os.fork()
    if child == 0:
        try:

            def die(number: int, _name: str) -> None:
                if number == nth:
                    os.kill(os.getpid(), signal.SIGKILL)

            with before_each_call(die):
                action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)

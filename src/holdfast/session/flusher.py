"""Wait for the disk in a thread of its own, so that nobody's work waits for it unless it asks to."""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Protocol

__all__ = ["DiskWaiter", "Flusher", "sync_file"]

_REST_S = 0.05


def sync_file(handle: int) -> None:
    """Wait until the disk has the file's content and length; its times may come later."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(handle)
    else:
        os.fsync(handle)


class DiskWaiter(Protocol):
    """Makes what was written durable."""

    def request(self, *, waited_for: bool = False) -> int:
        """Ask for everything written so far to reach the disk; returns the number of this request."""
        ...

    def request_also(self, path: str) -> int:
        """The same for another file, too."""
        ...

    async def reached(self, number: int) -> None:
        """Wait until that request is done."""
        ...

    def close(self, timeout_s: float) -> bool:
        """Finish what was asked for; false if the disk took longer than that."""
        ...


class Flusher:
    """Makes what was written to one file durable. Requests that come while the disk is busy become one.

    The thread starts with the first request and is a daemon: a disk that hangs must not keep the program from ending.
    """

    def __init__(self, handle: int, on_error: Callable[[OSError], None], directories: tuple[int, ...] = ()) -> None:
        self._handle = handle
        self._on_error = on_error
        self._directories = directories
        self._also: set[str] = set()
        """Files beside the one, which are open only while they are made durable."""
        self._wake = threading.Condition()
        self._asked: int = 0
        self._done: int = 0
        self._ending = False
        self._idle = False
        self._hurry = False
        self._thread: threading.Thread | None = None
        self._waiting: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def request(self, *, waited_for: bool = False) -> int:
        """Ask for everything written so far to reach the disk; returns the number of this request.

        Requests nobody waits for are served at most every 50 ms, so that many short turns do not become many waits.
        """
        with self._wake:
            self._asked += 1
            self._hurry = self._hurry or waited_for
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-journal-sync", daemon=True)
                self._thread.start()
            elif self._idle or waited_for:
                self._wake.notify_all()
            return self._asked

    def request_also(self, path: str) -> int:
        """The same for another file, too."""
        with self._wake:
            self._also.add(path)
        return self.request()

    async def reached(self, number: int) -> None:
        """Wait until that request is done, whether the disk confirmed it or not."""
        loop = asyncio.get_running_loop()
        with self._wake:
            if self._done >= number:
                return
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append((number, loop, future))
        await future

    def close(self, timeout_s: float) -> bool:
        """Finish what was asked for and end the thread; false if the disk took longer than that."""
        with self._wake:
            self._ending = True
            self._wake.notify_all()
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._idle = True
                self._wake.wait_for(lambda: self._asked > self._done or self._ending)
                self._idle = False
                if self._asked == self._done:
                    return
                target = self._asked
                self._hurry = False
            self._sync()
            with self._wake:
                self._done = target
                ready = [entry for entry in self._waiting if entry[0] <= target]
                self._waiting = [entry for entry in self._waiting if entry[0] > target]
            for _, loop, future in ready:
                _tell(loop, future)
            with self._wake:
                self._wake.wait_for(lambda: self._hurry or self._ending, timeout=_REST_S)

    def _sync(self) -> None:
        with self._wake:
            others, self._also = self._also, set()
        try:
            for path in others:
                _sync_path(path)
            sync_file(self._handle)
            # A new file's name is durable only when its directories are; once is enough.
            while self._directories:
                os.fsync(self._directories[0])
                self._directories = self._directories[1:]
        except OSError as error:
            self._on_error(error)


def _sync_path(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # whoever removed it wants no copy
    try:
        sync_file(handle)
    finally:
        os.close(handle)


def _tell(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]") -> None:
    def finish() -> None:
        if not future.done():
            future.set_result(None)

    try:
        loop.call_soon_threadsafe(finish)
    except RuntimeError:  # that loop has ended, and with it whoever waited
        return

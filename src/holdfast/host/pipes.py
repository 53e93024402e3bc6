"""The ends of pipes that we hold: readers that never block the loop, a reader on demand, and a writer."""

import asyncio
import contextlib
import os
import select
import threading
import time
from collections.abc import AsyncIterator, Callable

from holdfast.host.drop import Dropper, Sink
from holdfast.host.poller import Poller

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

READ_BYTES = 64 << 10
_HEAVY_READ_BYTES = 32 << 10
_HEAVY_READS = 8
_WIDE_PIPE_BYTES = 1 << 20
_IDLE_MS = 1000
# Woken for every piece, a reader slows its writer down. A short nap lets a wide pipe fill: fewer, larger reads.
_WORTH_WAKING_BYTES = 512 << 10
_NAP_S = 0.0004
_DRAIN_LIMIT_BYTES = 4 << 20
_IGNORE_PAUSE_S = 0.02


def open_pipe() -> tuple[int, int]:
    """A new pipe: our reading end does not block, the other end does."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    return ours, theirs


class SparePipes:
    """The pipes of the next start, made while nothing waits for them."""

    _KEPT = 2

    def __init__(self) -> None:
        self._pipes: list[tuple[int, int]] = []
        self._plain: tuple[int, int] | None = None

    def take(self) -> tuple[int, int]:
        """A pipe as `open_pipe` makes it."""
        return self._pipes.pop() if self._pipes else open_pipe()

    def take_plain(self) -> tuple[int, int]:
        """A pipe whose both ends block."""
        taken, self._plain = self._plain, None
        return taken or os.pipe()

    def refill(self) -> None:
        """Make those that were taken; whoever has no handles left does without."""
        pipes = self._pipes
        try:
            while len(pipes) < self._KEPT:
                pipes.append(open_pipe())
            self._plain = self._plain or os.pipe()
        except OSError:
            pass

    def close(self) -> None:
        """Let go of them."""
        for pipe in (*self._pipes, *([self._plain] if self._plain else [])):
            for fd in pipe:
                os.close(fd)
        self._pipes.clear()
        self._plain = None


def _widen(fd: int) -> None:
    if fcntl is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # over the user's pipe budget: the usual size works too
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE_PIPE_BYTES)


class PipeReader:
    """Hands everything that comes to a sink until end of file.

    The event loop reads a quiet stream. A stream that keeps filling its pipe is handed to a thread with a wide pipe
    (the loop stays free, and it is as fast as `cat`), and comes back when it is quiet again.
    """

    # Defaults stand on the class: few streams ever change them, and a reader must be cheap to make.
    is_open: bool = True
    _heavy_reads: int = 0
    _thread: threading.Thread | None = None
    _wake: int = -1
    _should_leave_thread: bool = False

    def __init__(self, poller: Poller, fd: int, *, sink: Sink, on_end: Callable[[], None]) -> None:
        self._loop = poller.loop
        self._poller = poller
        self._fd = fd
        self._sink: Sink | None = sink
        self._on_end = on_end
        poller.add(fd, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._finish()
        elif self._sink is None:
            self._rest()
        else:
            self._sink.add(data)
            self._weigh(len(data))

    def _weigh(self, read_bytes: int) -> None:
        self._heavy_reads = self._heavy_reads + 1 if read_bytes >= _HEAVY_READ_BYTES else 0
        if self._heavy_reads >= _HEAVY_READS:
            self._heavy_reads = 0
            self._move_to_thread()

    def _rest(self) -> None:
        # Nobody wants this output any more, but closing the pipe would kill its writer. It is read away slowly.
        self._poller.remove(self._fd)
        self._loop.call_later(_IGNORE_PAUSE_S, self._listen)

    def _listen(self) -> None:
        if self.is_open and self._thread is None:
            self._poller.add(self._fd, self._ready)

    def drain(self) -> bool:
        """Take what is in the pipe now; True when the end was reached."""
        taken = 0
        while self.is_open and self._thread is None and taken < _DRAIN_LIMIT_BYTES:
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self._finish()
            elif self._sink is not None:
                self._sink.add(data)
            taken += len(data)
        return not self.is_open

    def ignore(self) -> None:
        """Read on, keep nothing."""
        self._sink = None
        self._leave_thread()

    def close(self) -> None:
        """Let go of the pipe now; a writer on the other end gets a broken pipe."""
        if self.is_open:
            self._finish()

    def _finish(self) -> None:
        self.is_open = False
        if self._thread is None:
            self._poller.remove(self._fd)
            os.close(self._fd)
        else:
            self._leave_thread()
        self._on_end()

    # -- heavy streams

    def _move_to_thread(self) -> None:
        try:
            listen, self._wake = os.pipe()
        except OSError:  # no handle is left: the loop reads on
            return
        self._poller.remove(self._fd)
        _widen(self._fd)
        self._should_leave_thread = False
        self._thread = threading.Thread(target=self._run, args=(listen,), name="holdfast-pipe", daemon=True)
        self._thread.start()

    def _leave_thread(self) -> None:
        if self._thread is not None and not self._should_leave_thread:
            self._should_leave_thread = True
            os.write(self._wake, b"x")

    def _run(self, listen: int) -> None:
        has_ended = False
        try:
            has_ended = self._pump(listen)
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._thread_left, listen, has_ended)

    def _pump(self, listen: int) -> bool:
        """Read until the end (True), until told to leave, or until the stream is quiet."""
        buffer = memoryview(bytearray(_WIDE_PIPE_BYTES))
        poller = select.poll()
        poller.register(self._fd, select.POLLIN | select.POLLHUP)
        poller.register(listen, select.POLLIN)
        with contextlib.closing(Dropper(self._fd)) as dropper:
            return self._pump_into(buffer, poller, dropper)

    def _pump_into(self, buffer: memoryview, poller: "select.poll", dropper: Dropper) -> bool:
        while not self._should_leave_thread:
            sink = self._sink
            if sink is not None and dropper.drops_some(sink):
                time.sleep(_NAP_S)
                continue
            try:
                count = os.readv(self._fd, [buffer])
            except BlockingIOError:
                if not poller.poll(_IDLE_MS):
                    return False
                continue
            except OSError:
                return True
            sink = self._sink
            if not count or sink is None:
                return not count
            sink.add(buffer[:count])
            if count < _WORTH_WAKING_BYTES:
                time.sleep(_NAP_S)
        return False

    def _thread_left(self, listen: int, has_ended: bool) -> None:  # noqa: FBT001 - called by the loop, positionally
        os.close(listen)
        os.close(self._wake)
        self._thread = None
        if not self.is_open:
            os.close(self._fd)
        elif has_ended:
            self._finish()
        else:
            self._listen()


class PipeStream:
    """Reads only when asked, so a fast writer waits for us: for searches that stop early, and for servers."""

    def __init__(self, poller: Poller, fd: int) -> None:
        self._loop = poller.loop
        self._poller = poller
        self._fd = fd
        self._waiter: asyncio.Future[None] | None = None
        self._on_data: Callable[[bytes], None] | None = None
        self._ends_when_empty = False
        self.is_open = True
        _widen(fd)

    async def read(self, limit_bytes: int = 4 * READ_BYTES) -> bytes:
        """The next piece, or nothing at the end."""
        while self.is_open:
            try:
                data = os.read(self._fd, limit_bytes)
            except BlockingIOError:
                if self._ends_when_empty:
                    self.close()
                else:
                    await self._readable()
                continue
            except OSError:
                data = b""
            if not data:
                self.close()
            return data
        return b""

    async def _readable(self) -> None:
        waiter = self._waiter = self._loop.create_future()
        self._poller.add(self._fd, self._wake)
        try:
            await waiter
        finally:
            self._waiter = None
            if self.is_open:
                self._poller.remove(self._fd)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def lines(self, separator: bytes = b"\n") -> AsyncIterator[bytes]:
        """Blocks of whole lines, as large as they come; a long line is collected until it ends, so bound the time."""
        rest: list[bytes] = []
        while data := await self.read():
            cut = data.rfind(separator) + 1
            if not cut:
                rest.append(data)
                continue
            if rest:
                yield b"".join((*rest, data[:cut]))
            else:
                yield data[:cut]  # no copy when the piece ends with its line
            rest = [data[cut:]] if cut < len(data) else []
        if rest:
            yield b"".join(rest)

    def follow(self, on_data: Callable[[bytes], None]) -> None:
        """Hand over every piece as it comes, and nothing (`b""`) once at the end: one registration for good."""
        self._on_data = on_data
        self._poller.add(self._fd, self._pull)
        if self._ends_when_empty:
            self._loop.call_soon(self._pull_rest, 0)

    def _pull(self) -> None:
        try:
            data = os.read(self._fd, 4 * READ_BYTES)
        except BlockingIOError:
            if self._ends_when_empty:
                self.close()
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif self._on_data is not None:
            self._on_data(data)

    def _pull_rest(self, rounds: int) -> None:
        """Read what an ended process left; somebody who holds its pipe and writes on is not waited for."""
        if self.is_open:
            self._pull()
        if self.is_open and rounds < _DRAIN_LIMIT_BYTES // READ_BYTES:
            self._loop.call_soon(self._pull_rest, rounds + 1)
        else:
            self.close()

    def end_when_empty(self) -> None:
        """The process has ended: what is in the pipe is still read, but nobody waits for more."""
        self._ends_when_empty = True
        self._wake()
        if self._on_data is not None:
            self._loop.call_soon(self._pull_rest, 0)

    def close(self) -> None:
        """Let go of the pipe; a reader gets the end."""
        if self.is_open:
            self._poller.remove(self._fd)
            self.is_open = False
            os.close(self._fd)
            self._wake()
            if self._on_data is not None:
                self._on_data(b"")

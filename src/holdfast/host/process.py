"""A running process and everything below it: its output, its end, and how it is ended."""

import asyncio
import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Self

from holdfast.host import tree
from holdfast.host.capture import Output
from holdfast.host.command import Command, Exit, Finished, Progress, Stopped
from holdfast.host.pipe_writer import PipeWriter
from holdfast.host.pipes import PipeReader, PipeStream
from holdfast.host.poller import Poller
from holdfast.host.spawn import collect

_GIVE_UP_S = 5.0
_DRAIN_LIMIT_S = 1.0

Find = Callable[[], list[tree.Entry]]


class Process:
    """One process that we started. It ends by its own exit, whoever may still hold its pipes."""

    # Defaults stand on the class: most processes never change most of them, and each must be cheap to make.
    job: int = 0
    _exit: Exit | None = None
    _stopped_by: Stopped = Stopped.NOBODY
    _is_finished: bool = False
    _readers: Sequence[PipeReader] = ()
    _open_pipes: int = 0
    _stream: PipeStream | None = None
    _writer: PipeWriter | None = None
    _ending: asyncio.Task[None] | None = None
    _is_detached: bool = False
    _deadline: asyncio.TimerHandle | None = None

    def __init__(
        self,
        command: Command,
        pid: int,
        *,
        poller: Poller,
        output: Output,
        find: Find,
        on_exit: Callable[[], None],
        on_finish: Callable[["Process"], None],
        pidfd: int | None,
    ) -> None:
        loop = self._loop = poller.loop
        self._poller = poller
        self.command = command
        self.pid = pid
        self.output = output
        self.started_at = time.monotonic()
        self._find = find
        self._on_exit = on_exit
        self._on_finish = on_finish
        self._waiters: list[asyncio.Future[None]] = []
        self._pidfd = pidfd
        if command.timeout_s is not None:
            self._deadline = loop.call_later(command.timeout_s, self._time_out)
        if pidfd is None:
            threading.Thread(target=self._wait_in_thread, name="holdfast-wait", daemon=True).start()
        else:
            poller.add(pidfd, self._exited)

    # -- joining the pipes, by the starter

    def attach(self, *, readers: Sequence[PipeReader], stream: PipeStream | None, writer: PipeWriter | None) -> None:
        """Take over our ends of the pipes."""
        self._readers, self._stream, self._writer = readers, stream, writer
        self._open_pipes = len(readers)

    def pipe_ended(self) -> None:
        """A captured stream reached its end: most often because the process is just ending."""
        self._open_pipes -= 1
        if self._exit is not None:
            if not self._open_pipes:
                self._finish()
        elif self._pidfd is not None and _ends_now(self._pidfd):
            self._exited()  # one turn of the loop earlier than the handle would be told

    # -- what callers use

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._exit

    @property
    def is_running(self) -> bool:
        """Whether the process itself has not ended yet."""
        return self._exit is None

    @property
    def is_finished(self) -> bool:
        """Whether it has ended and its output is complete."""
        return self._is_finished

    async def wait(self) -> Exit:
        """Wait for the end. Cancelling the wait does not end the process, see `Processes.run` for that."""
        if not self._is_finished:
            waiter = self.waiter()
            try:
                await waiter
            finally:
                self.forget_waiter(waiter)
        if self._ending is not None:  # it was ended: its whole tree goes first
            await asyncio.shield(self._ending)
        return self._result()

    def waiter(self) -> asyncio.Future[None]:
        """A future that is done when the process has ended.

        Who waits for other things too may set it himself; who stops waiting hands it to `forget_waiter`.
        """
        waiter: asyncio.Future[None] = self._loop.create_future()
        if self._is_finished:
            waiter.set_result(None)
        else:
            self._waiters.append(waiter)
        return waiter

    def forget_waiter(self, waiter: asyncio.Future[None]) -> None:
        """Nobody waits for this any more."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    async def wait_at_most(self, seconds: float) -> Exit | None:
        """Wait for the end, but not longer; None when it still runs."""
        return self._result() if await self._finishes_within(seconds) else None

    async def finished(self) -> Finished:
        """Wait for the end and give what was written with it."""
        return Finished(await self.wait(), self.output)

    def progress(self, *, last_lines: int = 5) -> Progress:
        """What it has done so far."""
        output = self.output
        return Progress(
            total_bytes=output.total_bytes,
            line_count=output.line_count,
            elapsed_s=time.monotonic() - self.started_at,
            recent=output.stdout.last_lines(last_lines) or output.stderr.last_lines(last_lines),
        )

    async def read(self, limit_bytes: int = 256 << 10) -> bytes:
        """The next piece of a streamed stdout, or nothing at its end."""
        return await self.stdout_stream().read(limit_bytes)

    def lines(self, separator: bytes = b"\n") -> AsyncIterator[bytes]:
        """Blocks of whole lines of a streamed stdout. To stop early, leave the loop and call `stop` or `kill_tree`."""
        return self.stdout_stream().lines(separator)

    def stdout_stream(self) -> PipeStream:
        """Our end of a streamed stdout."""
        if self._stream is None:
            raise ValueError("This process captures its stdout. Start it with `streams_stdout=True` to read it.")
        return self._stream

    async def write(self, data: bytes) -> None:
        """Write to a process that was started with `Stdin.PIPE`."""
        if self._writer is None:
            raise ValueError("This process has no input. Start it with `stdin=Stdin.PIPE` to write to it.")
        await self._writer.write(data)

    def close_stdin(self) -> None:
        """End the input of a process."""
        if self._writer is not None:
            self._writer.close()

    def detach(self, spill_path: str | None = None) -> None:
        """Move to the background: no deadline, not ended with its block, output from the start on in a file."""
        self._is_detached = True
        if self._deadline is not None:
            self._deadline.cancel()
        if spill_path is not None:
            self.output.spill_from_now(spill_path, self.command.cap_bytes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._is_detached:
            return
        if self.is_running:
            await self.kill_tree()
        elif self._stream is not None:
            self._stream.close()

    async def stop(self) -> Exit:
        """End a program that starts nothing of its own, such as a search that has found enough, by one signal.

        Should it have started something after all, that ends with the session.
        """
        self.note_stop(Stopped.CALLER)
        self.kill_group()
        if self._stream is not None:
            self._stream.close()
        return await self.wait()

    async def kill_tree(self, grace_s: float | None = None, *, stopped_by: Stopped = Stopped.CALLER) -> Exit:
        """End it and everything it started: ask, wait for the grace, then kill. Returns when all of it is gone.

        A second cancellation does not stop this, so that a cancelled caller leaves nothing behind.
        """
        if self._ending is None or self._ending.done():
            self.note_stop(stopped_by)
            grace = self.command.kill_grace_s if grace_s is None else grace_s
            self._ending = self._loop.create_task(self._end_tree(grace))
        await uninterrupted(self._ending)
        return self._result()

    # -- the end

    def note_stop(self, stopped_by: Stopped) -> None:
        """Remember who ended it, unless it has ended by itself."""
        if self._exit is None and self._stopped_by is Stopped.NOBODY:
            self._stopped_by = stopped_by

    def _drop_handle(self) -> None:
        if self._pidfd is not None:
            self._poller.remove(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _exited(self) -> None:
        self._drop_handle()
        self._settle(collect(self.pid))

    def _wait_in_thread(self) -> None:
        code = collect(self.pid)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._settle, code)

    def _settle(self, code: int) -> None:
        if self._exit is not None:
            return
        is_signal = code < 0
        self._exit = Exit(
            code=None if is_signal else code,
            signal=-code if is_signal else None,
            stopped_by=self._stopped_by,
            duration_s=time.monotonic() - self.started_at,
        )
        self._on_exit()
        if self._deadline is not None:
            self._deadline.cancel()
        if self._writer is not None:
            self._writer.close()
        if self._stream is not None:
            self._stream.end_when_empty()
        for reader in self._readers:
            if reader.is_open:
                reader.drain()
        if self._open_pipes:
            self._wait_for_pipes(self.output.total_bytes, 0.0)
        else:
            self._finish()

    def _wait_for_pipes(self, seen_bytes: int, waited_s: float) -> None:
        """Somebody else holds a pipe: give it a moment, longer while output still comes, never for ever."""
        grace_s = self.command.drain_grace_s

        def look_again() -> None:
            if self._is_finished:
                return
            total = self.output.total_bytes
            if total != seen_bytes and waited_s + grace_s < _DRAIN_LIMIT_S:
                self._wait_for_pipes(total, waited_s + grace_s)
            else:
                self._finish()

        self._loop.call_later(grace_s, look_again)

    def _finish(self) -> None:
        if self._is_finished or self._exit is None:
            return
        self._is_finished = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            _wake(waiter)
        for reader in self._readers:
            if reader.is_open:
                reader.ignore()
        self.output.close()
        self._on_finish(self)

    def _result(self) -> Exit:
        assert self._exit is not None
        return self._exit

    async def _finishes_within(self, seconds: float) -> bool:
        if not self._is_finished:
            waiter = self.waiter()
            alarm = self._loop.call_later(seconds, _wake, waiter)
            try:
                await waiter
            finally:
                alarm.cancel()
                self.forget_waiter(waiter)
        return self._is_finished

    def _time_out(self) -> None:
        if self._exit is None and self._ending is None:
            self.note_stop(Stopped.TIMEOUT)
            self._ending = self._loop.create_task(self._end_tree(self.command.kill_grace_s))

    async def _end_tree(self, grace_s: float) -> None:
        members = {(entry.pid, entry.start_ticks): entry for entry in self._find()}
        self.ask_to_end(members.values())
        await self._wait_until_gone(grace_s)

        def find() -> list[tree.Entry]:
            found = self._find()
            members.update({(entry.pid, entry.start_ticks): entry for entry in found})
            return found

        def reap() -> None:
            tree.reap_adopted(entry.pid for entry in members.values() if entry.pid != self.pid)

        self.kill_group()
        for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=reap):
            await asyncio.sleep(pause_s)
        await self.close_up()

    def ask_to_end(self, members: Iterable[tree.Entry]) -> None:
        """Send the polite signal to everybody."""
        # A stopped process gets the polite signal only once it is continued.
        has_group = self._owns_group()
        for number in (signal.SIGTERM, signal.SIGCONT):
            if has_group:
                tree.send_group(self.pid, number)
            for entry in members:
                if entry.group != self.pid or not has_group:
                    tree.send(entry, number)

    def kill_group(self) -> None:
        """The last signal to the process's own group, while its number cannot be anybody else's."""
        if self._owns_group():
            tree.send_group(self.pid, signal.SIGKILL)

    def _owns_group(self) -> bool:
        # After the exit the members are signalled one by one, each checked; without /proc the group is all we have.
        return self._exit is None or not tree.has_process_table()

    async def _wait_until_gone(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        pause_s = 0.005
        while (left_s := deadline - time.monotonic()) > 0:
            if self._exit is None:
                await self._finishes_within(min(left_s, 0.1))
            elif any(entry.is_running for entry in self._find()):
                await asyncio.sleep(min(left_s, pause_s))
                pause_s = min(pause_s * 2, 0.1)
            else:
                return

    async def close_up(self) -> None:
        """Everything was killed: collect the exit and let go of the pipes."""
        if not await self._finishes_within(_GIVE_UP_S):  # not even SIGKILL ended it: it hangs in the kernel
            self._drop_handle()
            self._settle(-signal.SIGKILL)
            self._finish()
        for reader in self._readers:
            reader.close()
        if self._stream is not None:
            self._stream.close()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _ends_now(pidfd: int) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(1))


async def uninterrupted(task: asyncio.Task[None]) -> None:
    """Wait for the task to its end even if we are cancelled meanwhile; then be cancelled."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as again:
            if task.cancelled():
                raise
            cancelled = again
    if cancelled is not None:
        raise cancelled
    task.result()

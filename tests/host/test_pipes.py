import asyncio
import os
import threading
from collections.abc import Awaitable, Callable

import pytest

from holdfast.host import pipes
from holdfast.host.pipe_writer import PipeWriter
from holdfast.host.pipes import PipeReader, PipeStream, SparePipes, open_pipe
from holdfast.host.poller import Poller


def go(work: Callable[[Poller], Awaitable[None]]) -> None:
    async def main() -> None:
        poller = Poller(asyncio.get_running_loop())
        try:
            await asyncio.wait_for(work(poller), 60)
        finally:
            poller.close()

    asyncio.run(main())


class Taker:
    def __init__(self, poller: Poller) -> None:
        self.ours, self.theirs = open_pipe()
        self.ended = asyncio.Event()
        self.total = 0
        self.threads: set[str] = set()
        self.reader = PipeReader(poller, self.ours, sink=self, on_end=self.ended.set)

    def skip(self, waiting_bytes: int, drop: Callable[[int], int]) -> bool:
        return False

    def add(self, data: bytes | memoryview) -> None:
        self.total += len(data)
        self.threads.add(threading.current_thread().name)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110 - another process is watched, it sends no event
            await asyncio.sleep(0.005)


def flood(fd: int, count: int) -> threading.Thread:
    def write() -> None:
        with os.fdopen(os.dup(fd), "wb", buffering=0) as file:
            for _ in range(count):
                file.write(bytes(1 << 20))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_a_heavy_stream_moves_to_a_thread_and_comes_back_when_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "_IDLE_MS", 20)

    async def work(poller: Poller) -> None:
        taker = Taker(poller)
        writer = flood(taker.theirs, 30)
        await taker.until(lambda: taker.total == 30 << 20)
        writer.join(60)
        assert "holdfast-pipe" in taker.threads
        await taker.until(lambda: taker.reader._thread is None)
        taker.threads.clear()
        os.write(taker.theirs, b"quiet")
        await taker.until(lambda: taker.total == (30 << 20) + 5)
        assert taker.threads == {"MainThread"}
        os.close(taker.theirs)
        await asyncio.wait_for(taker.ended.wait(), 60)
        assert not taker.reader.is_open

    go(work)


@pytest.mark.parametrize("ending", ["close", "ignore"])
def test_a_heavy_stream_can_be_left_in_the_middle(ending: str) -> None:
    async def work(poller: Poller) -> None:
        taker = Taker(poller)
        stop = threading.Event()

        def write() -> None:
            try:
                while not stop.is_set():
                    os.write(taker.theirs, bytes(1 << 20))
            except BrokenPipeError:
                stop.set()

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        await taker.until(lambda: taker.total > 20 << 20)
        if ending == "close":
            taker.reader.close()
            await taker.until(stop.is_set)
        else:
            taker.reader.ignore()
            await taker.until(lambda: taker.reader._thread is None)
            seen = taker.total
            stop.set()
            await taker.until(lambda: not thread.is_alive())  # it is read away, so the writer gets through
            assert taker.total == seen
        thread.join(60)
        os.close(taker.theirs)
        await asyncio.wait_for(taker.ended.wait(), 60)
        await taker.until(lambda: taker.reader._thread is None)

    go(work)


def test_a_heavy_stream_without_a_handle_for_its_thread_is_read_on_by_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    async def work(poller: Poller) -> None:
        taker = Taker(poller)
        monkeypatch.setattr(os, "pipe", refuse)
        writer = flood(taker.theirs, 10)
        await taker.until(lambda: taker.total == 10 << 20)
        writer.join(60)
        assert taker.threads == {"MainThread"}
        os.close(taker.theirs)
        await asyncio.wait_for(taker.ended.wait(), 60)

    go(work)


def test_drain_takes_what_is_there_and_tells_whether_that_was_all() -> None:
    async def work(poller: Poller) -> None:
        taker = Taker(poller)
        os.write(taker.theirs, b"x" * 50_000)
        assert not taker.reader.drain()
        assert taker.total == 50_000
        os.write(taker.theirs, b"y")
        os.close(taker.theirs)
        assert taker.reader.drain()
        assert taker.total == 50_001

    go(work)


def test_a_stream_ends_for_its_reader_when_the_process_has_ended_though_others_hold_the_pipe() -> None:
    async def work(poller: Poller) -> None:
        ours, theirs = open_pipe()
        stream = PipeStream(poller, ours)
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0)
        stream.end_when_empty()
        assert await reading == b""
        assert await stream.read() == b""
        os.close(theirs)

    go(work)


def test_writes_wait_their_turn_and_a_closed_reader_is_told() -> None:
    async def work(poller: Poller) -> None:
        ours, theirs = os.pipe()
        writer = PipeWriter(poller.loop, theirs)
        stream_fd = os.dup(ours)
        os.set_blocking(stream_fd, False)
        stream = PipeStream(poller, stream_fd)
        sent = asyncio.gather(*(writer.write(bytes([65 + i]) * 200_000) for i in range(3)))
        got = b""
        while len(got) < 600_000:
            got += await stream.read()
        await sent
        assert got == b"A" * 200_000 + b"B" * 200_000 + b"C" * 200_000
        stream.close()
        os.close(ours)
        with pytest.raises(BrokenPipeError):
            await writer.write(b"x")

    go(work)


def test_spare_pipes_are_at_hand_as_new_ones_and_leave_nothing_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    spare = SparePipes()
    spare.refill()
    for _ in range(3):  # the third one was not at hand
        ours, theirs = spare.take()
        assert not os.get_blocking(ours)
        assert os.get_blocking(theirs)
        assert not os.get_inheritable(ours)
        assert not os.get_inheritable(theirs)
        os.write(theirs, b"x")
        assert os.read(ours, 2) == b"x"
        os.close(ours)
        os.close(theirs)
    for _ in range(2):
        ours, theirs = spare.take_plain()
        assert os.get_blocking(ours)
        assert not os.get_inheritable(theirs)
        os.close(ours)
        os.close(theirs)
    spare.refill()
    spare.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_who_has_no_handles_left_does_without_spare_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    spare = SparePipes()
    monkeypatch.setattr(os, "pipe", refuse)
    spare.refill()
    with pytest.raises(OSError, match="Too many open files"):
        spare.take()

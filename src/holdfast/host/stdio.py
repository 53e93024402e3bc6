"""JSON lines over standard input and output, of whatever kind those are, without ever blocking the event loop."""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable

from holdfast.contract import UsageError

__all__ = ["InputLine", "LineReader", "LineWriter"]

_CHUNK_BYTES = 1 << 16
_MAX_LINE_BYTES = 16 << 20
_READ_AHEAD = 64
_WRITE_AHEAD = 1_000


class InputLine:
    """One line of the input; one that is too long is known by its number only, because nothing of it may count."""

    __slots__ = ("_text", "number")

    def __init__(self, number: int, text: bytes | None) -> None:
        self.number = number
        self._text = text

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing to answer."""
        return self._text is not None and not self._text.strip()

    def text(self) -> bytes:
        """The whole line.

        Raises:
            UsageError: It was too long to be taken.
        """
        if self._text is None:
            raise UsageError(
                f"this line is longer than {_MAX_LINE_BYTES:,} bytes, so nothing of it was used; send less at once"
            )
        return self._text


class LineReader:
    """Numbered lines from a descriptor. A thread reads: it works for pipes, files, terminals and sockets alike."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int = 0) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._lines: asyncio.Queue[InputLine | None] = asyncio.Queue()
        self._count = 0
        self._room = threading.Semaphore(_READ_AHEAD)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[InputLine]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        rest = bytearray()
        is_too_long = False
        while chunk := self._read_chunk():
            *ends, last = chunk.split(b"\n")
            for end in ends:
                rest += end
                self._take(rest, is_too_long=is_too_long)
                rest, is_too_long = bytearray(), False
            rest += last
            if len(rest) > _MAX_LINE_BYTES:  # its end is waited for, and nothing of it is kept
                rest, is_too_long = bytearray(), True
        if rest or is_too_long:
            self._take(rest, is_too_long=is_too_long)
        self._put(None)

    def _take(self, line: bytearray, *, is_too_long: bool) -> None:
        self._count += 1
        is_whole = not is_too_long and len(line) <= _MAX_LINE_BYTES
        self._put(InputLine(self._count, bytes(line) if is_whole else None))

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK_BYTES)
        except OSError:  # the terminal or socket went away: as good as the end
            return b""

    def _put(self, line: InputLine | None) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop is closed: nobody wants this line any more
            return


class LineWriter:
    """Whole lines to a descriptor, in order. A thread writes, so that a slow reader holds up nobody else."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="stdout", daemon=True)
        self._broken = False
        self._is_writing = False
        """The thread waits for the reader, or is about to go on."""
        self._written = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_done = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_broken: Callable[[], None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop, *, on_broken: Callable[[], None]) -> None:
        """Begin to write; `on_broken` is told once when the reader went away."""
        self._loop = loop
        self._on_broken = on_broken
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue one line; never waits."""
        if self._is_terminal:
            from holdfast.lib.visible import json_for_terminal  # noqa: PLC0415 - programs read the very bytes

            line = json_for_terminal(line)
        self._lines.put(line + b"\n")
        if self._lines.qsize() > _WRITE_AHEAD and not self._is_done.is_set():
            self._has_room.clear()

    async def drained(self) -> None:
        """Wait until a slow reader has caught up."""
        await self._has_room.wait()

    async def close(self) -> None:
        """Write what is queued and stop; `abandon` ends the wait for a reader that never reads again."""
        self._lines.put(None)
        await self._is_done.wait()

    def give_up_on_a_still_reader(self, after_s: float) -> None:
        """From now on wait only as long as the reader reads: stopped work must not hang on one who never does."""
        if self._loop is not None:
            self._loop.call_later(after_s, self._look_at_the_reader, after_s, self._written)

    def _look_at_the_reader(self, after_s: float, before: int) -> None:
        if self._written == before and self._is_writing:
            self.abandon()
        else:
            self.give_up_on_a_still_reader(after_s)

    def abandon(self) -> None:
        """Let `drained` and `close` return whether or not everything is written."""
        self._is_done.set()
        self._has_room.set()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            if not self._broken:
                self._write_all(line)
            if self._lines.qsize() < _WRITE_AHEAD // 2 and not self._has_room.is_set():
                self._tell(self._has_room.set)
        self._tell(self._is_done.set)

    def _write_all(self, line: bytes) -> None:
        left = memoryview(line)
        try:
            while left:
                self._is_writing = True
                left = left[os.write(self._descriptor, left) :]
                self._is_writing = False
                self._written += 1
        except OSError:
            self._is_writing = False
            self._broken = True
            if self._on_broken is not None:
                self._tell(self._on_broken)

    def _tell(self, what: Callable[[], None]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

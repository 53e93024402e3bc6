"""Keep what a process writes in bounded memory: both ends here, the full text on disk up to a cap, the rest counted."""

import os
import threading
from collections import deque
from collections.abc import Callable

LINES_COUNTED_WITHIN_BYTES = 64 << 20
"""Counting newlines in gigabytes would make us slower than the writer; beyond this only bytes are counted."""
_WORTH_DROPPING_BYTES = 256 << 10


class SpillFile:
    """A private file for full output: made new, readable only by its owner, never longer than its cap."""

    # Defaults stand on the class: most commands write little, and their file is never made.
    path: str = ""
    written_bytes: int = 0
    error: OSError | None = None
    _fd: int | None = None

    def __init__(self, path: str | Callable[[], str | None], cap_bytes: int) -> None:
        """Take the place, or who names it once the file is needed, and how much may go there."""
        self._place = path
        self.cap_bytes = cap_bytes

    @property
    def is_open(self) -> bool:
        """Whether bytes still go to the disk."""
        return self._fd is not None

    def open(self) -> None:
        """Make the file. It must not exist and no link is followed: a planted name cannot redirect us."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        place = self._place() if callable(self._place) else self._place
        if place is None:
            self.error = FileNotFoundError("there is no place for the full output")
            return
        self.path = place
        try:
            self._fd = os.open(place, flags, 0o600)
        except OSError as problem:
            self.error = problem

    def write(self, data: bytes | memoryview) -> None:
        """Add data up to the cap. A full or broken disk ends the file, never the process."""
        room = self.cap_bytes - self.written_bytes
        if self._fd is None or room <= 0:
            return
        rest = memoryview(data)[:room]
        try:
            while rest:
                done = os.write(self._fd, rest)
                self.written_bytes += done
                rest = rest[done:]
        except OSError as problem:
            self.error = problem
            self.close()

    def close(self) -> None:
        """Close the file; later writes are dropped."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Capture:
    """One stream: its first and last bytes, and how much there was."""

    is_stale: bool = False
    """What came after the tail was dropped unseen."""

    def __init__(self, kept_bytes: int) -> None:
        self.kept_bytes = kept_bytes
        self.total_bytes = 0
        self.line_count = 0
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    def add(self, data: bytes | memoryview) -> None:
        """Take the next piece."""
        if self.total_bytes < LINES_COUNTED_WITHIN_BYTES:
            self.line_count += _count_lines(data)
        self.total_bytes += len(data)
        room = self.kept_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._add_to_tail(data)

    def skip(self, count: int) -> None:
        """Count a piece that was never seen; until the next one comes, the tail is what there was before it."""
        self.total_bytes += count
        self.is_stale = True

    def _add_to_tail(self, data: bytes | memoryview) -> None:
        if self.is_stale or len(data) >= self.kept_bytes:
            self.is_stale = False
            self._tail.clear()
            self._tail_bytes = 0
            data = data[max(0, len(data) - self.kept_bytes) :]
        self._tail.append(bytes(data))
        self._tail_bytes += len(data)
        # Whole pieces fall off the front, so the tail is between one and two times what is asked for.
        while self._tail_bytes - len(self._tail[0]) >= self.kept_bytes:
            self._tail_bytes -= len(self._tail.popleft())
        if len(self._tail) > 4096:  # a writer of single bytes
            self._tail = deque([b"".join(self._tail)])

    @property
    def is_line_count_exact(self) -> bool:
        """False once there was more than is counted line by line."""
        return self.total_bytes <= LINES_COUNTED_WITHIN_BYTES

    @property
    def head(self) -> bytes:
        """The first bytes, all of them while the stream is short."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes after `head`."""
        joined = b"".join(self._tail)
        return joined[max(0, len(joined) - self.kept_bytes) :]

    @property
    def dropped_bytes(self) -> int:
        """How much between head and tail is not in memory."""
        return self.total_bytes - len(self._head) - min(self._tail_bytes, self.kept_bytes)

    def kept(self) -> tuple[bytes, int, bytes]:
        """Head, how many bytes are left out after it, tail: one consistent view."""
        tail = self.tail
        head = bytes(self._head)
        return head, self.total_bytes - len(head) - len(tail), tail

    def text(self) -> str:
        """What is kept, as text; a gap is named where it is."""
        head, dropped, tail = self.kept()
        if not dropped:
            return (head + tail).decode("utf-8", "replace")
        before = head.decode("utf-8", "ignore")  # a character cut by the gap is dropped, not shown broken
        return f"{before}\n[... {dropped} bytes left out ...]\n{_decode_from_start(tail)}"

    def last_lines(self, count: int) -> str:
        """The end of the stream, at most `count` lines."""
        end = (self._head[-4096:] + self.tail)[-4096:] if self.total_bytes else b""
        return "\n".join(end.decode("utf-8", "replace").splitlines()[-count:])


def _count_lines(data: bytes | memoryview) -> int:
    return (data if isinstance(data, bytes) else bytes(data)).count(b"\n")


def _decode_from_start(tail: bytes) -> str:
    start = 0
    while start < min(3, len(tail)) and 0x80 <= tail[start] < 0xC0:  # continuation bytes of a character cut in two
        start += 1
    return tail[start:].decode("utf-8", "replace")


class Output:
    """Both streams of a process, and the file that holds their full text once they are long."""

    def __init__(self, *, kept_bytes: int, spill: SpillFile | None, is_merged: bool) -> None:
        self.stdout = Capture(kept_bytes)
        self.stderr = Capture(kept_bytes)
        """Empty when both are merged into stdout."""
        self.is_merged = is_merged
        self.spill = spill
        self._has_gap = False
        self._lock = threading.Lock()  # a heavy stream is read by a thread of its own

    @property
    def total_bytes(self) -> int:
        """All that was written, kept or not."""
        return self.stdout.total_bytes + self.stderr.total_bytes

    @property
    def line_count(self) -> int:
        """Lines of both streams, see `Capture.is_line_count_exact`."""
        return self.stdout.line_count + self.stderr.line_count

    @property
    def spill_path(self) -> str | None:
        """The file with the full text, once there is one."""
        return self.spill.path if self.spill and (self.spill.is_open or self.spill.written_bytes) else None

    @property
    def is_complete_on_disk(self) -> bool:
        """Whether the file holds every byte."""
        return self.spill is not None and not self._has_gap and self.spill.written_bytes == self.total_bytes

    def add(self, capture: Capture, data: bytes | memoryview) -> None:
        """Take a piece of one of the two streams."""
        with self._lock:
            if self.spill is None:
                capture.add(data)
            elif self.spill.is_open:
                capture.add(data)
                self.spill.write(data)
            else:
                self._add_and_maybe_spill(self.spill, capture, data)

    def _add_and_maybe_spill(self, spill: SpillFile, capture: Capture, data: bytes | memoryview) -> None:
        overflows = capture.total_bytes + len(data) > capture.kept_bytes
        if overflows and spill.error is None and not spill.written_bytes:
            self._start_spill(spill)
            spill.write(data)
        capture.add(data)

    def skip(self, capture: Capture, waiting_bytes: int, drop: Callable[[int], int]) -> bool:
        """Let a stream drop what nobody wants any more: no line of it is counted, and no byte goes to the disk.

        Args:
            capture: The stream.
            waiting_bytes: How much of it waits; as much as is kept of its end is never dropped.
            drop: Drops so many bytes and tells how many they were.

        Returns:
            Whether anything was dropped.
        """
        count = waiting_bytes - capture.kept_bytes
        with self._lock:
            spill = self.spill
            is_saved = spill is not None and spill.is_open and spill.written_bytes < spill.cap_bytes
            if count < _WORTH_DROPPING_BYTES or is_saved or capture.total_bytes < LINES_COUNTED_WITHIN_BYTES:
                return False
            capture.skip(drop(count))
            return True

    def spill_from_now(self, path: str, cap_bytes: int) -> None:
        """Send what was kept so far and everything that comes to a file: a process moves to the background."""
        with self._lock:
            if self.spill is None or not (self.spill.is_open or self.spill.written_bytes):
                self.spill = SpillFile(path, cap_bytes)
                self._start_spill(self.spill)

    def _start_spill(self, spill: SpillFile) -> None:
        spill.open()
        for stream in (self.stdout, self.stderr):
            head, dropped, tail = stream.kept()
            if stream.is_stale:  # what is left out stands behind it
                dropped, tail = dropped + len(tail), b""
            spill.write(head)
            if dropped:
                self._has_gap = True
                spill.write(f"\n[... {dropped} bytes left out ...]\n".encode())
            spill.write(tail)

    def close(self) -> None:
        """No more output is taken to the disk."""
        with self._lock:
            if self.spill is not None:
                self.spill.close()


class Intake:
    """The way of one stream into an output."""

    __slots__ = ("_capture", "_output")

    def __init__(self, output: Output, capture: Capture) -> None:
        self._output = output
        self._capture = capture

    def add(self, data: bytes | memoryview) -> None:
        """Take the next piece."""
        self._output.add(self._capture, data)

    def skip(self, waiting_bytes: int, drop: Callable[[int], int]) -> bool:
        """Drop the next piece unseen, where only the end of the stream is wanted."""
        return self._output.skip(self._capture, waiting_bytes, drop)

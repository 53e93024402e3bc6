"""The append-only journal: what was asked, decided, begun and answered, one JSON line each.

When a line reaches the file:
- `started` of a call that may change something: before the call acts, with everything buffered before it;
- its reply: before anybody reads that reply;
- messages, notes and references: at once (what an agent of the session is told, with its answer);
- everything of read-only calls: with the next of these, at the turn's end, after a second, or at 64 KB.
The disk itself (fsync) is waited for at turn ends, beside the work; `sync` waits for that.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from holdfast.events import (
    AgentTold,
    CallFinished,
    CallProgressed,
    CallStarted,
    Event,
    HookStarted,
    TerminalSignalled,
    TurnEnded,
    encode_event,
    encode_json,
    to_builtins,
)
from holdfast.session.appender import LineAppender, LineFile, PathAppender
from holdfast.session.flusher import DiskWaiter, Flusher
from holdfast.session.records import JournalGap, MessageRecorded, NoteRecorded, OutputStored, Role, TimeMarked

__all__ = ["Durability", "Journal", "Trouble"]

_log = logging.getLogger(__name__)
_CALL_WEIGHT = 800
_MAX_WEIGHT = 64 * 1024
"""Roughly the bytes of lines that may wait in memory."""
_CARRIED_LINES = 500
_MAX_AGE_S = 1.0
_NOT_KEPT = frozenset({CallProgressed, AgentTold, HookStarted, TerminalSignalled})
"""Progress is for whoever watches; an agent that a call has started has a file of its own."""
_KEEP_BYTES = 8 * 1024 * 1024
"""While the file takes nothing, so many bytes of lines wait in memory; beyond that the oldest are given up."""
_MAX_DATA_BYTES = 256 * 1024
"""A reply's data for programs is left out of a longer line: the model's text is what a session needs."""
_CLOSE_TIMEOUT_S = 30.0
_A_MARK_ALONE = 2
"""Lines of a batch that holds the time and one more."""
# One call into C for all buffered lines costs a seventh of a call per line.
_encode_lines = msgspec.json.Encoder(enc_hook=to_builtins).encode_lines

Durability = Literal["turn", "call", "never"]
"""When the disk itself is waited for: at turn ends, also before each state-changing call acts, or never."""


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong with the journal now."""

    reason: str
    since: float
    lines_waiting: int = 0
    lines_lost: int = 0


class Journal:
    """A sink for engine events and messages. It never raises: the work goes on, and the trouble is told loudly.

    Give it to an executor as `on_event`. All calls come from one thread; only the disk is waited for in another.
    """

    def __init__(
        self,
        handle: "int | LineFile",
        *,
        durability: Durability = "turn",
        redact: Callable[[bytes], bytes] | None = None,
        on_trouble: Callable[[Trouble | None], None] | None = None,
        max_age_s: float = _MAX_AGE_S,
        directories: tuple[int, ...] = (),
        flusher: DiskWaiter | None = None,
    ) -> None:
        """Write to a file.

        Args:
            handle: The file, opened for reading and appending, and locked; `close` closes it. Or one of its own kind,
                which needs a `flusher`.
            durability: When the disk itself is waited for.
            redact: Takes secrets out of a line; must leave it valid JSON.
            on_trouble: Told when lines cannot be kept, and told None when they can again.
            max_age_s: How long a line of a read-only call may stay in memory.
            directories: Handles of the directories that name the file, made durable once.
            flusher: Waits for the disk; one of its own when omitted.
        """
        self._file = LineAppender(handle) if isinstance(handle, int) else handle
        self._durability: Durability = durability
        self._redact = redact
        self._on_trouble = on_trouble
        self._max_age_s = max_age_s
        self._events: list[Event] = []
        self._weight = 0
        self._unwritten = b""
        """Encoded lines that the file refused."""
        self._acting: set[str] = set()
        self._alarm_loop: asyncio.AbstractEventLoop | None = None
        self._write_trouble: Trouble | None = None
        self._sync_trouble: Trouble | None = None
        self._lost = 0
        self._closed = False
        self._is_beside = flusher is not None
        if flusher is None:
            assert isinstance(handle, int)
            flusher = Flusher(handle, self._unconfirmed, directories)
        self._flusher = flusher

    @property
    def trouble(self) -> Trouble | None:
        """What is wrong now; none when every line so far is in the file or in the ordinary buffer."""
        if self._write_trouble is None:
            return self._sync_trouble
        return msgspec.structs.replace(
            self._write_trouble, lines_waiting=self._unwritten.count(b"\n") + len(self._events), lines_lost=self._lost
        )

    @property
    def size_bytes(self) -> int:
        """How many bytes of whole lines are in the file."""
        return self._file.end

    def beside(self, path: str) -> "Journal":
        """A journal in another file, which is open only while lines are written; the same thread waits for the disk.

        Its lines reach the disk itself when it is closed, and before a call acts only where this one's do.
        """
        durability: Durability = "call" if self._durability == "call" else "never"
        return Journal(
            PathAppender(path), durability=durability, redact=self._redact, flusher=_Beside(self._flusher, path)
        )

    # Lines in.

    def __call__(self, event: Event) -> None:
        """Take one event of the engine. Values in it are written as they are at the next write."""
        if type(event) in _NOT_KEPT:
            return
        events = self._events
        if not events and not self._begin_batch():
            return
        events.append(event)
        if type(event) is CallFinished:
            self._weight += _CALL_WEIGHT + len(event.content)
            if event.tool_use_id in self._acting:
                self._acting.discard(event.tool_use_id)
                self.flush()
            elif self._weight > _MAX_WEIGHT:
                self.flush()
        elif type(event) is CallStarted:
            if not event.read_only:
                self._begin_change(event)
        else:
            self._take_other(event)

    def _take_other(self, event: Event) -> None:
        if type(event) is TurnEnded:
            if self._is_beside and len(self._events) == _A_MARK_ALONE:
                return  # everything of the turn is in the file already
            self.flush()
            if self._durability != "never":
                self._flusher.request()

    def record(self, record: Event) -> None:
        """Write a record of this room at once."""
        if self._events or self._begin_batch():
            self._events.append(record)
            self.flush()

    def take(self, record: Event) -> None:
        """Write a record of this room with the next that is, or after a second."""
        if self._events or self._begin_batch():
            self._events.append(record)

    def carry_over(self, record: Event, at: float | None) -> None:
        """Take over a record of another journal with its time; it is written with the next that is."""
        if not self._events and not self._begin_batch():
            return
        if at is not None:
            self._events.append(TimeMarked(at))
        self._events.append(record)
        if len(self._events) >= _CARRIED_LINES:
            self.flush()

    def record_message(
        self, role: Role, content: str | list[dict[str, Any]], *, meta: dict[str, Any] | None = None
    ) -> None:
        """Write one message of the conversation; an assistant's before its turn is ended.

        In a file beside, what an agent is told waits for its answer: whoever told it has it, too.
        """
        message = MessageRecorded(role, content, meta)
        if self._is_beside and role == "user":
            self.take(message)
        else:
            self.record(message)

    def record_note(self, kind: str, data: Any = None) -> None:
        """Write something that is no message, such as a title or a compaction."""
        self.record(NoteRecorded(kind, data))

    def record_output(
        self, kind: Literal["tool-result", "task", "blob"], path: str, *, owner: str = "", size_bytes: int | None = None
    ) -> None:
        """Write where a text is kept that is too long for the journal."""
        self.record(OutputStored(kind, path, owner, size_bytes))

    # Lines out.

    def flush(self) -> bool:
        """Hand every buffered line to the system, so that they outlive this process; false if it takes them not."""
        if self._closed:
            return False
        if not self._events and not self._unwritten:
            return True
        gap = self._gap_line() if self._lost else b""
        lines = gap + self._unwritten + self._encoded()
        kept, error = self._file.append(lines)
        if kept:
            self._lost = 0
        self._unwritten = lines[kept:] if kept else lines[len(gap) :]
        if error is not None:
            self._refused(error)
            return False
        if self._write_trouble is not None:
            self._write_trouble = None
            _log.warning("the session journal can be written again")
            self._tell()
        return True

    async def sync(self) -> bool:
        """Wait until everything recorded so far is on the disk; false if it is not."""
        if self._closed or not self.flush():
            return False
        await self._flusher.reached(self._flusher.request(waited_for=True))
        return self._sync_trouble is None

    def close(self) -> None:
        """Write what is buffered, wait for the disk, and close the file; later events are ignored."""
        if self._closed:
            return
        self.flush()
        if self._durability != "never":
            self._flusher.request()
        self._closed = True
        if self._flusher.close(_CLOSE_TIMEOUT_S):
            self._file.close()
        else:  # the thread still uses the handle
            _log.error("the disk did not confirm the session journal within %.0f s", _CLOSE_TIMEOUT_S)

    # Inside.

    def _begin_batch(self) -> bool:
        """The first line of a batch: note the time, and see to it that the batch is written in time."""
        if self._closed:
            _log.debug("something came after the journal was closed")
            return False
        self._events.append(TimeMarked(int(time.time() * 1000) / 1000))
        self._arm()
        return True

    def _begin_change(self, event: CallStarted) -> None:
        self._acting.add(event.tool_use_id)
        self.flush()
        if self._durability == "call":
            self._sync_now()

    def _encoded(self) -> bytes:
        events, self._events, self._weight = self._events, [], 0
        try:
            lines = _encode_lines(events)
        except Exception:  # noqa: BLE001 - users' objects turn themselves into JSON; what they raise is not the call's end
            return b"".join(map(self._line, events))
        if len(lines) > _MAX_DATA_BYTES:
            return b"".join(map(self._line, events))
        return lines if self._redact is None else b"".join(map(self._redact, lines.splitlines(keepends=True)))

    def _line(self, event: Event) -> bytes:
        try:
            line = encode_event(event)
        except Exception:  # noqa: BLE001 - see above
            line = encode_event(_encodable(event))
        if len(line) > _MAX_DATA_BYTES and isinstance(event, CallFinished) and event.data is not None:
            return self._line(msgspec.structs.replace(event, data=None))
        return (line if self._redact is None else self._redact(line)) + b"\n"

    def _arm(self) -> None:
        """Have the buffer written after its time. Without an event loop no engine runs: the next record writes it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if loop is not self._alarm_loop:
            self._alarm_loop = loop
            loop.call_later(self._max_age_s, self._ring)

    def _ring(self) -> None:
        self._alarm_loop = None
        self.flush()

    def _sync_now(self) -> None:
        try:
            self._file.sync()
        except OSError as error:
            self._unconfirmed(error)

    def _refused(self, error: OSError) -> None:
        if len(self._unwritten) > _KEEP_BYTES:
            cut = self._unwritten.index(b"\n", len(self._unwritten) - _KEEP_BYTES // 2) + 1
            self._lost += self._unwritten.count(b"\n", 0, cut)
            self._unwritten = self._unwritten[cut:]
        if self._write_trouble is None:
            reason = f"the session journal cannot be written: {error.strerror or error}"
            self._write_trouble = Trouble(reason, time.time())
            _log.error("%s; calls go on and are answered, but a crash now would forget them", reason)
            self._tell()
        self._arm()

    def _unconfirmed(self, error: OSError) -> None:
        # The kernel may have dropped the pages, so a later success proves nothing about them: this trouble stays.
        if self._sync_trouble is None:
            reason = f"the disk did not confirm the session journal: {error.strerror or error}"
            self._sync_trouble = Trouble(reason, time.time())
            _log.error("%s; after a power failure its last lines may be missing", reason)
            self._tell()

    def _tell(self) -> None:
        if self._on_trouble is not None:
            self._on_trouble(self.trouble)

    def _gap_line(self) -> bytes:
        reason = self._write_trouble.reason if self._write_trouble else ""
        return encode_event(JournalGap(self._lost, reason)) + b"\n"


class _Beside:
    """Waits for the disk through the thread of another journal."""

    __slots__ = ("_flusher", "_path")

    def __init__(self, flusher: DiskWaiter, path: str) -> None:
        self._flusher = flusher
        self._path = path

    def request(self, *, waited_for: bool = False) -> int:
        number = self._flusher.request_also(self._path)
        return self._flusher.request(waited_for=True) if waited_for else number

    def request_also(self, path: str) -> int:
        return self._flusher.request_also(path)

    async def reached(self, number: int) -> None:
        await self._flusher.reached(number)

    def close(self, timeout_s: float) -> bool:
        del timeout_s  # whoever closes the other journal waits
        self.request()
        return True


def _encodable(event: Event) -> Event:
    """The event with each field that has no JSON form replaced by a word about it."""
    changes: dict[str, Any] = {}
    for field in event.__struct_fields__:
        try:
            encode_json(getattr(event, field))
        except Exception:  # noqa: BLE001 - see above
            changes[field] = f"<{type(getattr(event, field)).__name__} without a JSON form>"
    return msgspec.structs.replace(event, **changes)

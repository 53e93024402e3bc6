"""Load a journal: its lines as typed records, and the calls in them. Nothing in a file can make loading fail."""

import io
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from holdfast.contract import FileStamp, WorktreeChanged
from holdfast.events import (
    CallDiscarded,
    CallFinished,
    CallQueued,
    CallStarted,
    ContextChanged,
    Event,
    PermissionDecided,
    TurnEnded,
    records,
)
from holdfast.session import records as own_records
from holdfast.session.records import (
    COMPACTION,
    JOURNAL_VERSION,
    PROMPTS,
    MessageRecorded,
    NoteRecorded,
    SessionOpened,
    SessionResumed,
    TimeMarked,
)
from holdfast.session.versions import upgraded

__all__ = ["CallRecord", "LineAt", "Message", "Transcript", "load_transcript", "read_transcript", "records_of"]

_MAX_LINE_BYTES = 64 * 1024 * 1024
_HEADER_MARK = b'{"type":"session",'


class _Typed(msgspec.Struct):
    """What tells an unknown line from a damaged one."""

    type: str = ""


class CallRecord:
    """Everything the journal says about one call."""

    __slots__ = ("at", "decision", "discarded", "epoch", "id", "input", "name", "read_only", "reply", "started")

    def __init__(self, queued: CallQueued, epoch: int, at: float | None) -> None:
        self.id = queued.tool_use_id
        self.name = queued.name
        self.input: Any = queued.input
        self.epoch = epoch
        """Which stretch between turn ends and restarts it belongs to."""
        self.at = at
        self.decision: PermissionDecided | None = None
        self.started = False
        self.read_only = False
        self.discarded = False
        self.reply: CallFinished | None = None

    @property
    def state(self) -> str:
        """How far it came: `finished`, `discarded`, `not started` or `outcome unknown`."""
        if self.discarded:
            return "discarded"
        if self.reply is not None:
            return "finished"
        return "outcome unknown" if self.started else "not started"


class Message(msgspec.Struct, frozen=True):
    """One recorded message and the stretch it belongs to."""

    role: str
    content: str | list[dict[str, Any]]
    epoch: int
    calls_before: int
    """How many calls were queued when it was recorded."""
    at: float | None = None
    model: str = ""
    """Who said it, as it was asked for; as it calls itself where that is not known."""
    uuid: str = ""
    """Its name; older journals have none."""
    prompts: tuple[tuple[str, int], ...] = ()
    """Its first blocks are prompts of people: the name of each, and of how many blocks it is."""
    parts: tuple[str, ...] = ()
    """What its blocks are called, where they have names of their own."""


class Restart(NamedTuple):
    """The conversation was shortened: from here on it is these messages and what came after."""

    messages: list[dict[str, Any]]
    messages_before: int
    calls_before: int


class LineAt(NamedTuple):
    """Where a line of a journal is, and in which format."""

    start: int
    length: int
    version: int


class Transcript:
    """A loaded session."""

    def __init__(self) -> None:
        self.header: SessionOpened | None = None
        self.entries: list[tuple[float | None, Event]] = []
        """Every record with its time, in order."""
        self.calls: list[CallRecord] = []
        self.messages: list[Message] = []
        self.notes: list[NoteRecorded] = []
        self.queued: list[dict[str, Any]] = []
        """What was said and never told to the model, in order: `content` and `source`."""
        self.restart: Restart | None = None
        """The last time the conversation was shortened."""
        self.turns = 0
        self.closed = False
        """The last writer ended in order."""
        self.cwd: str | None = None
        """Where the session stood at its end."""
        self.worktree: WorktreeChanged | None = None
        """The worktree that the session was in at the end."""
        self.mode = ""
        """The permission mode that it went to last; empty: it stayed in its first."""
        self.file_reads: dict[str, FileStamp] = {}
        """The files the model has seen, as they were then."""
        self.damaged_lines = 0
        self.unknown_lines = 0
        """Lines of kinds that this version does not know."""
        self.torn_tail = False
        """The last line is incomplete: the writer was stopped in the middle of it."""
        self.lost_lines = 0
        """Lines the writer could not keep, by its own account."""
        self.line = LineAt(0, 0, JOURNAL_VERSION)
        """Which line of the journal is being taken."""
        self._now: float | None = None
        self._epoch = 0
        self._open: dict[str, deque[CallRecord]] = {}
        self._recent: dict[str, list[CallRecord]] = {}

    @property
    def version(self) -> int:
        """The format of the file; 0 without a header."""
        return self.header.version if self.header else 0

    @property
    def is_newer(self) -> bool:
        """A newer Holdfast wrote it: show what is understood, but do not write to it."""
        return self.version > JOURNAL_VERSION

    def take_at(self, record: Event, at: float | None) -> None:
        """Add the next record of another transcript, with its time."""
        self._now = at
        self.take(record)

    def take(self, record: Event) -> None:
        """Add the next record."""
        if isinstance(record, TimeMarked):
            self._now = record.time
            return
        at = self._now
        self.entries.append((at, record))
        self.closed = isinstance(record, own_records.SessionClosed)
        if isinstance(record, CallQueued):
            call = CallRecord(record, self._epoch, at)
            self.calls.append(call)
            self._open.setdefault(call.id, deque()).append(call)
            self._recent.setdefault(call.id, []).append(call)
        elif isinstance(record, CallFinished):
            self._finish(record, at)
        elif isinstance(record, CallStarted | PermissionDecided | CallDiscarded):
            self._note_call(record)
        else:
            self._take_other(at, record)

    def _finish(self, reply: CallFinished, at: float | None) -> None:
        waiting = self._open.get(reply.tool_use_id)
        if not waiting:  # its first line was damaged: the reply is still worth keeping
            call = CallRecord(CallQueued(reply.tool_use_id, reply.name, {}), self._epoch, at)
            self.calls.append(call)
        else:
            call = waiting.popleft()  # replies come in the order of the calls
            if not waiting:
                del self._open[reply.tool_use_id]
        call.reply = reply
        call.name = reply.name or call.name

    def _note_call(self, record: CallStarted | PermissionDecided | CallDiscarded) -> None:
        if isinstance(record, CallDiscarded):
            for call in self._recent.get(record.tool_use_id, ()):
                call.discarded = True
            self._open.pop(record.tool_use_id, None)
            return
        waiting = self._open.get(record.tool_use_id)
        if not waiting:
            return
        if isinstance(record, CallStarted):
            waiting[0].started, waiting[0].read_only = True, record.read_only
        else:
            waiting[0].decision = record

    def _take_other(self, at: float | None, record: Event) -> None:
        if isinstance(record, MessageRecorded):
            self._take_message(at, record)
        elif isinstance(record, TurnEnded):
            self._begin_epoch()
            self.turns += 1
        elif isinstance(record, SessionResumed):
            self._begin_epoch()
            self._open.clear()  # whoever ran these calls is gone
        elif isinstance(record, ContextChanged):
            self._take_change(record)
        elif isinstance(record, NoteRecorded):
            self.notes.append(record)
            if record.kind == COMPACTION:
                self._restart(record.data)
            elif record.kind == own_records.PROMPT_QUEUED and isinstance(record.data, dict):
                self.queued.append(cast("dict[str, Any]", record.data))
        elif isinstance(record, own_records.JournalGap):
            self.lost_lines += record.lines
        elif isinstance(record, SessionOpened) and self.header is None:
            self.header = record
            self.cwd = self.cwd or record.cwd or None

    def _take_message(self, at: float | None, record: MessageRecorded) -> None:
        meta = record.meta or {}
        if meta.get(own_records.DELIVERS_QUEUED):
            self.queued.clear()
        model = meta.get("asked") or meta.get("model")
        self.messages.append(
            Message(
                record.role,
                record.content,
                self._epoch,
                len(self.calls),
                at,
                model if isinstance(model, str) else "",
                str(meta.get("uuid") or ""),
                _read(meta.get(PROMPTS), tuple[tuple[str, int], ...]),
                _read(meta.get(own_records.PARTS), tuple[str, ...]),
            )
        )

    def _restart(self, data: Any) -> None:
        given: Any = cast("dict[str, Any]", data).get("messages") if isinstance(data, dict) else None
        if not isinstance(given, list):
            return
        told = cast("list[Any]", given)
        messages = [cast("dict[str, Any]", message) for message in told if isinstance(message, dict)]
        self.restart = Restart(messages, len(self.messages), len(self.calls))
        # What was shown may be gone from the conversation: the same read again shows it again.
        self.file_reads = {path: stamp._replace(window=None) for path, stamp in self.file_reads.items()}

    def _begin_epoch(self) -> None:
        self._epoch += 1
        self._recent.clear()

    def _take_change(self, record: ContextChanged) -> None:
        value = cast("dict[str, Any]", record.value) if isinstance(record.value, dict) else {}
        path = value.get("path")
        if record.change == "ModeChanged":
            self.mode = str(value.get("mode"))
        if not isinstance(path, str):
            return
        if record.change == "CwdChanged":
            self.cwd = path
        elif record.change == "WorktreeChanged":
            self._take_worktree(value)
        elif record.change == "FileRead":
            try:
                self.file_reads[path] = FileStamp(*value.get("stamp", ()))
            except TypeError:
                return

    def _take_worktree(self, value: dict[str, Any]) -> None:
        known = {name: text for name, text in value.items() if name in WorktreeChanged._fields}
        if all(isinstance(text, str) for text in known.values()) and known.get("cwd"):
            self.cwd = known["cwd"]
            self.worktree = WorktreeChanged(**known) if known["path"] else None


def _read(found: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(found or (), kind)
    except msgspec.ValidationError:
        return ()


def load_transcript(path: str | os.PathLike[str]) -> Transcript:
    """Load the journal in a file; raises OSError when the file cannot be read, and nothing else."""
    with open(path, "rb") as file:
        return read_transcript(file)


class Lines(Protocol):
    """What a journal is read from."""

    def readline(self, limit: int, /) -> bytes:
        """The next line, or as much of it as is wanted."""
        ...


def read_transcript(source: Lines | bytes, *, into: Transcript | None = None) -> Transcript:
    """Load a journal from an open file or from bytes: a torn or damaged line is counted and left out.

    `into` takes the records instead of a new transcript.
    """
    transcript = Transcript() if into is None else into
    version: int | None = None
    for start, line in _lines(io.BytesIO(source) if isinstance(source, bytes) else source):
        whole = line.endswith(b"\n")
        if version is None:
            version = JOURNAL_VERSION if line.startswith(_HEADER_MARK) or not whole else 0
        before = transcript.damaged_lines
        transcript.line = LineAt(start, len(line), version)
        _take_line(transcript, line, version)
        if not whole and transcript.damaged_lines > before:
            transcript.damaged_lines = before
            transcript.torn_tail = True
        if transcript.header is not None:
            version = min(transcript.header.version, JOURNAL_VERSION)
    return transcript


def _take_line(transcript: Transcript, line: bytes, version: int) -> None:
    if not line.strip():
        return
    for current in [line] if version >= JOURNAL_VERSION else upgraded(line, version):
        try:
            record = _decoder().decode(current)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if _is_unknown(current):
                transcript.unknown_lines += 1
            else:
                transcript.damaged_lines += 1
        else:
            transcript.take(record)


def _is_unknown(line: bytes) -> bool:
    try:
        kind = _typed.decode(line).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return bool(kind) and kind not in _known_types()


def records_of(line: bytes, version: int) -> list[Event]:
    """The records that one line stands for; those that cannot be read are left out."""
    found: list[Event] = []
    for current in [line] if version >= JOURNAL_VERSION else upgraded(line, version):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found.append(_decoder().decode(current))
    return found


def _lines(file: Lines) -> Iterator[tuple[int, bytes]]:
    """Each line and where it begins."""
    start = 0
    while line := file.readline(_MAX_LINE_BYTES):
        yield start, line
        start += len(line)
        while len(line) == _MAX_LINE_BYTES and not line.endswith(b"\n"):  # no journal wrote such a line: skip the rest
            line = file.readline(_MAX_LINE_BYTES)
            start += len(line)


_typed = msgspec.json.Decoder(_Typed)
_union_decoder: msgspec.json.Decoder[Any] | None = None


def _kinds() -> Iterable[type[Event]]:
    for module in (records, own_records):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event:
                yield kind


def _known_types() -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in _kinds()}


def _decoder() -> msgspec.json.Decoder[Any]:
    global _union_decoder  # noqa: PLW0603 - the union decoder is built once, on first use
    if _union_decoder is None:
        union: Any = None
        for kind in _kinds():
            union = kind if union is None else union | kind
        _union_decoder = msgspec.json.Decoder(union)
    return _union_decoder

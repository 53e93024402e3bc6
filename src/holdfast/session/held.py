"""A session that may be larger than memory: what its records hold stays in the journal and is read when it is used.

Of each record only what later ones speak of is kept, and where its line is. A journal is only ever added to, so the
line is found there again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from holdfast.events import CallFinished, CallQueued, Event, PermissionDecided
from holdfast.session.errors import SessionError
from holdfast.session.records import TITLE, MessageRecorded, NoteRecorded
from holdfast.session.transcript import LineAt, Transcript, records_of

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["Held", "HeldTranscript", "loaded"]


class _What(NamedTuple):
    """Which part of a line; the same for very many lines."""

    handle: int
    version: int
    nth: int
    """Which of the records that the line stands for."""
    field: str


class Held:
    """A value that is still in the journal."""

    __slots__ = ("_length", "_start", "_what")

    def __init__(self, start: int, length: int, what: _What) -> None:
        self._start = start
        self._length = length
        self._what = what

    def load(self) -> Any:
        """The value, read anew.

        Raises:
            SessionError: The line is not what it was.
        """
        what = self._what
        found = records_of(os.pread(what.handle, self._length, self._start), what.version)
        try:
            return getattr(found[what.nth], what.field)
        except (IndexError, AttributeError) as error:
            raise SessionError("the journal was changed while it was read", advice="Try again.") from error


def loaded(value: Any) -> Any:
    """A value as it was recorded, from the journal if it is held there."""
    return value.load() if isinstance(value, Held) else value


class HeldTranscript(Transcript):
    """Needs a little memory for each record, and none for what it says. The file must stay open while it is used."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._handle = file.fileno()
        self._last: LineAt | None = None
        self._nth = 0
        self._known: dict[_What, _What] = {}

    def take(self, record: Event) -> None:
        """Add the next record without what it holds."""
        self._nth = self._nth + 1 if self.line is self._last else 0
        self._last = self.line
        super().take(self._light(record))
        self.entries.clear()
        self.file_reads.clear()
        self.queued.clear()
        self.restart = None

    def _light(self, record: Event) -> Event:
        if isinstance(record, MessageRecorded):
            return self._without(record, "content")
        if isinstance(record, CallQueued):
            return self._without(record, "input")
        if isinstance(record, CallFinished):
            bare = msgspec.structs.replace(record, data=None, display=None)
            return self._without(bare, *(("content", "new_messages") if record.new_messages else ("content",)))
        if isinstance(record, PermissionDecided):
            return self._without(record, "decision")
        if isinstance(record, NoteRecorded) and record.kind != TITLE:
            return self._without(record, "data")
        return record

    def _without(self, record: Any, *fields: str) -> Any:
        start, length, version = self.line
        held: dict[str, Held] = {}
        for field in fields:
            what = _What(self._handle, version, self._nth, field)
            held[field] = Held(start, length, self._known.setdefault(what, what))
        return msgspec.structs.replace(record, **held)

"""The lines of a journal that no engine event covers. With the events they are everything a session remembers."""

from typing import Any, Literal

from holdfast.events import Event

__all__ = [
    "COMPACTION",
    "DEFERRED",
    "DELIVERS_QUEUED",
    "JOURNAL_VERSION",
    "PARTS",
    "PROMPTS",
    "PROMPT_QUEUED",
    "JournalGap",
    "MessageRecorded",
    "NoteRecorded",
    "OutputStored",
    "Role",
    "SessionClosed",
    "SessionOpened",
    "SessionResumed",
    "TimeMarked",
]

JOURNAL_VERSION = 1
COMPACTION = "compaction"
"""The kind of a note whose `messages` are the whole conversation from there on; what came before stays readable."""
PROMPT_QUEUED = "prompt_queued"
"""The kind of a note about something that waits to be told to the model: its `content` and `source`."""
TITLE = "title"
"""The kind of a note that names the session."""
DEFERRED = "tool_deferred"
"""The kind of a note about a call that a hook left for a later process: its `id`, `name` and `input`."""
DELIVERS_QUEUED = "delivers_queued"
"""In a message's meta: it tells the model everything that was queued before it."""
PROMPTS = "prompts"
"""In a message's meta: its first blocks are prompts of people; the name of each, and of how many blocks it is."""
PARTS = "parts"
"""In the notes of a message that another program wrote: what each of its blocks was called there."""
Role = Literal["user", "assistant", "system"]


class SessionOpened(Event, frozen=True, tag="session"):
    """The first line: which format, whose session."""

    version: int
    session_id: str
    created_at: float
    cwd: str = ""
    program: str = ""
    """The Holdfast version that wrote it."""
    parent: str | None = None
    """The session this one was forked from."""
    fence: int = 0
    """Reserved: the number of this writer among all that the session has had, for stores without locks."""


class SessionResumed(Event, frozen=True, tag="session_resumed"):
    """A later process goes on from here; whatever was unfinished above will stay so."""

    program: str = ""
    fence: int = 0
    """Reserved, as in the first line."""


class SessionClosed(Event, frozen=True, tag="session_closed"):
    """The writer ended in order."""


class MessageRecorded(Event, frozen=True, tag="message"):
    """One message of the conversation, as a provider takes it."""

    role: Role
    content: str | list[dict[str, Any]]
    meta: dict[str, Any] | None = None
    """Model, usage, where it came from: kept, never sent."""


class NoteRecorded(Event, frozen=True, tag="note"):
    """Something worth keeping that is no message, such as a title or a compaction."""

    kind: str
    data: Any = None


class OutputStored(Event, frozen=True, tag="output"):
    """A text kept beside the journal: a spilled result, a task's output, a blob."""

    kind: Literal["tool-result", "task", "blob"]
    path: str
    """Relative to the session's directory when it lies within."""
    owner: str = ""
    """The call or task it belongs to."""
    size_bytes: int | None = None


class JournalGap(Event, frozen=True, tag="gap"):
    """Lines are missing here because they could not be written."""

    lines: int
    reason: str = ""


class TimeMarked(Event, frozen=True, tag="at"):
    """The lines below were recorded from this time on, within about a second."""

    time: float

"""What is remembered: the session's directory, its journal, and a history that can always go on."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.session.directory import JournalChoices, Session, SessionStore, user_store
    from holdfast.session.errors import SessionBusy, SessionError, SessionNotFound, SessionTooNew, SessionUnsafe
    from holdfast.session.journal import Durability, Journal, Trouble
    from holdfast.session.transcript import CallRecord, Transcript, load_transcript, read_transcript

__all__ = [
    "CallRecord",
    "Durability",
    "Journal",
    "JournalChoices",
    "Session",
    "SessionBusy",
    "SessionError",
    "SessionNotFound",
    "SessionStore",
    "SessionTooNew",
    "SessionUnsafe",
    "Transcript",
    "Trouble",
    "load_transcript",
    "read_transcript",
    "user_store",
]

# A first request needs none of it; the journal is opened while the model thinks, and before any call.
export_lazily(
    __name__,
    {
        "directory": (
            "JournalChoices",
            "Session",
            "SessionStore",
            "user_store",
        ),
        "errors": (
            "SessionBusy",
            "SessionError",
            "SessionNotFound",
            "SessionTooNew",
            "SessionUnsafe",
        ),
        "journal": (
            "Durability",
            "Journal",
            "Trouble",
        ),
        "transcript": (
            "CallRecord",
            "Transcript",
            "load_transcript",
            "read_transcript",
        ),
    },
)

"""What is remembered: the session's directory, its journal, and a history that can always go on."""

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

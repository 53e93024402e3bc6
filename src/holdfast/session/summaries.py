"""What can be told about sessions quickly: the lists that people choose from."""

import os
import time
from contextlib import suppress

import msgspec

from holdfast.lib.visible import visible
from holdfast.session.directory import JOURNAL_NAME, SessionStore
from holdfast.session.errors import SessionError
from holdfast.session.held import loaded
from holdfast.session.lock import LOCK_NAME, is_live
from holdfast.session.private import open_private_file
from holdfast.session.records import TITLE
from holdfast.session.transcript import Transcript, read_transcript

__all__ = ["SessionSummary", "is_in_use", "list_sessions", "summarise", "title_of"]

_HEAD_BYTES = 64 * 1024
_TITLE_CHARS = 80
_REMINDER, _ATTACHED = "<system-reminder>", "<attached "
"""So begins what this program says to the model beside the user's words."""
_FORMING_S = 60.0
"""A directory without a lock file that is younger than this belongs to a session that is just being made."""


class SessionSummary(msgspec.Struct, frozen=True):
    """A session in a few words."""

    id: str
    path: str
    project: str
    """The project's directory, as far as the journal tells."""
    created_at: float
    active_at: float
    """When its journal was written last."""
    size_bytes: int
    """Of all its files."""
    live: bool
    """Some process writes to it now."""
    title: str
    """The beginning of the first thing the user said."""
    version: int


def list_sessions(store: SessionStore, project: str | None = None) -> list[SessionSummary]:
    """All sessions, or those of one project, the most recently used first; unsafe ones are left to `doctor`."""
    found: list[SessionSummary] = []
    for path in store.paths(project):
        with suppress(OSError, SessionError):
            found.append(summarise(store, path))
    return sorted(found, key=lambda summary: (summary.active_at, summary.id), reverse=True)


def summarise(store: SessionStore, path: str) -> SessionSummary:
    """One session in a few words; reads only the journal's beginning."""
    with store.opened(path) as directory:
        head, active_at = _head(directory, path)
        live = is_in_use(directory, path=path)
    transcript = read_transcript(head)
    header = transcript.header
    return SessionSummary(
        id=os.path.basename(path),
        path=path,
        project=header.cwd if header else "",
        created_at=header.created_at if header else active_at,
        active_at=active_at,
        size_bytes=_size(path),
        live=live,
        title=title_of(transcript),
        version=transcript.version,
    )


def is_in_use(directory: int, *, path: str) -> bool:
    """Some process writes to the session in an open directory, or is just making it."""
    if is_live(directory, path=path):
        return True
    try:
        os.stat(LOCK_NAME, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        # The lock is the first that is made: what holds anything else was taken away, and a late file made it anew.
        return not os.listdir(directory) and abs(time.time() - os.fstat(directory).st_mtime) < _FORMING_S
    return False


def title_of(transcript: Transcript) -> str:
    """A line for lists: the title that was noted, else how the first thing the user said begins."""
    for note in reversed(transcript.notes):
        if note.kind == TITLE and isinstance(note.data, str):
            return visible(note.data, limit_chars=_TITLE_CHARS)
    for message in transcript.messages:
        if message.role == "user":
            content = loaded(message.content)
            texts = [content] if isinstance(content, str) else [str(block.get("text", "")) for block in content]
            words = " ".join(text for text in texts if not text.startswith((_REMINDER, _ATTACHED)))
            if words.startswith("<stdin>"):  # what was piped in comes before what was asked
                words = words.partition("</stdin>")[2].strip() or words
            text = " ".join(words.split())
            if text:
                return visible(text if len(text) <= _TITLE_CHARS else f"{text[: _TITLE_CHARS - 1]}…")
    return ""


def _head(directory: int, path: str) -> tuple[bytes, float]:
    try:
        handle = open_private_file(directory, JOURNAL_NAME, os.O_RDONLY, path=os.path.join(path, JOURNAL_NAME))
    except FileNotFoundError:
        return b"", os.fstat(directory).st_mtime
    try:
        return os.pread(handle, _HEAD_BYTES, 0), os.fstat(handle).st_mtime
    finally:
        os.close(handle)


def _size(path: str) -> int:
    """Bytes of all files below; links are counted as links."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total

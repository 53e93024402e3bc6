"""The conversations of the agents of one session: one file each, in `agents/`, open only while a line is written."""

import os
import time
from typing import Any, NamedTuple

import msgspec

from holdfast.contract import WorktreeChanged
from holdfast.lib.guarded_read import read_guarded
from holdfast.session.journal import Journal
from holdfast.session.records import JOURNAL_VERSION, NoteRecorded, SessionOpened, SessionResumed
from holdfast.session.shared_transcript import SharedTranscript
from holdfast.session.transcript import Transcript, read_transcript

__all__ = ["AGENT_BEGAN", "AGENT_ENDED", "AgentAbout", "AgentFiles", "KeptAgent"]

AGENT_BEGAN = "agent"
"""The kind of a note about an agent that a call has started, in its own file and in the session's journal."""
AGENT_ENDED = "agent_ended"
_LIMIT_BYTES = 256 << 20
_HEAD_BYTES = 64 << 10


class AgentAbout(msgspec.Struct, frozen=True, omit_defaults=True):
    """What must be known of an agent to go on with it, and never with more rights."""

    id: str
    type: str
    tool_use_id: str = ""
    """The call that has started it."""
    description: str = ""
    name: str | None = None
    parent: str | None = None
    """The agent that has started it; none: the session's own."""
    depth: int = 1
    chain_id: str = ""
    model: str | None = None
    modes: tuple[str, ...] = ()
    """Every mode that it was narrowed by."""
    allowed_tools: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    """What it had when it began; none: it has not begun."""
    cwd: str = ""
    background: bool = False
    isolation: str | None = None
    worktree: WorktreeChanged | None = None
    """Where it works apart."""
    session: str = ""
    """The session that it is, where it is one of its own."""
    rules: tuple[tuple[str, str], ...] = ()
    """Rules that deny or ask, which answers have given to it alone."""


class KeptAgent(NamedTuple):
    """An agent that has ended, and what it remembers."""

    about: AgentAbout
    transcript: Transcript


class AgentFiles:
    """Writes and reads them; the session's lock is theirs, too."""

    def __init__(self, session_path: str, session_id: str, journal: Journal, *, program: str = "") -> None:
        self._directory = os.path.join(session_path, "agents")
        self._session_id = session_id
        self._journal = journal
        self._program = program
        self._is_made = False

    def path(self, agent_id: str) -> str:
        """Where an agent's conversation is."""
        return os.path.join(self._directory, f"{agent_id}.jsonl")

    def shared(self, agent_id: str, cwd: str, version: str) -> SharedTranscript:
        """An agent's conversation in the layout that hook scripts know."""
        path = os.path.join(self._directory, f"{agent_id}.transcript.jsonl")
        return SharedTranscript(
            self.path(agent_id), path, session_id=self._session_id, cwd=cwd, version=version, agent_id=agent_id
        )

    def begin(self, about: AgentAbout, *, again: bool = False) -> Journal:
        """The journal of an agent that begins, or goes on."""
        if not self._is_made:
            os.makedirs(self._directory, 0o700, exist_ok=True)
            self._is_made = True
        journal = self._journal.beside(self.path(about.id))
        if again:
            journal.take(SessionResumed(self._program))
        else:
            journal.take(
                SessionOpened(JOURNAL_VERSION, about.id, time.time(), about.cwd, self._program, self._session_id)
            )
        note = NoteRecorded(AGENT_BEGAN, msgspec.to_builtins(about))
        journal.take(note)
        self._journal.take(note)
        return journal

    def end(self, about: AgentAbout, journal: Journal, outcome: dict[str, Any]) -> None:
        """It has ended: what must hold when it goes on is written, and its lines are on their way to the disk."""
        note = NoteRecorded(AGENT_ENDED, {**msgspec.to_builtins(about), **outcome})
        journal.take(note)
        journal.close()
        self._journal.take(NoteRecorded(AGENT_ENDED, {"id": about.id, **outcome}))

    def read(self, agent_id: str) -> KeptAgent | None:
        """An agent of this session by its id; none where there is none."""
        try:
            data = read_guarded(self.path(agent_id), limit_bytes=_LIMIT_BYTES, owner="me", follow=False)
        except OSError:
            return None
        if not data:
            return None
        transcript = read_transcript(data)
        about = _last_word(transcript)
        return None if about is None or about.id != agent_id else KeptAgent(about, transcript)

    def named(self, name: str, parent: str | None) -> str | None:
        """The id of the last agent that this one has started under this name; none where there is none."""
        try:
            with os.scandir(self._directory) as entries:
                files = [(entry.stat().st_mtime, entry.name) for entry in entries if entry.name.endswith(".jsonl")]
        except OSError:
            return None
        for _, file in sorted(files, reverse=True):
            if not file.endswith(".transcript.jsonl"):
                about = _first_word(os.path.join(self._directory, file))
                if about is not None and about.name == name and about.parent == parent:
                    return about.id
        return None


def _first_word(path: str) -> AgentAbout | None:
    """Who an agent is, from the beginning of its file alone."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    lines = head[: head.rfind(b"\n") + 1]
    return _last_word(read_transcript(lines)) if lines else None


def _last_word(transcript: Transcript) -> AgentAbout | None:
    """What was last written about it, with every rule that was ever given to it."""
    about: AgentAbout | None = None
    for note in transcript.notes:
        if note.kind in (AGENT_BEGAN, AGENT_ENDED):
            try:
                found = msgspec.convert(note.data, AgentAbout)
            except msgspec.ValidationError:
                return None
            rules = () if about is None else about.rules
            about = msgspec.structs.replace(found, rules=tuple(dict.fromkeys((*rules, *found.rules))))
    return about

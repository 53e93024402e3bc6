"""A copy of a session where the tools around agents look for conversations: `projects/<folder>/<session>.jsonl`.

The copy is made from the journal, so what is redacted there is redacted here, and it goes when the session goes.
"""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.session.directory import JOURNAL_NAME, Session
from holdfast.session.shared_transcript import SharedTranscript

__all__ = ["Mirror", "forget_mirror", "mirror_path"]

Entry = dict[str, Any]
_LINK = "mirror"
"""In the session's directory: leads to the copy, so that it is found when the session is removed."""
_PROJECTS = "projects"
_NOT_PLAIN = re.compile(r"[^a-zA-Z0-9]")
_MOST_CHARS = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def mirror_path(config: str, cwd: str, session_id: str) -> str:
    """Where the copy of a session is, below the configuration directory of the existing format."""
    folder = _NOT_PLAIN.sub("-", cwd)
    if len(folder) > _MOST_CHARS:
        folder = f"{folder[:_MOST_CHARS]}-{_short_hash(cwd)}"
    return os.path.join(config, _PROJECTS, folder, f"{session_id}.jsonl")


def _short_hash(text: str) -> str:
    """As readers compute it: the 32-bit hash of strings that JavaScript programs use, in base 36."""
    value = 0
    for char in text:
        value = (value * 31 + ord(char)) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value or not digits:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits


class Mirror:
    """The copy of one session, and of the agents in it."""

    def __init__(self, session: Session, path: str, *, cwd: str, version: str) -> None:
        """Begin or go on with a copy at this path.

        Raises:
            OSError: It cannot be written there.
        """
        self.path = path
        self.on_entries: Callable[[str, list[Entry]], None] = lambda _path, _entries: None
        """Told what was added, and to which file."""
        self._session = session
        self._known = {"session_id": session.id, "cwd": cwd, "version": version}
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        is_ours = _is_new(path)
        link = os.path.join(session.path, _LINK)
        if is_ours and (not os.path.islink(link) or os.readlink(link) != path):
            with suppress(FileNotFoundError):
                os.unlink(link)
            os.symlink(path, link)  # what others have begun stays when the session is removed
        journal = os.path.join(session.path, JOURNAL_NAME)
        self._main = SharedTranscript(journal, path, is_shared=True, **self._known)
        self._agents: dict[str, SharedTranscript] = {}
        session.journal.flush()
        self._refresh()  # what is there already is no news

    def refresh(self) -> None:
        """Add what is new, and tell of it."""
        self._session.journal.flush()
        for path, entries in self._refresh():
            if entries:
                self.on_entries(path, entries)

    def _refresh(self) -> list[tuple[str, list[Entry]]]:
        found = [(self.path, self._main.refresh())]
        for agent_id, about in self._main.lines.agents.items():
            meta: list[Entry] = []
            if agent_id not in self._agents:
                self._agents[agent_id] = self._begin(agent_id)
                meta = [self._tell_about(agent_id, about)]
            agent = self._agents[agent_id]
            found.append((agent.path, [*meta, *agent.refresh()]))
        return found

    def _begin(self, agent_id: str) -> SharedTranscript:
        directory = os.path.join(self.path.removesuffix(".jsonl"), "subagents")
        os.makedirs(directory, 0o700, exist_ok=True)
        journal = os.path.join(self._session.path, "agents", f"{agent_id}.jsonl")
        path = os.path.join(directory, f"agent-{agent_id}.jsonl")
        return SharedTranscript(journal, path, agent_id=agent_id, is_shared=True, **self._known)

    def _tell_about(self, agent_id: str, about: Entry) -> Entry:
        """What is known of an agent besides its words, in a file of its own; the same as an entry."""
        known = {"agentType": about.get("type"), "toolUseId": about.get("tool_use_id")}
        known |= {"description": about.get("description"), "parentAgentId": about.get("parent")}
        told = {name: value for name, value in known.items() if value}
        path = self._agents[agent_id].path.removesuffix(".jsonl") + ".meta.json"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(told))
        return {"type": "agent_metadata", **told}


def _is_new(path: str) -> bool:
    """Make the file if it is not there, and say whether nobody has written to it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        return os.fstat(handle).st_size == 0
    finally:
        os.close(handle)


def forget_mirror(session_path: str) -> None:
    """Remove the copy of a session that is about to be removed, if there is one.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        path = os.readlink(os.path.join(session_path, _LINK))
    except OSError:
        return
    session_id = os.path.basename(session_path)
    above = os.path.basename(os.path.dirname(os.path.dirname(path)))
    if os.path.basename(path) != f"{session_id}.jsonl" or above != _PROJECTS or not os.path.isabs(path):
        return
    with suppress(FileNotFoundError):
        os.unlink(path)
    beside = path.removesuffix(".jsonl")
    if os.path.isdir(beside) and not os.path.islink(beside):
        shutil.rmtree(beside)
    with suppress(OSError):  # the folder goes with its last session
        os.rmdir(os.path.dirname(path))

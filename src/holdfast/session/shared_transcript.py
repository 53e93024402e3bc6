"""The conversation as a file in the layout that users' hook scripts know: one JSON line for each message.

It is made from the journal when somebody is about to read it, and only the lines that are new are added. What the
journal does not hold (secrets, what was blocked) is not in it either, and it goes with the session's directory.
"""

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from holdfast.session.transcript_lines import TranscriptLines

__all__ = ["TRANSCRIPT_NAME", "SharedTranscript"]

TRANSCRIPT_NAME = "transcript.jsonl"
_MAX_STEP_BYTES = 64 * 1024 * 1024


class SharedTranscript:
    """Follows one journal."""

    def __init__(
        self, journal: str, path: str, *, session_id: str, cwd: str, version: str, agent_id: str | None = None
    ) -> None:
        self.path = path
        self._known: dict[str, Any] = {"session_id": session_id, "cwd": cwd, "version": version, "agent_id": agent_id}
        self._journal = journal
        self._offset = 0
        self._is_begun = False

    @cached_property
    def lines(self) -> "TranscriptLines":
        """What makes entries of the journal's lines."""
        from holdfast.session.transcript_lines import TranscriptLines  # noqa: PLC0415 - most sessions show it nobody

        return TranscriptLines(**self._known)

    def refresh(self) -> list[dict[str, Any]]:
        """Add what the journal has that the file has not; what was added. A file that cannot be written stays."""
        try:
            with open(self._journal, "rb") as file:
                file.seek(self._offset)
                data = file.read(_MAX_STEP_BYTES)
        except OSError:
            return []
        end = data.rfind(b"\n") + 1
        entries = [entry for line in data[:end].splitlines() for entry in self.lines.entries(line)]
        self._offset += end
        if entries or not self._is_begun:
            self._write(entries)
        return entries

    def _write(self, entries: list[dict[str, Any]]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_APPEND
        try:
            handle = os.open(self.path, flags if self._is_begun else flags | os.O_TRUNC, 0o600)
        except OSError:
            return
        with os.fdopen(handle, "wb") as file:
            file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
        self._is_begun = True

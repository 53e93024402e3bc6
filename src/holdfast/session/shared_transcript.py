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
        self,
        journal: str,
        path: str,
        *,
        session_id: str,
        cwd: str,
        version: str,
        agent_id: str | None = None,
        is_shared: bool = False,
    ) -> None:
        """Follow this journal; `is_shared`: others may have written to the file, so only what it lacks is added."""
        self.path = path
        self._is_shared = is_shared
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
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_APPEND
        is_new = not self._is_begun and not self._is_shared
        try:
            handle = os.open(self.path, flags | os.O_TRUNC if is_new else flags, 0o600)
        except OSError:
            return
        lines = [msgspec.json.encode(entry) + b"\n" for entry in entries]
        with os.fdopen(handle, "r+b", buffering=0) as file:
            if self._is_shared and not self._is_begun:
                lines = _lacking(file.readall(), lines, entries)
            file.write(b"".join(lines))
        self._is_begun = True


class _Named(msgspec.Struct):
    uuid: str = ""


def _lacking(data: bytes, lines: list[bytes], entries: list[dict[str, Any]]) -> list[bytes]:
    """Of the lines those that are not there yet, by their names; behind a line that was cut they begin anew."""
    present: set[bytes] = set()
    names: set[str] = set()
    for line in data.splitlines(keepends=True):
        try:
            names.add(msgspec.json.decode(line, type=_Named).uuid)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        present.add(line)
    missing = [
        line
        for line, entry in zip(lines, entries, strict=True)
        if line not in present and entry.get("uuid", "") not in names - {""}
    ]
    return [b"\n", *missing] if data and not data.endswith(b"\n") else missing

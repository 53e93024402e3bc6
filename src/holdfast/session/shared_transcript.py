"""The conversation as a file in the layout that users' hook scripts know: one JSON line for each message.

It is made from the journal when somebody is about to read it, and only the lines that are new are added. What the
journal does not hold (secrets, what was blocked) is not in it either, and it goes with the session's directory.
"""

import os
import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

__all__ = ["TRANSCRIPT_NAME", "SharedTranscript"]

TRANSCRIPT_NAME = "transcript.jsonl"
_NAMESPACE = uuid.UUID("6f1f4f6e-5b0c-4b7e-9a55-0d2b6f1f7c11")
_MAX_STEP_BYTES = 64 * 1024 * 1024


class SharedTranscript:
    """Follows one journal."""

    def __init__(
        self, journal: str, path: str, *, session_id: str, cwd: str, version: str, agent_id: str | None = None
    ) -> None:
        self.path = path
        self._agent_id = agent_id
        self._journal = journal
        self._session_id = session_id
        self._cwd = cwd
        self._version = version
        self._offset = 0
        self._number = 0
        self._last: str | None = None
        self._time = datetime.now(UTC)
        self._is_begun = False

    def refresh(self) -> None:
        """Add what the journal has that the file has not; a file that cannot be written is left as it is."""
        try:
            with open(self._journal, "rb") as file:
                file.seek(self._offset)
                data = file.read(_MAX_STEP_BYTES)
        except OSError:
            return
        end = data.rfind(b"\n") + 1
        lines = [line for line in map(self._line, data[:end].splitlines()) if line is not None]
        if self._is_begun and not lines:
            self._offset += end
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_APPEND
        try:
            handle = os.open(self.path, flags if self._is_begun else flags | os.O_TRUNC, 0o600)
        except OSError:
            return
        with os.fdopen(handle, "wb") as file:
            file.write(b"".join(lines))
        self._is_begun = True
        self._offset += end

    def _line(self, line: bytes) -> bytes | None:
        if not line.startswith((b'{"type":"message"', b'{"type":"at"')):
            return None
        try:
            found: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if found["type"] == "at":
            self._time = datetime.fromtimestamp(float(found.get("time", 0)), UTC)
            return None
        return self._entry(found.get("role"), found.get("content"), found.get("meta") or {})

    def _entry(self, role: Any, content: Any, meta: dict[str, Any]) -> bytes | None:
        if role not in ("user", "assistant"):
            return None
        self._number += 1
        own = str(uuid.uuid5(_NAMESPACE, f"{self._session_id}:{self._number}"))
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {
                "id": f"msg_{self._number}",
                "type": "message",
                "model": meta.get("model", ""),
                "stop_reason": meta.get("stop_reason") or None,
                "usage": meta.get("usage"),
            }
        entry = {
            "parentUuid": self._last,
            "isSidechain": self._agent_id is not None,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._session_id,
            "version": self._version,
            "type": role,
            "message": message,
            "uuid": own,
            **({} if self._agent_id is None else {"agentId": self._agent_id}),
            "timestamp": self._time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self._last = own
        return msgspec.json.encode(entry) + b"\n"

"""The lines of a journal as the entries that programs around agents know: one for each block of each message.

An entry is called as its line of stream-json is, so that what a program heard can be found in the file again.
"""

import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from holdfast.lib.uuids import part_uuid
from holdfast.session.records import COMPACTION, PARTS, PROMPTS, TITLE

__all__ = ["TranscriptLines", "exported_lines"]

Entry = dict[str, Any]
_NAMESPACE = uuid.UUID("6f1f4f6e-5b0c-4b7e-9a55-0d2b6f1f7c11")
_STARTS = (b'{"type":"message"', b'{"type":"at"', b'{"type":"tool_result"', b'{"type":"note"')
_USAGE = {"cache_read_tokens": "cache_read_input_tokens", "cache_write_tokens": "cache_creation_input_tokens"}


class TranscriptLines:
    """Follows one journal, line by line."""

    def __init__(self, *, session_id: str, cwd: str, version: str, agent_id: str | None = None) -> None:
        self._about: Entry = {
            "isSidechain": agent_id is not None,
            "userType": "external",
            "cwd": cwd,
            "sessionId": session_id,
            "version": version,
            "gitBranch": "",
            **({} if agent_id is None else {"agentId": agent_id}),
        }
        self._session_id = session_id
        self._number = 0
        self._last: str | None = None
        self._time = datetime.now(UTC)
        self._results: dict[str, Any] = {}
        self.agents: dict[str, Entry] = {}
        """The agents that calls have started, as the notes say."""

    def entries(self, line: bytes) -> list[Entry]:
        """The entries that a line of the journal becomes; most become none."""
        if not line.startswith(_STARTS):
            return []
        try:
            found: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return []
        kind = found["type"]
        if kind == "at":
            self._time = datetime.fromtimestamp(float(found.get("time", 0)), UTC)
        elif kind == "tool_result":
            self._results[str(found.get("tool_use_id"))] = found.get("data")
        elif kind == "note":
            return self._note(str(found.get("kind")), found.get("data"))
        elif found.get("role") == "assistant":
            return list(self._answer(_blocks(found.get("content")), found.get("meta") or {}))
        elif found.get("role") == "user":
            return list(self._said(_blocks(found.get("content")), found.get("meta") or {}))
        return []

    def _note(self, kind: str, data: Any) -> list[Entry]:
        if kind == TITLE and isinstance(data, str):
            return [{"type": "custom-title", "customTitle": data, "sessionId": self._session_id}]
        if not isinstance(data, dict):
            return []
        told = cast("Entry", data)
        if kind == "agent" and isinstance(told.get("id"), str):
            self.agents[told["id"]] = told
        elif kind == COMPACTION and isinstance(told.get("until"), str):
            self._last = told["until"]  # what came after it does not count any more
        elif kind == COMPACTION:
            about = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
            return [self._entry("system", self._fallback(), **about, isMeta=False)]
        return []

    def _answer(self, blocks: list[Entry], meta: Entry) -> Iterator[Entry]:
        name = self._named(meta)
        id_ = str(meta.get("id") or f"msg_{self._number}")
        used: Entry = meta.get("usage") or {}
        message: Entry = {
            "id": id_,
            "type": "message",
            "role": "assistant",
            "model": meta.get("model", ""),
            "stop_sequence": None,
            "usage": {_USAGE.get(key, key): value for key, value in used.items()},
        }
        for index, block in enumerate(blocks):
            reason = meta.get("stop_reason") if index == len(blocks) - 1 else None
            about: Entry = {**message, "content": [block], "stop_reason": reason or None}
            yield self._entry("assistant", _part(meta, name, index), message=about, requestId=f"req_{id_}")

    def _said(self, blocks: list[Entry], meta: Entry) -> Iterator[Entry]:
        """Each prompt by itself, then each result; what we have added ourselves is marked."""
        name = self._named(meta)
        at = 0
        for own, count in meta.get(PROMPTS) or ():
            said = blocks[at : at + count]
            content = said[0]["text"] if len(said) == 1 and said[0].get("type") == "text" else said
            yield self._entry("user", str(own), message={"role": "user", "content": content})
            at += count
        is_added = at > 0 or any(block.get("type") == "tool_result" for block in blocks)
        for index, block in enumerate(blocks[at:], at):
            message: Entry = {"role": "user", "content": [block]}
            more: Entry = {}
            if block.get("type") == "tool_result":
                data = self._results.pop(str(block.get("tool_use_id")), None)
                more = {} if data is None else {"toolUseResult": data}
            elif is_added:
                more = {"isMeta": True}
            yield self._entry("user", _part(meta, name, index), message=message, **more)

    def _named(self, meta: Entry) -> str:
        """What the message is called; older journals give no names."""
        self._number += 1
        return str(meta.get("uuid") or self._fallback())

    def _fallback(self) -> str:
        return str(uuid.uuid5(_NAMESPACE, f"{self._session_id}:{self._number}"))

    def _entry(self, kind: str, name: str, **fields: Any) -> Entry:
        found = {"parentUuid": self._last, **self._about, "type": kind, **fields, "uuid": name}
        found["timestamp"] = self._time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._last = name
        return found


def exported_lines(session_path: str, version: str) -> Iterator[bytes]:
    """A whole session as such lines, made while they are read."""
    with open(os.path.join(session_path, "journal.jsonl"), "rb") as file:
        about = _header(file.readline(), file.readline())
        lines = TranscriptLines(
            session_id=str(about.get("session_id") or os.path.basename(session_path)),
            cwd=str(about.get("cwd") or ""),
            version=version,
        )
        file.seek(0)
        for line in file:
            for entry in lines.entries(line):
                yield msgspec.json.encode(entry) + b"\n"


def _header(*lines: bytes) -> Entry:
    """The line that says whose session it is: the first, or the second behind the time."""
    for line in lines:
        try:
            found: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
        if isinstance(found, dict) and cast("Entry", found).get("type") == "session":
            return cast("Entry", found)
    return {}


def _part(meta: Entry, name: str, index: int) -> str:
    """What a block is called."""
    given: Any = meta.get(PARTS)
    own = cast("list[Any]", given) if isinstance(given, list) else []
    return str(own[index]) if index < len(own) else part_uuid(name, index)


def _blocks(content: Any) -> list[Entry]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[Entry]", content) if isinstance(content, list) else []

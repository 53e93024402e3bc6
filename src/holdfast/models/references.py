"""Tools that were loaded in the middle of a conversation, named where they were found.

So the tool list in front of the conversation stays as it was, and the provider goes on reading it from its cache.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

__all__ = ["References", "referenced", "without_references"]

Message = Mapping[str, Any]
_KIND = "tool_reference"
_LATER = b',"defer_loading":true}'


class _Entry(msgspec.Struct):
    name: str = ""


_entries = msgspec.json.Decoder(list[msgspec.Raw])
_entry = msgspec.json.Decoder(_Entry)


class References(NamedTuple):
    """What a request says of them."""

    messages: Sequence[Message]
    names: frozenset[str] = frozenset()
    """The tools that the messages load."""

    def in_list(self, tools: bytes) -> bytes:
        """The tool list with those marked: the provider leaves them out of what stands in front."""
        if not self.names:
            return tools
        return b"[%b]" % b",".join(map(self._marked, _entries.decode(tools)))

    def _marked(self, raw: msgspec.Raw) -> bytes:
        entry = bytes(raw)
        return entry.rstrip()[:-1] + _LATER if _entry.decode(entry).name in self.names else entry


def referenced(messages: Sequence[Message], tools: bytes) -> References:
    """For a provider that knows them: results that name tools say nothing else, and name only tools that are there."""
    if not any(map(_has_some, messages)):
        return References(messages)
    there = {_entry.decode(raw).name for raw in _entries.decode(tools)}
    names: set[str] = set()
    told = [_changed(message, there, names) if _has_some(message) else message for message in messages]
    return References(told, frozenset(names))


def without_references(messages: Sequence[Message]) -> Sequence[Message]:
    """For one that does not: the words beside them say the same, and the list holds the whole tools."""
    if not any(map(_has_some, messages)):
        return messages
    return [_changed(message, set(), set()) if _has_some(message) else message for message in messages]


def _changed(message: Message, there: set[str], names: set[str]) -> Message:
    return {**message, "content": [_result(block, there, names) for block in message["content"]]}


def _result(block: Message, there: set[str], names: set[str]) -> Message:
    if not _holds(block):
        return block
    parts = cast("list[Message]", block["content"])
    known = [part for part in parts if part.get("type") == _KIND and part.get("tool_name") in there]
    if known:
        names.update(str(part["tool_name"]) for part in known)
        return {**block, "content": known}
    words = [part for part in parts if part.get("type") != _KIND]
    return {**block, "content": words or "These tools were loaded."}


def _has_some(message: Message) -> bool:
    content = message["content"]
    return not isinstance(content, str) and any(map(_holds, content))


def _holds(block: Message) -> bool:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return isinstance(content, list) and any(part.get("type") == _KIND for part in cast("list[Message]", content))

"""The answer of the Messages API as our events. Pure: bytes of one event in, events out."""

from typing import Any, cast

import msgspec

from holdfast.models.call_ids import CallIds
from holdfast.models.interface import (
    BlockEnded,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
)
from holdfast.models.json_text import decode_loosely, nested_too_deeply

__all__ = ["AnthropicReader", "ErrorEvent", "events_of_message", "parsed_input", "token_count"]

_KNOWN = frozenset({
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
})  # fmt: skip

_MAX_BLOCKS = 1_000_000
_MAX_TOKENS = 1_000_000_000_000


class ErrorEvent(Exception):
    """The stream brought an error instead of more of the answer."""


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    citation: Any = None
    stop_reason: str | None = None


class _Message(msgspec.Struct):
    id: str = ""
    model: str = ""
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: _Message | None = None
    usage: _Usage | None = None


class _Whole(msgspec.Struct):
    content: list[dict[str, Any]]
    id: str = ""
    model: str = ""
    stop_reason: str | None = None
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _OpenBlock:
    """A block that is still arriving."""

    __slots__ = ("block", "cited", "kind", "parts", "signature")

    def __init__(self, block: dict[str, Any]) -> None:
        self.block = block
        self.kind: str = block.get("type", "")
        self.parts: list[str] = []
        self.signature: list[str] = []
        self.cited: list[Any] = [*(block.get("citations") or ())] if self.kind == "text" else []


_decode = msgspec.json.Decoder(_Event).decode
_decode_any = msgspec.json.Decoder().decode
_decode_whole = msgspec.json.Decoder(_Whole).decode


class AnthropicReader:
    """Reads one answer. `has_ended` tells whether it is complete."""

    def __init__(self, ids: CallIds | None = None) -> None:
        """Begin before the first event."""
        self._ids = ids or CallIds()
        self.has_ended = False
        self.stop_reason: str | None = None
        self.usage = Usage()
        self._open: dict[int, _OpenBlock] = {}
        self._has_calls = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in the data of one server-sent event.

        Raises:
            ErrorEvent: The provider tells of an error.
            ValueError: The data makes no sense.
        """
        try:
            event = self._decoded(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        kind = event.type if event is not None else ""
        if event is None or kind not in _KNOWN:
            return []  # a ping, or something newer than we are
        if kind == "content_block_delta":
            return self._delta(event.index, event.delta) if event.delta is not None else []
        if kind == "content_block_start":
            return self._start_block(event.index, event.content_block or {})
        if kind == "content_block_stop":
            return self._end_block(event.index)
        if kind == "message_start":
            return self._start(event.message or _Message())
        if kind == "message_delta":
            self._count(event.usage)
            if event.delta is not None and event.delta.stop_reason is not None:
                self.stop_reason = event.delta.stop_reason
            return []
        return self.finish()

    def finish(self) -> list[StreamEvent]:
        """The end: blocks that a server forgot to close, then the last event."""
        events = [event for index in sorted(self._open) for event in self._end_block(index)]
        self.has_ended = True
        reason = self.stop_reason or ("tool_use" if self._has_calls else "end_turn")
        return [*events, StreamEnded(reason, self.usage)]

    @staticmethod
    def _decoded(data: bytes) -> _Event | None:
        try:
            event = _decode(data)
        except msgspec.ValidationError:
            # Valid JSON of another shape: fine from an event we do not know, broken from one we do.
            whole: Any = _decode_any(data)
            if isinstance(whole, dict) and cast("dict[str, Any]", whole).get("type") not in {*_KNOWN, "error"}:
                return None
            if isinstance(whole, dict) and "error" in whole:
                raise ErrorEvent(data) from None
            raise
        except msgspec.DecodeError:
            event = decode_loosely(data, _Event)
        if event.type == "error":
            raise ErrorEvent(data)
        return event

    def _start(self, message: _Message) -> list[StreamEvent]:
        self._count(message.usage)
        return [StreamStarted(message.id, message.model, self.usage)]

    def _start_block(self, index: int, block: dict[str, Any]) -> list[StreamEvent]:
        if not 0 <= index < _MAX_BLOCKS:
            raise ValueError(f"a block has the number {index}")
        events = self._end_block(index)  # a server that gives the number again did not close the block before
        opened = self._open[index] = _OpenBlock(block)
        return events + self._first_of(index, opened)

    def _first_of(self, index: int, opened: _OpenBlock) -> list[StreamEvent]:
        """What a block begins with."""
        block = opened.block
        if opened.kind == "tool_use":
            self._has_calls = True
            id_ = block["id"] = self._ids.take(block.get("id"))
            name = block["name"] = str(block.get("name", ""))
            return [ToolUseStarted(index, id_, name)]
        if opened.kind == "text" and (text := _words(block, "text")):
            opened.parts.append(text)
            return [TextDelta(index, text)]
        if opened.kind == "thinking":
            opened.signature.append(_words(block, "signature"))
            if text := _words(block, "thinking"):
                opened.parts.append(text)
                return [ThinkingDelta(index, text)]
        return []

    def _delta(self, index: int, delta: _Delta) -> list[StreamEvent]:
        opened = self._open.get(index)
        if opened is None:
            raise ValueError(f"more of block {index}, which did not begin")
        if delta.type == "text_delta":
            opened.parts.append(delta.text)
            return [TextDelta(index, delta.text)]
        if delta.type == "input_json_delta":
            opened.parts.append(delta.partial_json)
            return [ToolInputDelta(index, delta.partial_json)] if opened.kind == "tool_use" else []
        if delta.type == "thinking_delta":
            opened.parts.append(delta.thinking)
            return [ThinkingDelta(index, delta.thinking)]
        if delta.type == "signature_delta":
            opened.signature.append(delta.signature)
        elif delta.type == "citations_delta":
            opened.cited.append(delta.citation)
        return []

    def _end_block(self, index: int) -> list[StreamEvent]:
        opened = self._open.pop(index, None)
        if opened is None:
            return []
        joined = "".join(opened.parts)
        block = opened.block
        if opened.kind == "tool_use":
            given: Any = block.get("input") or {}
            whole = parsed_input(joined) if joined.strip() else given
            return [BlockEnded(index, {"type": "tool_use", "id": block["id"], "name": block["name"], "input": whole})]
        if opened.kind == "text":
            return [BlockEnded(index, {"type": "text", "text": joined, **_quoting(opened.cited)})]
        if opened.kind == "thinking":
            signature = "".join(opened.signature)
            return [BlockEnded(index, {"type": "thinking", "thinking": joined, "signature": signature})]
        if opened.kind == "redacted_thinking":
            return [BlockEnded(index, {"type": "redacted_thinking", "data": _words(block, "data")})]
        return _of_server(index, block, joined)

    def _count(self, usage: _Usage | None) -> None:
        if usage is None:
            return
        old = self.usage
        self.usage = Usage(
            token_count(usage.input_tokens, old.input_tokens),
            token_count(usage.output_tokens, old.output_tokens),
            token_count(usage.cache_read_input_tokens, old.cache_read_tokens),
            token_count(usage.cache_creation_input_tokens, old.cache_write_tokens),
        )


def _quoting(cited: list[Any]) -> dict[str, Any]:
    """What a text quotes goes back with it, to the letter."""
    known: list[Any] = [one for one in cited if isinstance(one, dict) and "type" in one]
    return {"citations": known} if known else {}


def _of_server(index: int, block: dict[str, Any], joined: str) -> list[StreamEvent]:
    """A tool that the provider itself ran, and its result: kept as they are, for parts of them must go back unread."""
    kind = str(block.get("type", ""))
    if kind == "server_tool_use":
        whole: Any = parsed_input(joined) if joined.strip() else block.get("input") or {}
        return [BlockEnded(index, {**block, "input": whole})]
    # Any other kind of block is one that we do not know.
    return [BlockEnded(index, block)] if kind.endswith("_tool_result") else []


def events_of_message(body: bytes, ids: CallIds | None = None) -> list[StreamEvent]:
    """The events of an answer that came as a whole.

    Raises:
        ValueError: It is no message.
    """
    if nested_too_deeply(body):
        raise ValueError("nested too deeply")
    try:
        whole = _decode_whole(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    reader = AnthropicReader(ids)
    events = reader._start(_Message(whole.id, whole.model, whole.usage))  # noqa: SLF001 - the same machine
    for index, block in enumerate(whole.content):
        events += reader._start_block(index, block)  # noqa: SLF001 - the same
        if block.get("type") == "tool_use" and block.get("input"):
            events.append(ToolInputDelta(index, msgspec.json.encode(block["input"]).decode()))
        events += reader._end_block(index)  # noqa: SLF001 - the same
    reader.stop_reason = whole.stop_reason
    return events + reader.finish()


def token_count(told: int | None, otherwise: int = 0) -> int:
    """A count as a server tells it: never below nothing, or a budget would grow, and never more than can be true."""
    return otherwise if told is None else min(max(told, 0), _MAX_TOKENS)


def _words(block: dict[str, Any], name: str) -> str:
    """A field that should hold text; whatever else a server puts there says nothing."""
    value = block.get(name)
    return value if isinstance(value, str) else ""


def parsed_input(text: str) -> dict[str, Any] | str:
    """A call's input as an object, or the text itself where it is none. No text is an empty object."""
    if not text.strip():
        return {}
    try:
        value: Any = _decode_any(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return cast("dict[str, Any]", value) if isinstance(value, dict) else text

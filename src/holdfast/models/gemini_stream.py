"""The answer of Gemini as our events. Pure: bytes of one chunk in, events out."""

from typing import Any

import msgspec

from holdfast.models.anthropic_stream import ErrorEvent, token_count
from holdfast.models.call_ids import CallIds
from holdfast.models.gemini_body import SIGNATURE
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

__all__ = ["GeminiReader"]

_STOP_REASONS = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
}


class _Call(msgspec.Struct):
    name: str = ""
    args: dict[str, Any] | None = None
    id: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _Call | None = None
    thought_signature: str | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    index: int = 0


class _Metadata(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Metadata | None = None
    prompt_feedback: _Feedback | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class GeminiReader:
    """Reads one answer, streamed or whole. The stream ends with the connection; the reason to stop comes before."""

    def __init__(self, ids: CallIds | None = None) -> None:
        """Begin before the first chunk."""
        self._ids = ids or CallIds()
        self.has_ended = False
        self._has_started = False
        self._reason: str | None = None
        self._usage = Usage()
        self._kind = ""
        self._index = -1
        self._parts: list[str] = []
        self._had_calls = False

    @property
    def may_end(self) -> bool:
        """A reason to stop has come."""
        return self._reason is not None

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in one chunk, or in a whole answer.

        Raises:
            ErrorEvent: The provider tells of an error.
            ValueError: The data makes no sense.
        """
        chunk = _decoded(data)
        if chunk.error:
            raise ErrorEvent(data)
        events: list[StreamEvent] = []
        if not self._has_started:
            self._has_started = True
            events.append(StreamStarted(chunk.response_id or "", chunk.model_version or ""))
        if chunk.usage_metadata is not None:
            self._count(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._reason = "refusal"
        for candidate in chunk.candidates or ():
            if candidate.index == 0:
                self._take(candidate, events)
        return events

    def finish(self) -> list[StreamEvent]:
        """The last events, when nothing more comes."""
        events: list[StreamEvent] = []
        self._end_words(events)
        self.has_ended = True
        reason = self._reason or "end_turn"
        if self._had_calls and reason == "end_turn":
            reason = "tool_use"
        events.append(StreamEnded(reason, self._usage))
        return events

    def _take(self, candidate: _Candidate, events: list[StreamEvent]) -> None:
        parts = None if candidate.content is None else candidate.content.parts
        for part in parts or ():
            if part.thought_signature:
                self._keep_signature(part.thought_signature, events)
            if part.function_call is not None:
                self._call(part.function_call, events)
            elif part.text:
                self._say("thinking" if part.thought else "text", part.text, events)
        if candidate.finish_reason:
            self._reason = _STOP_REASONS.get(candidate.finish_reason, candidate.finish_reason.lower())

    def _keep_signature(self, signature: str, events: list[StreamEvent]) -> None:
        """What the provider wants back with the part that follows: kept on the thinking before it."""
        joined = "".join(self._parts) if self._kind == "thinking" else ""
        if self._kind == "text":
            self._end_words(events)
        index = self._index if self._kind == "thinking" else self._take_index()
        self._kind = ""
        self._parts.clear()
        block = {"type": "thinking", "thinking": joined, "signature": "", SIGNATURE: signature}
        events.append(BlockEnded(index, block))

    def _say(self, kind: str, text: str, events: list[StreamEvent]) -> None:
        if self._kind != kind:
            self._end_words(events)
            self._kind = kind
            self._take_index()
        self._parts.append(text)
        events.append(TextDelta(self._index, text) if kind == "text" else ThinkingDelta(self._index, text))

    def _end_words(self, events: list[StreamEvent]) -> None:
        if not self._kind:
            return
        joined = "".join(self._parts)
        thought = {"type": "thinking", "thinking": joined, "signature": ""}
        events.append(BlockEnded(self._index, {"type": "text", "text": joined} if self._kind == "text" else thought))
        self._kind = ""
        self._parts.clear()

    def _call(self, call: _Call, events: list[StreamEvent]) -> None:
        """A call comes whole: its input is never open."""
        self._end_words(events)
        self._had_calls = True
        index, id_, given = self._take_index(), self._ids.take(call.id), call.args or {}
        text = msgspec.json.encode(given).decode()
        block = {"type": "tool_use", "id": id_, "name": call.name, "input": given}
        events += (ToolUseStarted(index, id_, call.name), ToolInputDelta(index, text), BlockEnded(index, block))

    def _take_index(self) -> int:
        self._index += 1
        return self._index

    def _count(self, told: _Metadata) -> None:
        sent = token_count(told.prompt_token_count)
        cached = min(token_count(told.cached_content_token_count), sent)
        written = token_count(told.candidates_token_count) + token_count(told.thoughts_token_count)
        self._usage = Usage(sent - cached, written, cached)


def _decoded(data: bytes) -> _Chunk:
    if nested_too_deeply(data):
        raise ValueError("nested too deeply")
    try:
        return _decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_loosely(data, _Chunk)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error

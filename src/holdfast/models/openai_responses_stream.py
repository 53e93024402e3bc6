"""The answer of the Responses API as our events. Pure: bytes of one event in, events out."""

from typing import Any

import msgspec

from holdfast.models.anthropic_stream import ErrorEvent, parsed_input, token_count
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
from holdfast.models.openai_responses_body import REASONING

__all__ = ["ResponsesReader"]

_ENDS = ("response.completed", "response.incomplete", "response.done")
_FAILS = ("error", "response.failed")
_INCOMPLETE = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    encrypted_content: str | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    status: str | None = None
    error: Any = None
    incomplete_details: _Reason | None = None
    usage: _Usage | None = None
    output: list[_Item] | None = None


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    delta: Any = None
    item: _Item | None = None
    response: _Response | None = None


class _Open:
    """An item that is still arriving, and the block of ours that it becomes."""

    __slots__ = ("call_id", "index", "kind", "name", "parts")

    def __init__(self, kind: str, index: int) -> None:
        self.kind = kind
        self.index = index
        self.call_id = self.name = ""
        self.parts: list[str] = []


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_whole = msgspec.json.Decoder(_Response).decode
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "tool_use",
}
_KINDS = {"message": "text", "reasoning": "thinking", "function_call": "tool_use"}


class ResponsesReader:
    """Reads one answer, streamed or whole."""

    may_end = False
    """A stream that closes without its last event was cut."""

    def __init__(self, ids: CallIds | None = None) -> None:
        """Begin before the first event."""
        self._ids = ids or CallIds()
        self.has_ended = False
        self._has_started = False
        self._open: dict[int, _Open] = {}
        self._count = 0
        self._had_calls = False
        self._refused = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in the data of one server-sent event, or in a whole answer.

        Raises:
            ErrorEvent: The provider tells of an error.
            ValueError: The data makes no sense.
        """
        if data.strip() == b"[DONE]":
            return []
        event = _decoded(data)
        if event.type in _FAILS or (event.response is not None and event.response.error):
            raise ErrorEvent(data)
        if not event.type:
            return self._whole(data)
        events: list[StreamEvent] = []
        if event.response is not None and not self._has_started:
            self._start(event.response, events)
        if event.type == "response.output_item.added" and event.item is not None:
            self._begin(event.output_index, event.item, events)
        elif kind := _DELTAS.get(event.type):
            self._more(event, kind, events)
        elif event.type == "response.output_item.done" and event.item is not None:
            self._end(event.output_index, event.item, events)
        elif event.type in _ENDS:
            self._finish(event.response or _Response(), events)
        return events

    def finish(self) -> list[StreamEvent]:
        """The last events of an answer whose own end did not come."""
        events: list[StreamEvent] = []
        self._finish(_Response(), events)
        return events

    def _whole(self, data: bytes) -> list[StreamEvent]:
        if nested_too_deeply(data):
            raise ValueError("nested too deeply")
        whole = _decode_whole(data)
        if whole.error:
            raise ErrorEvent(data)
        if whole.output is None:
            raise ValueError("it has no output")
        events: list[StreamEvent] = []
        self._start(whole, events)
        for index, item in enumerate(whole.output):
            self._begin(index, item, events)
            self._end(index, item, events)
        self._finish(whole, events)
        return events

    def _start(self, response: _Response, events: list[StreamEvent]) -> None:
        self._has_started = True
        events.append(StreamStarted(response.id or "", response.model or ""))

    def _begin(self, place: int, item: _Item, events: list[StreamEvent]) -> _Open | None:
        kind = _KINDS.get(item.type)
        if kind is None or place in self._open:
            return None
        opened = self._open[place] = _Open(kind, self._count)
        self._count += 1
        if kind == "tool_use":
            self._had_calls = True
            opened.call_id, opened.name = self._ids.take(item.call_id or item.id), item.name or ""
            events.append(ToolUseStarted(opened.index, opened.call_id, opened.name))
        return opened

    def _more(self, event: _Event, kind: str, events: list[StreamEvent]) -> None:
        opened = self._open.get(event.output_index)
        if opened is None or opened.kind != kind:
            raise ValueError(f"more of item {event.output_index}, which did not begin")
        if isinstance(event.delta, str) and event.delta:
            self._refused |= event.type == "response.refusal.delta"
            opened.parts.append(event.delta)
            events.append(_delta(opened, event.delta))

    def _end(self, place: int, item: _Item, events: list[StreamEvent]) -> None:
        opened = self._open.get(place) or self._begin(place, item, events)
        if opened is None:
            return
        self._open.pop(place)
        told = _told(item)
        if not opened.parts and told:  # a server that sends an item in one piece
            opened.parts.append(told)
            events.append(_delta(opened, told))
        joined = "".join(opened.parts)
        if opened.kind == "text":
            self._refused |= any(part.type == "refusal" for part in item.content or ())
            events.append(BlockEnded(opened.index, {"type": "text", "text": joined}))
        elif opened.kind == "tool_use":
            call = {"type": "tool_use", "id": opened.call_id, "name": opened.name, "input": parsed_input(joined)}
            events.append(BlockEnded(opened.index, call))
        else:
            events.append(BlockEnded(opened.index, _thinking(joined, item)))

    def _finish(self, response: _Response, events: list[StreamEvent]) -> None:
        for place, opened in list(self._open.items()):  # a server that forgot to close them
            self._end(place, _Item(next(name for name, kind in _KINDS.items() if kind == opened.kind)), events)
        self.has_ended = True
        reason = "tool_use" if self._had_calls else "refusal" if self._refused else "end_turn"
        if response.incomplete_details is not None and (cut := response.incomplete_details.reason):
            reason = _INCOMPLETE.get(cut, cut)
        events.append(StreamEnded(reason, _usage(response.usage)))


def _decoded(data: bytes) -> _Event:
    try:
        return _decode_event(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_loosely(data, _Event)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _delta(opened: _Open, text: str) -> StreamEvent:
    if opened.kind == "tool_use":
        return ToolInputDelta(opened.index, text)
    return TextDelta(opened.index, text) if opened.kind == "text" else ThinkingDelta(opened.index, text)


def _told(item: _Item) -> str:
    """All text of an item that is complete."""
    if item.type == "function_call":
        return item.arguments or ""
    parts = item.summary if item.type == "reasoning" else item.content
    return "".join(part.text or part.refusal or "" for part in parts or ())


def _thinking(text: str, item: _Item) -> dict[str, Any]:
    """The summary for people, and beside it the item that goes back to the provider."""
    block: dict[str, Any] = {"type": "thinking", "thinking": text, "signature": ""}
    if item.encrypted_content:
        summary = [{"type": "summary_text", "text": part.text or ""} for part in item.summary or ()]
        own = {"type": "reasoning", "summary": summary, "encrypted_content": item.encrypted_content}
        block[REASONING] = {**own, "id": item.id} if item.id else own
    return block


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    sent = token_count(usage.input_tokens)
    details = usage.input_tokens_details
    cached = min(token_count(details.cached_tokens), sent) if details is not None else 0
    return Usage(sent - cached, token_count(usage.output_tokens), cached)

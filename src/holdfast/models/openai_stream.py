"""The answer of chat.completions as our events. Pure: bytes of one chunk in, events out."""

from collections.abc import Collection
from typing import Any, cast

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
from holdfast.models.json_text import decode_loosely
from holdfast.models.text_calls import TextCalls

__all__ = ["ChatReader"]

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    tool_calls: list[_CallDelta] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


class _Call:
    """A call that is still arriving."""

    __slots__ = ("given_id", "id", "index", "name", "parts")

    def __init__(self, given_id: str | None) -> None:
        self.given_id = given_id
        self.id = ""
        self.index = -1
        self.name = ""
        self.parts: list[str] = []


_decode = msgspec.json.Decoder(_Chunk).decode


class ChatReader:
    """Reads one answer, streamed or whole."""

    def __init__(self, ids: CallIds | None = None, *, text_calls: Collection[str] = ()) -> None:
        """Begin before the first chunk.

        Args:
            ids: Gives each call its id.
            text_calls: Names of the tools whose calls may stand in the text.
        """
        self._ids = ids or CallIds()
        self._text_calls = TextCalls(text_calls) if text_calls else None
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.has_started = False
        self.has_ended = False
        self.written_chars = 0
        """Everything the model wrote so far, also what is held back because it may be a call."""
        self._next_index = 0
        self._kind = ""
        self._index = -1
        self._parts: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._ended: set[int] = set()
        self._had_calls = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in one chunk, or in a whole answer.

        Raises:
            ErrorEvent: The server tells of an error.
            ValueError: The data makes no sense.
        """
        chunk = _decoded(data)
        if chunk.error:
            raise ErrorEvent(data)
        events: list[StreamEvent] = []
        if not self.has_started:
            self.has_started = True
            events.append(StreamStarted(chunk.id or "", chunk.model or ""))
        if chunk.usage is not None:
            self._count(chunk.usage)
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._take(choice, events)
        return events

    def finish(self, estimated: Usage | None = None) -> list[StreamEvent]:
        """The last events, when nothing more comes."""
        events: list[StreamEvent] = []
        self._end_all(events)
        self.has_ended = True
        reason = _STOP_REASONS.get(self.finish_reason or "stop", self.finish_reason or "end_turn")
        if self._had_calls and reason == "end_turn":
            reason = "tool_use"  # many servers say only that it stopped
        events.append(StreamEnded(reason, self.usage or estimated or Usage()))
        return events

    def _take(self, choice: _Choice, events: list[StreamEvent]) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            self._take_words(delta, events)
            for call in delta.tool_calls or ():
                self._take_call(call, events)
            if delta.function_call is not None:
                self._take_call(_CallDelta(0, None, delta.function_call), events)
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason
            self._end_all(events)

    def _take_words(self, delta: _Delta, events: list[StreamEvent]) -> None:
        thought = delta.reasoning_content or delta.reasoning
        if thought and isinstance(thought, str):
            self.written_chars += len(thought)
            self._add("thinking", thought, events)
        if delta.content:
            for kind, text in _pieces(delta.content):
                self.written_chars += len(text)
                shown = self._text_calls.feed(text) if self._text_calls and kind == "text" else text
                if shown:
                    self._add(kind, shown, events)
        if delta.refusal:
            self.finish_reason = "content_filter"
            self.written_chars += len(delta.refusal)
            self._add("text", delta.refusal, events)

    def _add(self, kind: str, text: str, events: list[StreamEvent]) -> None:
        if self._kind != kind:
            self._end_words(events)
            self._end_complete(events)
            self._kind, self._index = kind, self._take_index()
        self._parts.append(text)
        events.append(TextDelta(self._index, text) if kind == "text" else ThinkingDelta(self._index, text))

    def _end_words(self, events: list[StreamEvent]) -> None:
        if not self._kind:
            return
        joined = "".join(self._parts)
        block = {"type": "text", "text": joined} if self._kind == "text" else _thinking(joined)
        events.append(BlockEnded(self._index, block))
        self._kind = ""
        self._parts.clear()

    def _take_call(self, delta: _CallDelta, events: list[StreamEvent]) -> None:
        function = delta.function or _Function()
        key = self._key_of(delta, function)
        call = self._calls.get(key)
        if call is None:
            if self._text_calls is not None:
                held, self._text_calls = self._text_calls.release(), None
                if held:
                    self._add("text", held, events)
            self._end_words(events)
            self._end_complete(events)
            call = self._calls[key] = _Call(delta.id)
        if function.name and not call.name:
            call.name = function.name
            call.id = self._ids.take(call.given_id or delta.id)
            call.index = self._take_index()
            self._had_calls = True
            events.append(ToolUseStarted(call.index, call.id, call.name))
            if held := "".join(call.parts):
                events.append(ToolInputDelta(call.index, held))
        text = _argument_text(function.arguments)
        if text:
            self._append(call, key, text, events)

    def _append(self, call: _Call, key: int, text: str, events: list[StreamEvent]) -> None:
        if key in self._ended:
            if text.strip():
                raise ValueError(f"more of the call {call.id}, which was complete")
            return
        call.parts.append(text)
        self.written_chars += len(text)
        if call.name:
            events.append(ToolInputDelta(call.index, text))

    def _key_of(self, delta: _CallDelta, function: _Function) -> int:
        """Which call a piece belongs to. Servers exist that give every call the index 0, or none."""
        last = next(reversed(self._calls), -1)
        key = last if delta.index is None else delta.index
        call = self._calls.get(key)
        if call is None:
            return max(key, 0)
        is_other_id = bool(delta.id) and bool(call.given_id) and delta.id != call.given_id
        is_named_again = bool(function.name) and bool(call.name) and not delta.id and _is_complete(call)
        if not is_other_id and not is_named_again:
            return key
        same = [number for number, known in self._calls.items() if delta.id and known.given_id == delta.id]
        return same[-1] if same else max(self._calls) + 1

    def _end_complete(self, events: list[StreamEvent]) -> None:
        """Something new begins: the call before it has ended, unless its input is open. Older ones were looked at."""
        for key in reversed(self._calls):
            call = self._calls[key]
            if key not in self._ended and call.name and _is_complete(call):
                self._end_call(key, call, events)
            return

    def _end_call(self, key: int, call: _Call, events: list[StreamEvent]) -> None:
        self._ended.add(key)
        whole = parsed_input("".join(call.parts))
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": whole}
        events.append(BlockEnded(call.index, block))

    def _end_all(self, events: list[StreamEvent]) -> None:
        found: list[Any] = []
        if self._text_calls is not None:
            rest, found = self._text_calls.finish()
            self._text_calls = None
            if rest:
                self._add("text", rest, events)
        self._end_words(events)
        for key, call in self._calls.items():
            if key not in self._ended and call.name:
                self._end_call(key, call, events)
        for name, arguments in found:
            self._had_calls = True
            index, id_ = self._take_index(), self._ids.take(None)
            text = msgspec.json.encode(arguments).decode()
            block = {"type": "tool_use", "id": id_, "name": name, "input": arguments}
            events += (ToolUseStarted(index, id_, name), ToolInputDelta(index, text), BlockEnded(index, block))

    def _take_index(self) -> int:
        self._next_index += 1
        return self._next_index - 1

    def _count(self, usage: _Usage) -> None:
        sent = token_count(usage.prompt_tokens)
        details = usage.prompt_tokens_details
        cached = min(token_count(details.cached_tokens), sent) if details is not None else 0
        self.usage = Usage(sent - cached, token_count(usage.completion_tokens), cached)


def _decoded(data: bytes) -> _Chunk:
    try:
        return _decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_loosely(data, _Chunk)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": ""}


def _is_complete(call: _Call) -> bool:
    """The input is a whole object. Nothing at all may still become one."""
    last = next((part for part in reversed(call.parts) if part.strip()), "")
    return last.rstrip().endswith("}") and isinstance(parsed_input("".join(call.parts)), dict)


def _argument_text(arguments: Any) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return msgspec.json.encode(arguments).decode()


def _pieces(content: Any) -> list[tuple[str, str]]:
    """Text, or parts as some servers send them: text and thinking."""
    if isinstance(content, str):
        return [("text", content)]
    found: list[tuple[str, str]] = []
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        told = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
        if isinstance(text := told.get("text"), str):
            found.append(("text", text))
        elif isinstance(thought := told.get("thinking"), str):
            found.append(("thinking", thought))
        elif isinstance(thought, list):
            found += [("thinking", text) for _, text in _pieces(thought)]
    return found

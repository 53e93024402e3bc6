"""What a provider would send for a scripted answer, on either wire, streamed or whole."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.testing.scripted import Gate

__all__ = [
    "FakeTurn",
    "Pause",
    "anthropic_pieces",
    "anthropic_whole",
    "json_text",
    "openai_pieces",
    "openai_whole",
    "parts_of",
]


@dataclass(frozen=True, slots=True)
class Pause:
    """Stand still at this place of the stream."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeTurn:
    """How to answer one request. Say what it contains, or the exact bytes; then how it arrives."""

    blocks: Sequence[Mapping[str, Any] | Pause | Gate] = ()
    """Content in block form (`text`, `thinking`, `redacted_thinking`, `tool_use`); a `Pause` or `Gate` waits there."""
    stop_reason: str | None = None
    """In the words of the Messages API; None: `tool_use` or `end_turn`, as the blocks say."""
    usage: Mapping[str, int] = field(default_factory=lambda: {"input_tokens": 10, "output_tokens": 5})
    model: str = "fake-model"
    delta_chars: int = 8
    """How much of a text one event carries."""
    raw: bytes | Sequence[bytes | Pause | Gate] | None = None
    """The exact body instead of `blocks`."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str | None = None
    split_bytes: int | None = None
    """Cut the body into network pieces of this size, wherever that falls."""
    drip_s: float = 0.0
    """Wait before each piece."""
    first_delay_s: float = 0.0
    """Wait before the status line."""
    cut_at: int | None = None
    """Close the connection after so many bytes of the body."""
    keeps_open: bool = False
    """Do not end the body: the connection stays as it is."""

    @property
    def content(self) -> list[Mapping[str, Any]]:
        """The blocks without the waits."""
        return [block for block in self.blocks if isinstance(block, Mapping)]

    @property
    def reason(self) -> str:
        """Why the answer stops."""
        has_calls = any(block["type"] == "tool_use" for block in self.content)
        return self.stop_reason or ("tool_use" if has_calls else "end_turn")


_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def anthropic_pieces(turn: FakeTurn, number: int) -> Iterator[bytes | Pause | Gate]:
    """The stream of the Messages API, one piece for each event."""
    usage = {**turn.usage, "output_tokens": 1}
    message: dict[str, Any] = {**_message(turn, number), "content": [], "stop_reason": None, "usage": usage}
    yield _event("message_start", {"message": message})
    yield _event("ping", {})
    index = 0
    for block in turn.blocks:
        if not isinstance(block, Mapping):
            yield block
            continue
        yield from (_event(name, {"index": index, **data}) for name, data in _block_events(block, turn.delta_chars))
        index += 1
    output = {"output_tokens": turn.usage.get("output_tokens", 0)}
    yield _event("message_delta", {"delta": {"stop_reason": turn.reason, "stop_sequence": None}, "usage": output})
    yield _event("message_stop", {})


def anthropic_whole(turn: FakeTurn, number: int) -> bytes:
    """The same as one document."""
    return json.dumps({**_message(turn, number), "content": turn.content, "usage": turn.usage}).encode()


def openai_pieces(turn: FakeTurn, number: int, *, with_usage: bool) -> Iterator[bytes | Pause | Gate]:
    """The stream of chat.completions, one piece for each chunk."""
    head = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": turn.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for block in turn.blocks:
        if not isinstance(block, Mapping):
            yield block
        elif block["type"] == "tool_use":
            yield from (chunk({"tool_calls": [delta]}) for delta in _call_deltas(block, calls, turn.delta_chars))
            calls += 1
        elif block["type"] in {"text", "thinking"}:
            key = "content" if block["type"] == "text" else "reasoning_content"
            yield from (chunk({key: part}) for part in parts_of(block[block["type"]], turn.delta_chars))
    yield chunk({}, _FINISH.get(turn.reason, turn.reason))
    if with_usage:
        yield _data({**head, "choices": [], "usage": _openai_usage(turn)})
    yield b"data: [DONE]\n\n"


def openai_whole(turn: FakeTurn, number: int) -> bytes:
    """The same as one document."""
    texts = [block["text"] for block in turn.content if block["type"] == "text"]
    thoughts = [block["thinking"] for block in turn.content if block["type"] == "thinking"]
    calls = [
        {"id": block["id"], "type": "function", "function": _function(block)}
        for block in turn.content
        if block["type"] == "tool_use"
    ]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(turn.reason, turn.reason)}
    whole = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": turn.model,
        "choices": [choice],
        "usage": _openai_usage(turn),
    }
    return json.dumps(whole).encode()


def _message(turn: FakeTurn, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "stop_reason": turn.reason,
        "stop_sequence": None,
    }


def _block_events(block: Mapping[str, Any], chars: int) -> Iterator[tuple[str, dict[str, Any]]]:
    start: dict[str, Any] = dict(block)
    deltas: list[dict[str, Any]] = []
    if block["type"] == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": part} for part in parts_of(block["text"], chars)]
    elif block["type"] == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": part} for part in parts_of(block["thinking"], chars)]
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
    elif block["type"] == "tool_use":
        start["input"] = {}
        parts = parts_of(json_text(block["input"]), chars) if block["input"] else [""]
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    yield "content_block_start", {"content_block": start}
    for delta in deltas:
        yield "content_block_delta", {"delta": delta}
    yield "content_block_stop", {}


def _call_deltas(block: Mapping[str, Any], index: int, chars: int) -> Iterator[dict[str, Any]]:
    function = {"name": block["name"], "arguments": ""}
    yield {"index": index, "id": block["id"], "type": "function", "function": function}
    for part in parts_of(json_text(block["input"]), chars):
        yield {"index": index, "function": {"arguments": part}}


def _function(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": block["name"], "arguments": json_text(block["input"])}


def _openai_usage(turn: FakeTurn) -> dict[str, Any]:
    cached = turn.usage.get("cache_read_input_tokens", 0)
    sent, written = turn.usage.get("input_tokens", 0) + cached, turn.usage.get("output_tokens", 0)
    usage: dict[str, Any] = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
    if cached:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return usage


def json_text(value: Any) -> str:
    """A value as JSON; text is it already."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parts_of(text: str, chars: int) -> list[str]:
    """A text in pieces of so many characters."""
    return [text[start : start + chars] for start in range(0, len(text), chars)]


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\n" + _data({"type": name, **data})


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"

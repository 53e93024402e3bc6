"""The same scripted answers on the wires of the Responses API, Gemini and Bedrock."""

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from holdfast.testing.fake_wires import FakeTurn, Pause, anthropic_pieces, anthropic_whole, json_text, parts_of
from holdfast.testing.scripted import Gate

__all__ = ["OtherWire", "aws_event", "wire_of"]

Piece = bytes | Pause | Gate


class OtherWire(NamedTuple):
    """How one API sends an answer."""

    pieces: Callable[[FakeTurn, int], Iterator[Piece]]
    whole: Callable[[FakeTurn, int], bytes]
    streams: Callable[[str, Mapping[str, Any]], bool]
    """Whether a request with this path and body wants a stream."""
    content_type: str = "text/event-stream; charset=utf-8"


def wire_of(path: str) -> OtherWire | None:
    """The API behind a path; none where it is the Messages API or chat.completions."""
    place = path.partition("?")[0]
    if place.endswith("/responses"):
        return _RESPONSES
    if "enerateContent" in place:
        return _GEMINI
    return _BEDROCK if "/invoke" in place else None


def aws_event(payload: bytes, headers: Mapping[str, str]) -> bytes:
    """One message of Amazon's event stream."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()
        for name, value in headers.items()
    )
    prelude = (16 + len(head) + len(payload)).to_bytes(4, "big") + len(head).to_bytes(4, "big")
    message = prelude + zlib.crc32(prelude).to_bytes(4, "big") + head + payload
    return message + zlib.crc32(message).to_bytes(4, "big")


# The Responses API.


def _responses_pieces(turn: FakeTurn, number: int) -> Iterator[Piece]:
    response: dict[str, Any] = {**_response(turn, number), "status": "in_progress", "output": [], "usage": None}
    yield _event({"type": "response.created", "response": response})
    place = 0
    for block in turn.blocks:
        if not isinstance(block, Mapping):
            yield block
            continue
        item = _item(block, f"item_{place}")
        yield _event({"type": "response.output_item.added", "output_index": place, "item": {**item, **_begun(item)}})
        name, text = _told(block)
        if item["type"] == "message":
            opened = {"type": "response.content_part.added", "output_index": place, "content_index": 0}
            yield _event({**opened, "part": {"type": "output_text", "text": "", "annotations": []}})
        for part in parts_of(text, turn.delta_chars):
            yield _event({"type": name, "output_index": place, "item_id": item["id"], "delta": part, **_indexes(name)})
        yield _event({"type": "response.output_item.done", "output_index": place, "item": item})
        place += 1
    end = "response.incomplete" if turn.reason == "max_tokens" else "response.completed"
    yield _event({"type": end, "response": _response(turn, number)})


def _indexes(name: str) -> dict[str, int]:
    if "arguments" in name:
        return {}
    return {"summary_index": 0} if "summary" in name else {"content_index": 0}


def _responses_whole(turn: FakeTurn, number: int) -> bytes:
    return json.dumps(_response(turn, number)).encode()


def _response(turn: FakeTurn, number: int) -> dict[str, Any]:
    is_cut = turn.reason == "max_tokens"
    cached = turn.usage.get("cache_read_input_tokens", 0)
    sent, written = turn.usage.get("input_tokens", 0) + cached, turn.usage.get("output_tokens", 0)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": turn.model,
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [_item(block, f"item_{place}") for place, block in enumerate(turn.content)],
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + written,
        },
    }


def _item(block: Mapping[str, Any], id_: str) -> dict[str, Any]:
    if block["type"] == "tool_use":
        call = {"call_id": block["id"], "name": block["name"], "arguments": json_text(block["input"])}
        return {"type": "function_call", "id": id_, "status": "completed", **call}
    if block["type"] == "thinking":
        summary = [{"type": "summary_text", "text": block["thinking"]}]
        return {"type": "reasoning", "id": id_, "summary": summary, "encrypted_content": block.get("signature") or None}
    content: list[Any] = [{"type": "output_text", "text": block["text"], "annotations": []}]
    return {"type": "message", "id": id_, "role": "assistant", "status": "completed", "content": content}


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {"function_call": {"arguments": ""}, "reasoning": {"summary": []}}
    return empty.get(item["type"], {"content": []})


def _told(block: Mapping[str, Any]) -> tuple[str, str]:
    if block["type"] == "tool_use":
        return "response.function_call_arguments.delta", json_text(block["input"])
    if block["type"] == "thinking":
        return "response.reasoning_summary_text.delta", block["thinking"]
    return "response.output_text.delta", block["text"]


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


# Gemini.


def _gemini_pieces(turn: FakeTurn, number: int) -> Iterator[Piece]:
    for block in turn.blocks:
        if not isinstance(block, Mapping):
            yield block
            continue
        for part in _gemini_parts(block, turn.delta_chars):
            yield _chunk(turn, number, [part])
    yield _chunk(turn, number, [], ended=True)


def _gemini_whole(turn: FakeTurn, number: int) -> bytes:
    parts = [part for block in turn.content for part in _gemini_parts(block, 1_000_000)]
    return _chunk(turn, number, parts, ended=True)[len(b"data: ") :]


def _gemini_parts(block: Mapping[str, Any], chars: int) -> list[dict[str, Any]]:
    if block["type"] == "tool_use":
        signed = {"thoughtSignature": block["signature"]} if "signature" in block else {}
        return [{"functionCall": {"name": block["name"], "args": block["input"], "id": block["id"]}, **signed}]
    if block["type"] == "thinking":
        return [{"text": part, "thought": True} for part in parts_of(block["thinking"], chars)]
    return [{"text": part} for part in parts_of(block["text"], chars)]


def _chunk(turn: FakeTurn, number: int, parts: list[dict[str, Any]], *, ended: bool = False) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    data: dict[str, Any] = {"candidates": [candidate], "modelVersion": turn.model, "responseId": f"r{number}"}
    if ended:
        candidate["finishReason"] = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}.get(turn.reason, "STOP")
        cached = turn.usage.get("cache_read_input_tokens", 0)
        data["usageMetadata"] = {
            "promptTokenCount": turn.usage.get("input_tokens", 0) + cached,
            "candidatesTokenCount": turn.usage.get("output_tokens", 0),
            "cachedContentTokenCount": cached,
        }
    return f"data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()


# Bedrock: the Messages API in Amazon's stream.


def _bedrock_pieces(turn: FakeTurn, number: int) -> Iterator[Piece]:
    names = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    for piece in anthropic_pieces(turn, number):
        if isinstance(piece, bytes):
            data = piece.partition(b"data: ")[2].strip()
            yield aws_event(json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abc"}).encode(), names)
        else:
            yield piece


def _says_stream(_path: str, body: Mapping[str, Any]) -> bool:
    return bool(body.get("stream"))


def _names_stream(path: str, _body: Mapping[str, Any]) -> bool:
    return "stream" in path


_RESPONSES = OtherWire(_responses_pieces, _responses_whole, _says_stream)
_GEMINI = OtherWire(_gemini_pieces, _gemini_whole, _names_stream)
_BEDROCK = OtherWire(_bedrock_pieces, anthropic_whole, _names_stream, "application/vnd.amazon.eventstream")

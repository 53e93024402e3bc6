"""Stream a written answer as a provider would: pieces of text and of JSON, ends of blocks, and errors in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from holdfast.lib.tokens import estimate_tokens
from holdfast.models.errors import ModelError
from holdfast.models.interface import (
    BlockEnded,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
)
from holdfast.models.script import ScriptedBlock, ScriptedError, Turn
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["DEFAULT_CHUNK", "all_text", "called_ids", "newest_text", "play_turn"]

DEFAULT_CHUNK = 24
"""Characters in a piece: about what providers send."""


async def play_turn(
    turn: Turn, request: ModelRequest, *, message_id: str, model: str, is_timed: bool = False, chunk: int | None = None
) -> AsyncIterator[StreamEvent]:
    """The events of one turn. Every call must have its id already."""
    usage = turn.usage or Usage(input_tokens=estimate_request_tokens(request), output_tokens=_output_tokens(turn))
    error, is_streaming = turn.error, request.is_streaming
    if is_timed:
        await asyncio.sleep(turn.after_s if is_streaming else _whole_s(turn, chunk))
    if error is not None and (not is_streaming or (not turn.blocks and error.after_chars is None)):
        raise _raised(error)
    yield StreamStarted(message_id, model, Usage(usage.input_tokens, 0, usage.cache_read_tokens))
    left = None if error is None else error.after_chars
    for index, scripted in enumerate(turn.blocks):
        size = (scripted.chunk or chunk or DEFAULT_CHUNK) if is_streaming else None
        waits = is_timed and is_streaming
        if waits and scripted.after_s:
            await asyncio.sleep(scripted.after_s)
        for event in _events(index, scripted, size, left):
            yield event
            await asyncio.sleep(scripted.pace_s if waits else 0)  # others run between the pieces, as beside a socket
        if left is not None and (left := left - len(_content(scripted))) <= 0:
            break
        yield BlockEnded(index, _finished(scripted))
    if error is not None:
        raise _raised(error)
    yield StreamEnded(turn.stop_reason or _fitting_stop(turn), usage)


def newest_text(request: ModelRequest) -> str:
    """Everything the newest message says: texts and results, one below the other."""
    return "\n".join(_texts(request.messages[-1].get("content", ""))) if request.messages else ""


def all_text(request: ModelRequest) -> str:
    """The same of all messages."""
    return "\n".join(text for message in request.messages for text in _texts(message.get("content", "")))


def called_ids(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of all calls in a conversation."""
    return {
        str(block.get("id"))
        for message in messages
        if message.get("role") == "assistant" and isinstance(message.get("content"), list)
        for block in cast("list[dict[str, Any]]", message["content"])
        if block.get("type") == "tool_use"
    }


def _events(index: int, scripted: ScriptedBlock, size: int | None, left: int | None) -> Iterator[StreamEvent]:
    block = scripted.block
    content = _content(scripted)
    content = content if left is None else content[:left]
    kind = block.get("type")
    if kind == "tool_use":
        yield ToolUseStarted(index, str(block["id"]), str(block.get("name", "")))
    make = {"text": TextDelta, "thinking": ThinkingDelta, "tool_use": ToolInputDelta}.get(str(kind))
    if make is not None:
        step = size or max(1, len(content))
        for start in range(0, len(content), step):
            yield make(index, content[start : start + step])


def _content(scripted: ScriptedBlock) -> str:
    """What is streamed of a block."""
    block = scripted.block
    if block.get("type") != "tool_use":
        return str(block.get("text") or block.get("thinking") or "")
    given = block.get("input", {})
    if scripted.raw is not None or isinstance(given, str):
        return scripted.raw if scripted.raw is not None else str(given)
    return msgspec.json.encode(given).decode("utf-8")


def _finished(scripted: ScriptedBlock) -> dict[str, Any]:
    """The block as clients hand it on: the input is an object, or its text where that is no object."""
    block = dict(scripted.block)
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict | str):
        block["input"] = _content(scripted)
    if scripted.raw is not None:
        try:
            decoded: Any = msgspec.json.decode(scripted.raw.encode("utf-8", "surrogatepass"))
        except msgspec.DecodeError:
            decoded = None
        block["input"] = decoded if isinstance(decoded, dict) else scripted.raw
    return block


def _fitting_stop(turn: Turn) -> str:
    return "tool_use" if any(item.block.get("type") == "tool_use" for item in turn.blocks) else "end_turn"


def _whole_s(turn: Turn, chunk: int | None) -> float:
    """How long the turn takes in all: who does not stream waits for all of it."""
    waits = (
        item.after_s + item.pace_s * -(-len(_content(item)) // (item.chunk or chunk or DEFAULT_CHUNK))
        for item in turn.blocks
    )
    return turn.after_s + sum(waits)


def _raised(error: ScriptedError) -> ModelError:
    return ModelError(error.message, error.kind, status=error.status, retry_after_s=error.retry_after_s)


def _output_tokens(turn: Turn) -> int:
    return sum(estimate_tokens(_content(item)) for item in turn.blocks)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for block in cast("list[dict[str, Any]]", content or []):
        kind = block.get("type")
        if kind == "tool_result":
            yield from _texts(block.get("content", ""))
        elif kind == "tool_use":
            yield str(block.get("input", ""))
        else:
            yield str(block.get("text") or block.get("thinking") or "")

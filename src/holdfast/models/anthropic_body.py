"""The body of a request to the Messages API, put together as bytes: the tool list goes in as it is given."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from holdfast.events import encode_json
from holdfast.models.claude import ClaudeTraits, thinking_and_effort
from holdfast.models.interface import ModelRequest, SystemBlock

__all__ = ["BodyChoices", "request_body", "tools_with_breakpoint"]

_CACHE = {"type": "ephemeral"}
_CACHE_BYTES = b',"cache_control":{"type":"ephemeral"}}'
_MAX_BREAKPOINTS = 4
_UNCACHEABLE = frozenset({"thinking", "redacted_thinking"})
_REMOTE_PREFIX = "mcp__"
_LATER = b'"defer_loading":true'


class BodyChoices(msgspec.Struct, frozen=True):
    """What stays the same for all requests of a model."""

    model: str
    traits: ClaudeTraits
    max_output_tokens: int
    cache_prompts: bool = True
    extra: Mapping[str, Any] = {}


class _Entry(msgspec.Struct):
    name: str = ""


_entries = msgspec.json.Decoder(list[msgspec.Raw])
_entry = msgspec.json.Decoder(_Entry)


def request_body(
    request: ModelRequest,
    choices: BodyChoices,
    *,
    tools: bytes,
    messages: Sequence[Mapping[str, Any]] | None = None,
    for_counting: bool = False,
) -> bytes:
    """The whole body.

    Args:
        request: What to ask.
        choices: Of the model.
        tools: The tool list with its breakpoint, see `tools_with_breakpoint`.
        messages: With references to tools, where the model takes them; else they are left out.
        for_counting: Leave out what the counting of tokens does not take.
    """
    extra = {**choices.extra, **(request.extra or {})}
    system = _system(request.system, is_cached=choices.cache_prompts)
    spent = int(b'"cache_control"' in tools) + sum("cache_control" in block for block in system)
    messages = _sendable(_without_references(request.messages) if messages is None else messages)
    if choices.cache_prompts:
        messages = _with_breakpoints(messages, _MAX_BREAKPOINTS - spent)
    head = _head(request, choices, has_tools=len(tools) > 2)
    if for_counting:
        head = {name: head[name] for name in ("model", "thinking", "tool_choice", "output_config") if name in head}
        extra = {}
    if system:
        head["system"] = system
    parts = [encode_json({**head, **extra})[:-1]]
    if len(tools) > 2 and "tools" not in extra:
        parts += (b',"tools":', tools)
    if "messages" not in extra:
        parts += (b',"messages":', encode_json(messages))
    parts.append(b"}")
    return b"".join(parts)


def tools_with_breakpoint(tools: bytes) -> bytes:
    """The tool list with a cache breakpoint on the last tool that is not remote.

    Built-in tools come first and do not change in a session; remote ones come and go behind them. No entry is encoded
    anew: the breakpoint is written into the bytes of one.
    """
    entries = _entries.decode(tools)
    if b'"cache_control"' in tools and any(b'"cache_control"' in bytes(entry) for entry in entries):
        return tools
    own = [index for index, entry in enumerate(entries) if _stays(bytes(entry))]
    if not own:
        return tools
    written = [bytes(entry) for entry in entries]
    written[own[-1]] = written[own[-1]].rstrip()[:-1] + _CACHE_BYTES
    return b"[%b]" % b",".join(written)


def _without_references(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if all(message["role"] == "user" for message in messages):
        return messages
    from holdfast.models.references import without_references  # noqa: PLC0415 - a first request has none

    return without_references(messages)


def _stays(entry: bytes) -> bool:
    """It is there from the first request to the last, and in front."""
    return _LATER not in entry and not _entry.decode(entry).name.startswith(_REMOTE_PREFIX)


def _head(request: ModelRequest, choices: BodyChoices, *, has_tools: bool) -> dict[str, Any]:
    max_tokens = request.max_output_tokens or choices.max_output_tokens
    head: dict[str, Any] = {"model": choices.model, "max_tokens": max_tokens}
    if request.is_streaming:
        head["stream"] = True
    said = thinking_and_effort(
        choices.traits,
        thinking=request.thinking,
        effort=request.effort,
        max_tokens=max_tokens,
        display=request.thinking_display,
    )
    head |= said
    if has_tools and (choice := _tool_choice(request.tool_choice, choices.traits, thinks="thinking" in said)):
        head["tool_choice"] = choice
    if request.stop_sequences:
        head["stop_sequences"] = list(request.stop_sequences)
    return head


def _tool_choice(choice: str, traits: ClaudeTraits, *, thinks: bool) -> dict[str, Any] | None:
    if choice == "auto":
        return None
    if choice == "none":
        return {"type": "none"}
    if thinks or not traits.takes_forced_calls:
        return None  # the provider refuses a forced call from a model that thinks; asking is the best there is
    return {"type": "any"} if choice == "any" else {"type": "tool", "name": choice}


def _system(blocks: Sequence[SystemBlock], *, is_cached: bool) -> list[dict[str, Any]]:
    """The system prompt; the last cacheable block carries a breakpoint."""
    told = [block for block in blocks if block.text.strip()]
    last = max((index for index, block in enumerate(told) if block.cacheable), default=-1) if is_cached else -1
    return [
        {"type": "text", "text": block.text, "cache_control": _CACHE}
        if index == last
        else {"type": "text", "text": block.text}
        for index, block in enumerate(told)
    ]


def _sendable(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The messages without thinking that has no signature: it is another provider's, and this one would refuse it."""
    if not any(_is_foreign(block) for message in messages for block in _blocks(message)):
        return messages
    kept: list[Mapping[str, Any]] = []
    for message in messages:
        blocks = _blocks(message)
        own = [block for block in blocks if not _is_foreign(block)]
        kept.append(message if len(own) == len(blocks) or not own else {**message, "content": own})
    return kept


def _is_foreign(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "thinking" and not block.get("signature")


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message["content"]
    return () if isinstance(content, str) else content


def _with_breakpoints(messages: Sequence[Mapping[str, Any]], allowed: int) -> Sequence[Mapping[str, Any]]:
    """The messages with breakpoints on the last two of the user.

    The newest lets the next request read everything up to here. The one before is what this request reads: the
    provider looks back only 20 blocks from a breakpoint, and one turn may have more results than that.
    """
    allowed -= sum("cache_control" in block for message in messages for block in _blocks(message))
    changed: list[Mapping[str, Any]] | None = None
    left = min(allowed, 2)
    for index in range(len(messages) - 1, -1, -1):
        if left <= 0:
            break
        if messages[index]["role"] == "user" and (marked := _marked(messages[index])) is not None:
            changed = list(messages) if changed is None else changed
            changed[index] = marked
            left -= 1
    return messages if changed is None else changed


def _marked(message: Mapping[str, Any]) -> dict[str, Any] | None:
    content: str | Sequence[Mapping[str, Any]] = message["content"]
    if isinstance(content, str):
        text = {"type": "text", "text": content, "cache_control": _CACHE}
        return {**message, "content": [text]} if content.strip() else None
    if not content:
        return None
    last = cast("dict[str, Any]", content[-1])
    if last.get("type") in _UNCACHEABLE or "cache_control" in last or last.get("text") == "":
        return None
    return {**message, "content": [*content[:-1], {**last, "cache_control": _CACHE}]}

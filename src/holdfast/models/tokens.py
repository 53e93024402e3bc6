"""How many tokens a request has, by the estimate of its texts, and of what is no text."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.lib.tokens import estimate_bytes, estimate_tokens
from holdfast.models.interface import ModelRequest, SystemBlock

__all__ = ["estimate_block_tokens", "estimate_message_tokens", "estimate_prefix_tokens", "estimate_request_tokens"]

_PER_MESSAGE = 4
_PER_BLOCK = 3
_PER_IMAGE = 1_600
"""What a picture costs at the size that providers scale it to."""
_PER_PDF_BYTE = 1 / 12
"""A page has about 2,000 tokens and, in base64, about 24 KB or more."""


def estimate_request_tokens(request: ModelRequest) -> int:
    """The tokens of a whole request."""
    return estimate_prefix_tokens(request.system, request.tools) + estimate_message_tokens(request.messages)


def estimate_prefix_tokens(system: Sequence[SystemBlock], tools: bytes) -> int:
    """The tokens of what comes before the conversation."""
    told = sum(estimate_tokens(block.text) + _PER_BLOCK for block in system)
    return told + (estimate_bytes(tools) if len(tools) > 2 else 0)


def estimate_message_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """The tokens of a conversation."""
    return sum(_PER_MESSAGE + _content(message.get("content")) for message in messages)


def _content(content: Any) -> int:
    if isinstance(content, str):
        return estimate_tokens(content)
    return sum(map(estimate_block_tokens, content or ()))


def estimate_block_tokens(block: Mapping[str, Any]) -> int:
    """The tokens of one block of a message."""
    kind = block.get("type")
    if kind == "text":
        return _PER_BLOCK + estimate_tokens(str(block.get("text", "")))
    if kind == "tool_result":
        return _PER_BLOCK + _value(block.get("tool_use_id")) + _content(block.get("content"))
    if kind == "image":
        return _PER_BLOCK + _PER_IMAGE
    if kind == "document":
        return _PER_BLOCK + _document(block)
    return _PER_BLOCK + sum(_value(value) for value in block.values())


def _document(block: Mapping[str, Any]) -> int:
    source: Mapping[str, Any] = block.get("source") or {}
    data = source.get("data", "")
    if source.get("type") == "base64":
        return int(len(data) * _PER_PDF_BYTE)
    return _value(source.get("content") or data)


def _value(value: Any) -> int:
    """Any JSON value inside a block: a call's input, thinking, a signature."""
    if isinstance(value, str):
        return estimate_tokens(value)
    if isinstance(value, Mapping):
        return sum(1 + estimate_tokens(str(key)) + _value(item) for key, item in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, (list, tuple)):
        return sum(1 + _value(item) for item in value)  # pyright: ignore[reportUnknownVariableType] - JSON
    return 1

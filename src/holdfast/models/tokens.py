"""How many tokens a request has, without a tokenizer: counted from its bytes, rather too many than too few."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.lib.tokens import estimate_tokens
from holdfast.models.interface import ModelRequest

__all__ = ["estimate_message_tokens", "estimate_request_tokens", "estimate_tokens"]

_PER_MESSAGE = 4
_PER_BLOCK = 3
_PER_IMAGE = 1_600
"""What a picture costs at the size that providers scale it to."""
_PER_PDF_BYTE = 1 / 12
"""A page has about 2,000 tokens and, in base64, about 24 KB or more."""


def estimate_request_tokens(request: ModelRequest) -> int:
    """The tokens of a whole request."""
    system = sum(estimate_tokens(block.text) + _PER_BLOCK for block in request.system)
    # A tool list is JSON: punctuation makes its tokens shorter than those of prose.
    tools = len(request.tools) * 2 // 7 if len(request.tools) > 2 else 0
    return system + tools + estimate_message_tokens(request.messages)


def estimate_message_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """The tokens of a conversation."""
    return sum(_PER_MESSAGE + _content(message.get("content")) for message in messages)


def _content(content: Any) -> int:
    if isinstance(content, str):
        return estimate_tokens(content)
    return sum(_PER_BLOCK + _block(block) for block in content or ())


def _block(block: Mapping[str, Any]) -> int:
    kind = block.get("type")
    if kind == "text":
        return estimate_tokens(str(block.get("text", "")))
    if kind == "tool_result":
        return _content(block.get("content"))
    if kind == "image":
        return _PER_IMAGE
    if kind == "document":
        return _document(block)
    return sum(_value(value) for value in block.values())


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

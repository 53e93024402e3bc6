"""A growing answer as raw events of one well-known form, whatever provider the answer comes from."""

import os
from collections.abc import Iterator
from typing import Any

from holdfast.events import (
    AssistantReplied,
    Event,
    ModelRequested,
    ReplyDiscarded,
    TextStreamed,
    ThinkingStreamed,
    ToolUseStreamed,
)

__all__ = ["RawEvents"]

Raw = dict[str, Any]


class RawEvents:
    """Frames what streams: `message_start`, blocks that start, grow and stop, `message_delta`, `message_stop`."""

    def __init__(self, model: str) -> None:
        self._model = model
        self.message_id = ""
        """Of the message that is open, or was the last."""
        self._is_open = False
        self._block: int | None = None
        self._count = 0
        """Blocks of this message so far; indices in the frame are dense even where the provider's are not."""

    def take(self, event: Event) -> Iterator[Raw]:
        """The raw events that come with this one."""
        if isinstance(event, TextStreamed):
            yield from self._grow(event.index, {"type": "text", "text": ""}, {"type": "text_delta", "text": event.text})
        elif isinstance(event, ThinkingStreamed):
            thoughts = {"type": "thinking", "thinking": "", "signature": ""}
            signed = {"type": "signature_delta", "signature": event.signature}
            delta = signed if event.signature else {"type": "thinking_delta", "thinking": event.text}
            yield from self._grow(event.index, thoughts, delta)
        elif isinstance(event, ToolUseStreamed):
            block: Raw = {"type": "tool_use", "id": event.tool_use_id, "name": event.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": event.partial_json}
            yield from self._grow(event.index, block, delta if event.partial_json else None)
        elif isinstance(event, AssistantReplied):
            yield from self._finish(event)
        elif isinstance(event, ModelRequested):
            self._model, self.message_id = event.model, ""
            self._forget()
        elif isinstance(event, ReplyDiscarded):
            self._forget()  # whoever reads sees a new message_start without the end of this one

    def _grow(self, index: int, block: Raw, delta: Raw | None) -> Iterator[Raw]:
        if not self._is_open:
            self._is_open = True
            self.message_id = f"msg_{os.urandom(8).hex()}"
            yield {"type": "message_start", "message": self._message()}
        if index != self._block:
            yield from self._stop_block()
            self._block = index
            yield {"type": "content_block_start", "index": self._count, "content_block": block}
        if delta is not None:
            yield {"type": "content_block_delta", "index": self._count, "delta": delta}

    def _stop_block(self) -> Iterator[Raw]:
        if self._block is not None:
            yield {"type": "content_block_stop", "index": self._count}
            self._block = None
            self._count += 1

    def _finish(self, event: AssistantReplied) -> Iterator[Raw]:
        if not self._is_open:
            return
        yield from self._stop_block()
        delta = {"stop_reason": event.stop_reason or None, "stop_sequence": None}
        usage = {"output_tokens": int(event.usage.get("output_tokens", 0))}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}
        self._forget()

    def _forget(self) -> None:
        self._is_open, self._block, self._count = False, None, 0

    def _message(self) -> Raw:
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

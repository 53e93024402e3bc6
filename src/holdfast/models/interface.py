"""The one interface to every model: a request in, typed stream events out."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

__all__ = [
    "BlockEnded",
    "Effort",
    "Model",
    "ModelRequest",
    "StreamEnded",
    "StreamEvent",
    "StreamStarted",
    "SystemBlock",
    "TextDelta",
    "ThinkingDelta",
    "ToolInputDelta",
    "ToolUseStarted",
    "Usage",
    "Wire",
]

Wire = Literal["anthropic", "openai"]
"""Which form of tool list a model takes; also a key of the registry's projection."""
Effort = Literal["low", "medium", "high", "xhigh", "max"]


class SystemBlock(NamedTuple):
    """One part of the system prompt. Everything up to a cacheable block stays the same from turn to turn."""

    text: str
    cacheable: bool = False


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one request says. Messages have the shape of `session`: role and content blocks."""

    messages: Sequence[Mapping[str, Any]]
    system: tuple[SystemBlock, ...] = ()
    tools: bytes = b"[]"
    """The JSON list of tools in the model's own wire form, as `Pool.to_bytes(model.wire, facts)` gives it."""
    tool_choice: str = "auto"
    """`auto`, `any`, `none`, or the name of the tool to call."""
    max_output_tokens: int | None = None
    thinking: bool = False
    thinking_display: str | None = None
    """How much of its thinking the model shows, where it can be told; None: the provider's way."""
    effort: Effort | None = None
    stop_sequences: tuple[str, ...] = ()
    is_streaming: bool = True
    """False: one whole answer; the events are the same, only all at once."""
    extra: Mapping[str, Any] | None = None
    """Put into the request body as it is."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request cost, in tokens. `input_tokens` counts what came from no cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """The sum of two requests."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def context_tokens(self) -> int:
        """How much of the context window the request and its answer fill."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class StreamEvent(msgspec.Struct, frozen=True):
    """Base of what a model's stream tells."""


class StreamStarted(StreamEvent, frozen=True):
    """The first event: the provider has taken the request."""

    message_id: str
    model: str
    usage: Usage = Usage()


class TextDelta(StreamEvent, frozen=True):
    """More of the answer's text."""

    index: int
    text: str


class ThinkingDelta(StreamEvent, frozen=True):
    """More of the model's thinking."""

    index: int
    text: str


class ToolUseStarted(StreamEvent, frozen=True):
    """A call begins; its input follows."""

    index: int
    id: str
    name: str


class ToolInputDelta(StreamEvent, frozen=True):
    """More of a call's input, as raw JSON text."""

    index: int
    partial_json: str


class BlockEnded(StreamEvent, frozen=True):
    """A block is complete, in the shape that goes back to the provider.

    `{"type":"text","text"}`, `{"type":"thinking","thinking","signature"}`, `{"type":"redacted_thinking","data"}` or
    `{"type":"tool_use","id","name","input"}`. The input is an object, or the raw text where that is no JSON object.
    """

    index: int
    block: dict[str, Any]


class StreamEnded(StreamEvent, frozen=True):
    """The last event. A stream that ends without it was cut and raises `ModelError("…", "broken_stream")`."""

    stop_reason: str
    """`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `refusal`, `pause_turn` or what the provider says."""
    usage: Usage = Usage()
    """Of the whole request."""


class Model(Protocol):
    """A model that can be asked. Clients keep their connections open between requests."""

    name: str
    """As the user gave it: `provider:name`."""
    wire: Wire
    context_window: int

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        ...

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request has: counted by the provider where it can, else estimated."""
        ...

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs, or None where the price is not known."""
        ...

    async def close(self) -> None:
        """Give the connections back."""
        ...

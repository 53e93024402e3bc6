"""A model whose answers are planned in Python, event by event: with pauses, breaks and code in between."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.models import (
    BlockEnded,
    ModelError,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
    Wire,
)

__all__ = ["Plan", "PlannedModel", "Step", "answer", "broken", "call", "words"]

Step: TypeAlias = StreamEvent | float | BaseException | Callable[[], None]
"""An event of the stream, seconds to wait, an error to raise, or something to do."""
Plan: TypeAlias = Sequence[Step] | Callable[[ModelRequest], Sequence[Step]]
"""One answer; a function makes it from the request."""


class PlannedModel:
    """Gives the planned answers one after the other, and keeps every request."""

    wire: Wire = "anthropic"

    def __init__(
        self,
        *plans: Plan,
        name: str = "planned:model",
        context_window: int = 200_000,
        usd_per_token: float | None = None,
        then: Plan | None = None,
    ) -> None:
        """Plan the answers; `then` is the answer to every request after those."""
        self.name = name
        self.context_window = context_window
        self.requests: list[ModelRequest] = []
        self._plans = list(plans)
        self._then = then
        self._usd_per_token = usd_per_token

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next planned answer."""
        self.requests.append(request)
        plan = self._plans.pop(0) if self._plans else self._then
        if plan is None:
            raise UsageError(f"request {len(self.requests)} has no planned answer")
        for step in plan(request) if callable(plan) else plan:
            if isinstance(step, StreamEvent):
                yield step
            elif isinstance(step, BaseException):
                raise step
            elif callable(step):
                step()
            else:
                await asyncio.sleep(step)

    async def count_tokens(self, request: ModelRequest) -> int:
        """By the size of the request."""
        return len(encode_json(request.messages)) // 4

    def cost_usd(self, usage: Usage) -> float | None:
        """By the price that was given."""
        return None if self._usd_per_token is None else self._usd_per_token * usage.context_tokens

    async def close(self) -> None:
        """Nothing to give back."""


def answer(*parts: Iterable[Step], stop: str | None = None, usage: Usage | None = None, id: str = "msg") -> list[Step]:  # noqa: A002 - the wire's word
    """A whole answer of words and calls; it stops as its parts suggest unless told."""
    steps: list[Step] = [StreamStarted(id, "planned")]
    has_calls = False
    for index, part in enumerate(parts):
        for step in part:
            if isinstance(step, TextDelta | ToolUseStarted | ToolInputDelta | BlockEnded):
                has_calls = has_calls or isinstance(step, ToolUseStarted)
                steps.append(msgspec.structs.replace(step, index=index))
            else:
                steps.append(step)
    steps.append(StreamEnded(stop or ("tool_use" if has_calls else "end_turn"), usage or Usage(10, 5)))
    return steps


def words(text: str, *, pieces: int = 1) -> list[Step]:
    """A block of text that comes in so many pieces."""
    size = max(1, -(-len(text) // pieces))
    deltas: list[Step] = [TextDelta(0, text[start : start + size]) for start in range(0, len(text), size)]
    return [*deltas, BlockEnded(0, {"type": "text", "text": text})]


def call(id: str, name: str, arguments: Mapping[str, Any] | str) -> list[Step]:  # noqa: A002 - the wire's word
    """One call; text as arguments is sent as it is, also when it is no JSON."""
    raw = arguments if isinstance(arguments, str) else encode_json(arguments).decode()
    given = arguments if isinstance(arguments, str) else dict(arguments)
    return [
        ToolUseStarted(0, id, name),
        ToolInputDelta(0, raw),
        BlockEnded(0, {"type": "tool_use", "id": id, "name": name, "input": given}),
    ]


def broken(message: str = "the connection was reset") -> ModelError:
    """A stream that breaks here."""
    return ModelError(message, "broken_stream")

"""A model that says what a script tells it, for tests, demos and examples without a key."""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Self

import msgspec

from holdfast.models.errors import ModelError
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.playback import called_ids, newest_text, play_turn
from holdfast.models.script import ScriptedBlock, Turn, parse_turn, read_script
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["ScriptedModel"]

_SHOWN_CHARS = 400


class ScriptedModel:
    """Answers request after request with the turns of a script, streamed as a provider would.

    A turn is a text, a list of blocks, an object (docs/extend/testing.md), or a function from the request to one of
    these. `requests` keeps what was asked.
    """

    wire: Wire = "anthropic"

    def __init__(
        self,
        turns: Iterable[Any | Callable[[ModelRequest], Any]],
        *,
        name: str = "scripted:memory",
        context_window: int = 200_000,
        is_timed: bool = False,
        chunk: int | None = None,
        usd_per_token: float = 0.0,
    ) -> None:
        """Take the turns.

        Args:
            turns: One for each request, in order. Written turns are checked now.
            name: As a user would name the model.
            context_window: What the model says of itself.
            is_timed: Keep the script's waiting times; else everything comes at once.
            chunk: Characters in a piece, where a block says nothing else.
            usd_per_token: What it pretends to cost.
        """
        self._turns = [
            turn if callable(turn) else parse_turn(turn, f"{name}, turn {number}")
            for number, turn in enumerate(turns, 1)
        ]
        self.name = name
        self.context_window = context_window
        self.requests: list[ModelRequest] = []
        """Every request so far."""
        self._is_timed = is_timed
        self._chunk = chunk
        self._usd_per_token = usd_per_token
        self._calls = 0

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, is_timed: bool | None = None) -> Self:
        """The model of a script file, JSON or JSON lines; raises `UsageError` with the place of a mistake."""
        script = read_script(path)
        return cls(
            script.turns,
            name=f"scripted:{os.fspath(path)}",
            context_window=script.context_window or 200_000,
            is_timed=script.is_timed if is_timed is None else is_timed,
            chunk=script.chunk,
            usd_per_token=script.usd_per_token,
        )

    @property
    def turns_left(self) -> int:
        """How many turns nobody asked for yet."""
        return max(0, len(self._turns) - len(self.requests))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next turn; a request beyond the last one, or one that the turn did not expect, is an error."""
        number = len(self.requests) + 1
        self.requests.append(request)
        turn = self._turn(number, request)
        for text in turn.expect:
            if text not in newest_text(request):
                raise ModelError(
                    f"{self.name}: turn {number} expected {text!r} in the newest message, which says: "
                    f"{_shown(request)!r}. Change the script, or what it runs on.",
                    "invalid_request",
                )
        used = called_ids(request.messages)
        named = msgspec.structs.replace(turn, blocks=tuple(self._named(item, used) for item in turn.blocks))
        stream = play_turn(
            named,
            request,
            message_id=f"msg_scripted_{number}",
            model=self.name,
            is_timed=self._is_timed,
            chunk=self._chunk,
        )
        async for event in stream:
            yield event

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate."""
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float:
        """What the script pretends to cost."""
        return usage.context_tokens * self._usd_per_token

    async def close(self) -> None:
        """Nothing to give back."""

    def _turn(self, number: int, request: ModelRequest) -> Turn:
        if number > len(self._turns):
            raise ModelError(
                f"{self.name} ends with turn {len(self._turns)} and was asked for turn {number}. "
                f"The newest message says: {_shown(request)!r}. Add a turn, or let the last one call no tool.",
                "invalid_request",
            )
        turn = self._turns[number - 1]
        return turn if isinstance(turn, Turn) else parse_turn(turn(request), f"{self.name}, turn {number}")

    def _named(self, item: ScriptedBlock, used: set[str]) -> ScriptedBlock:
        """A call without an id gets one that the conversation does not have yet."""
        if item.block.get("type") != "tool_use" or "id" in item.block:
            return item
        while True:
            self._calls += 1
            id_ = f"call_{self._calls}"
            if id_ not in used:
                return msgspec.structs.replace(item, block={"type": "tool_use", "id": id_, **item.block})


def _shown(request: ModelRequest) -> str:
    text = newest_text(request)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"

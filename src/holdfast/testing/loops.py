"""Whole runs of the agent loop with planned answers, in virtual time, with the history checked after every event."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from holdfast.agent import Loop, LoopChoices, LoopParts, Message, RetryPolicy
from holdfast.contract import HoldfastError, Tool
from holdfast.engine import Executor
from holdfast.events import Event, RunEnded
from holdfast.session.validity import message_problems
from holdfast.testing.clock import run_virtual
from holdfast.testing.planned import Plan, PlannedModel
from holdfast.testing.scripted import ScriptedTool

__all__ = ["InvalidHistory", "LoopRun", "read_run", "run_loop"]

Kind = TypeVar("Kind", bound=Event)
STEADY = LoopChoices(retry=RetryPolicy(random=lambda: 0.0))
"""Waits that are the same each time."""


class InvalidHistory(HoldfastError):
    """A provider would refuse the loop's history."""


class LoopRun(NamedTuple):
    """What came of a run."""

    events: list[Event]
    loop: Loop
    model: PlannedModel

    @property
    def ended(self) -> RunEnded:
        """The last event."""
        last = self.events[-1]
        assert isinstance(last, RunEnded)
        return last

    @property
    def names(self) -> list[str]:
        """The kinds of the events, in order."""
        return [type(event).__name__ for event in self.events]

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def sent(self, request: int) -> list[dict[str, Any]]:
        """The blocks of the last message of a request, from 0."""
        return self.model.requests[request].messages[-1]["content"]


async def read_run(
    loop: Loop, prompt: str | None = "go", *, on_event: Callable[[Event], Awaitable[None]] | None = None
) -> list[Event]:
    """Read a run to its end; raises `InvalidHistory` as soon as a provider would refuse the history."""
    events: list[Event] = []
    async for event in loop.run(prompt):
        events.append(event)
        problems = message_problems(loop.history)
        if problems:
            raise InvalidHistory(f"after {type(event).__name__}: {problems[0]}")
        if on_event is not None:
            await on_event(event)
    return events


def run_loop(
    *plans: Plan,
    tools: Sequence[Tool] | None = None,
    prompt: str | None = "go",
    choices: LoopChoices = STEADY,
    history: Sequence[Message] = (),
    setup: Callable[[Loop], None] | None = None,
    on_event: Callable[[Loop, Event], Awaitable[None]] | None = None,
    executor_options: dict[str, Any] | None = None,
    model_options: dict[str, Any] | None = None,
    **loop_options: Any,
) -> LoopRun:
    """One run with these answers; all calls are allowed, and `Scripted` is the tool unless others are given."""
    model = PlannedModel(*plans, **(model_options or {}))

    async def body() -> tuple[list[Event], Loop]:
        offered = [ScriptedTool()] if tools is None else tools
        options: dict[str, Any] = {"permission_mode": "bypassPermissions", **(executor_options or {})}
        async with Executor(offered, **options) as executor:
            loop = Loop(executor, model, LoopParts(choices=choices, history=history, **loop_options))
            if setup is not None:
                setup(loop)
            return await read_run(loop, prompt, on_event=None if on_event is None else partial(on_event, loop)), loop

    events, loop = run_virtual(body())
    return LoopRun(events, loop, model)

"""Whole sessions with a chaotic model, tools and user, and a list of every promise the loop did not keep."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any

from holdfast.agent import Loop, LoopChoices, LoopParts, RetryPolicy
from holdfast.contract import Answer, Question
from holdfast.engine import Executor
from holdfast.events import CallDiscarded, CallFinished, CallQueued, Event, RunEnded
from holdfast.models.interface import ModelRequest, StreamEnded, StreamEvent
from holdfast.session import Journal
from holdfast.session.validity import message_problems
from holdfast.testing.chaos import ChaosModel
from holdfast.testing.scripted import ScriptedTool

__all__ = ["ChaosSession", "chaos_session"]

_LOOKS: Sequence[dict[str, Any]] = (
    {"seconds": 0.1},
    {"seconds": 30.0, "on_message": "cancel"},
    {"end": "fail"},
    {"end": "crash"},
    {"text": "x" * 30_000},
    {"progress": ["half"], "seconds": 2},
)
_CHANGES: Sequence[dict[str, Any]] = (
    {"safe": False, "read_only": False},
    {"safe": False, "read_only": False, "seconds": 5.0},
    {"safe": False, "read_only": False, "end": "error"},
    {"safe": False, "read_only": False, "end": "cancel"},
    {"safe": False, "read_only": False, "seconds": 20, "resist_s": 3},
)


class _JudgingModel(ChaosModel):
    """Chaos that also looks at what it is asked."""

    def __init__(self, seed: int, **choices: Any) -> None:
        super().__init__(seed, {"Look": _LOOKS, "Change": _CHANGES, "Shell": _CHANGES}, **choices)
        self.broken: list[str] = []
        self._paused = False
        """The model asked to be asked again with its own words last."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Judge the request first."""
        number = len(self.told)
        self.broken += [f"request {number}: {problem}" for problem in message_problems(request.messages)]
        if request.messages[-1].get("role") != "user" and not self._paused:
            self.broken.append(f"request {number}: the last word is not the user's")
        async for event in super().stream(request):
            if isinstance(event, StreamEnded):
                self._paused = event.stop_reason == "pause_turn"
            yield event


class _ChaoticAsker:
    """Says yes, no, or just no without a word."""

    def __init__(self, random: Random) -> None:
        self._random = random

    async def ask(self, question: Question) -> Answer:
        """A random answer after a while."""
        del question
        await asyncio.sleep(self._random.choice((0, 0, 60)))
        kind = self._random.random()
        if kind < 0.8:
            return Answer("allow")
        return Answer("deny", message="not this one") if kind < 0.95 else Answer("deny")

    def withdrawn(self, question: Question) -> None:
        """Nobody waits for this answer any more."""


class ChaosSession:
    """What came of a session."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.requests = 0
        self.calls = 0
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        """Every promise that was broken; empty is what we want."""


async def chaos_session(
    seed: int, *, requests: int = 50, journal: Journal | None = None, max_runs: int = 1_000, **choices: Any
) -> ChaosSession:
    """Run prompts until the model was asked so many times; run it in virtual time.

    Args:
        seed: Decides everything.
        requests: How many answers to go through at least.
        journal: Where the session is written.
        max_runs: Give up after so many prompts.
        choices: For `ChaosModel`.
    """
    random = Random(f"session:{seed}")  # noqa: S311 - repeatable on purpose
    result, model = ChaosSession(seed), _JudgingModel(seed, **choices)
    tools = [ScriptedTool("Look"), ScriptedTool("Change"), ScriptedTool("Shell", shell_like=True, timeout_s=10)]
    executor = Executor(tools, asker=_ChaoticAsker(random), on_event=journal, cancel_grace_s=10)
    retry = RetryPolicy(random=random.random)
    loop = Loop(executor, model, LoopParts(journal=journal, choices=LoopChoices(max_turns=20, retry=retry)))
    async with executor:
        for number in range(max_runs):
            if len(model.told) >= requests:
                break
            events = await _one_run(loop, f"prompt {number}", random)
            _judge(result, loop, events, f"run {number} ({model.told[-1] if model.told else 'no request'})")
        await loop.close()
    result.requests = len(model.told)
    result.problems += model.broken
    return result


async def _one_run(loop: Loop, prompt: str, random: Random) -> list[Event]:
    """A prompt, with a user who sometimes writes, interrupts or walks away in between."""
    kind = random.choice(("patient", "patient", "patient", "writes", "interrupts", "leaves"))
    user = asyncio.create_task(_user(loop, kind, random.uniform(0, 40)))
    stop_at = random.randrange(1, 30) if kind == "leaves" else None
    events: list[Event] = []
    stream = loop.run(prompt)
    try:
        async for event in stream:
            events.append(event)
            if len(events) == stop_at:
                break
    finally:
        await stream.aclose()
        user.cancel()
        await asyncio.wait({user})
    return events if stop_at is None or len(events) < stop_at else []


async def _user(loop: Loop, kind: str, after_s: float) -> None:
    await asyncio.sleep(after_s)
    if kind == "writes":
        loop.submit("and another thing")
    elif kind == "interrupts":
        await loop.interrupt()


def _judge(result: ChaosSession, loop: Loop, events: list[Event], where: str) -> None:
    result.problems += [f"{where}: {problem}" for problem in message_problems(loop.history)]
    if loop.is_running:
        result.problems.append(f"{where}: it is still running")
    if not events:  # the reader went away
        result.outcomes["left"] += 1
        return
    ends = [event for event in events if isinstance(event, RunEnded)]
    if len(ends) != 1 or events[-1] is not ends[0]:
        result.problems.append(f"{where}: {len(ends)} ends")
    result.outcomes.update(end.outcome for end in ends)
    asked = Counter(event.tool_use_id for event in events if isinstance(event, CallQueued))
    replied = Counter(event.tool_use_id for event in events if isinstance(event, CallFinished))
    discarded = Counter(event.tool_use_id for event in events if isinstance(event, CallDiscarded))
    result.calls += asked.total()
    if asked - replied - discarded:
        result.problems.append(f"{where}: without a reply: {asked - replied - discarded}")
    if replied - asked:  # a discarded call may have had its one reply before
        result.problems.append(f"{where}: too many replies: {replied - asked}")

"""Models that do everything wrong: no crash, no hang, one reply for each call, and a history that is always valid.

HOLDFAST_CHAOS_TURNS=10000 makes it long.
"""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor
from holdfast.agent import Loop, LoopChoices, LoopParts, RetryPolicy
from holdfast.events import CallDiscarded, CallFinished, CallQueued, Event, ModelRequested, RunEnded
from holdfast.models import BlockEnded, ModelError, ModelRequest, StreamEvent, ToolInputDelta, Usage
from holdfast.models.errors import ModelErrorKind
from holdfast.session import SessionStore
from holdfast.session.repair import repair
from holdfast.testing import ScriptedTool, run_virtual
from holdfast.testing.loops import read_run
from holdfast.testing.planned import PlannedModel, Step, answer, call, words

TURNS = int(os.environ.get("HOLDFAST_CHAOS_TURNS", "500"))
KINDS: tuple[ModelErrorKind, ...] = (
    *("connection", "timeout", "rate_limit", "overloaded", "server"),
    *("broken_stream", "broken_stream", "broken_stream", "context_overflow", "invalid_request"),
)
STOPS = ("end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "stop_sequence", "what?")


class Chaos:
    """Makes up the answers from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, request: ModelRequest) -> list[Step]:
        dice = self.random
        if request.tool_choice == "none":
            return answer(words("a summary")) if dice.random() < 0.7 else [self.error()]
        stop = dice.choice(STOPS) if dice.random() < 0.3 else None
        usage = Usage(dice.randrange(8_000), dice.randrange(500)) if dice.random() < 0.7 else Usage()
        steps = answer(*[self.part() for _ in range(dice.choice((0, 1, 1, 2, 3, 5)))], stop=stop, usage=usage)
        for _ in range(dice.randrange(3)):
            steps.insert(dice.randrange(len(steps)), dice.choice((0.0, 0.5, 3.0)))
        if dice.random() < 0.25:
            del steps[dice.randrange(len(steps)) :]
            if dice.random() < 0.8:
                steps.append(self.error())
        return steps

    def error(self) -> ModelError:
        return ModelError("chaos", self.random.choice(KINDS), retry_after_s=self.random.choice((None, 0.0, 5.0, 1e9)))

    def part(self) -> list[Step]:
        dice = self.random
        kind = dice.randrange(10)
        if kind < 3:
            return words(dice.choice(("", " ", "a word", "long " * 200)), pieces=dice.randrange(1, 4))
        if kind == 3:
            odd: list[StreamEvent] = [
                BlockEnded(0, {"type": "thinking", "thinking": "", "signature": "s"}),
                BlockEnded(0, {"type": "redacted_thinking", "data": "x"}),
                BlockEnded(0, {"type": "tool_result", "tool_use_id": "a", "content": "mine"}),
                BlockEnded(0, {"type": "tool_use"}),
                BlockEnded(0, {}),
                ToolInputDelta(0, "{}"),
            ]
            return [dice.choice(odd)]
        id_ = dice.choice(("a", "b", "c", "", "ü/ü", str(dice.randrange(10**9))))
        name = dice.choice(("Scripted",) * 6 + ("Nope", "", "a b"))
        return call(id_, name, self.arguments())

    def arguments(self) -> dict[str, Any] | str:
        dice = self.random
        if dice.random() < 0.15:
            return dice.choice(("", "{", "[1]", '"text"', "\udcff", '{"seconds": 1}'))
        return {
            "seconds": dice.choice((0, 0, 0.1, 2)),
            "safe": dice.random() < 0.7,
            "read_only": dice.random() < 0.6,
            "end": dice.choice(("ok",) * 8 + ("error", "fail", "crash", "exit", "cancel", "fatal")),
            "text": dice.choice(("done", "r" * 3_000, "")),
            "progress": ["half"] if dice.random() < 0.2 else [],
            "on_message": dice.choice(("cancel", "block")),
        }

    async def disturb(self, loop: Loop, event: Event) -> None:
        """Now and then somebody says or stops something."""
        luck = self.random.random()
        if luck < 0.01:
            loop.submit("by the way", self.random.choice(("user", "task", "cron")))
        elif luck < 0.015:
            await loop.interrupt()


def check_replies(events: list[Event]) -> int:
    """Every call has one end: a reply, or it was taken back; how many there were."""
    queued = Counter[str]()
    finished = Counter[str]()
    taken_back = Counter[str]()
    for event in events:
        if isinstance(event, CallQueued):
            queued[event.tool_use_id] += 1
        elif isinstance(event, CallFinished):
            finished[event.tool_use_id] += 1
        elif isinstance(event, CallDiscarded):
            taken_back[event.tool_use_id] += 1
    for id_, count in queued.items():
        assert max(finished[id_], taken_back[id_]) <= count <= finished[id_] + taken_back[id_], id_
    assert set(finished) <= set(queued)
    return sum(queued.values())


async def live(loop: Loop, chaos: Chaos, turns: int) -> tuple[list[Event], set[str]]:
    events: list[Event] = []
    outcomes: set[str] = set()
    asked = 0
    while asked < turns:
        leaves = chaos.random.random() < 0.05
        if leaves:
            stream = loop.run("go")
            async for event in stream:
                events.append(event)
                if chaos.random.random() < 0.1:
                    break
            await stream.aclose()
        else:
            run = await read_run(loop, "go", on_event=lambda event: chaos.disturb(loop, event))
            assert isinstance(run[-1], RunEnded)
            outcomes.add(run[-1].outcome)
            asked += sum(isinstance(event, ModelRequested) for event in run)
            events += run
    return events, outcomes


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_model_does_every_call_is_answered_and_the_history_holds(seed: int, tmp_path: Path) -> None:
    chaos = Chaos(seed)
    store = SessionStore(tmp_path / "sessions")
    session = store.create(str(tmp_path))
    heard: list[Event] = []

    def hear(event: Event) -> None:
        session.journal(event)
        heard.append(event)

    async def body() -> set[str]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions", on_event=hear) as executor:
            model = PlannedModel(then=chaos, context_window=10_000, usd_per_token=0.0)
            choices = LoopChoices(retry=RetryPolicy(random=chaos.random.random, attempts=4), max_turns=6)
            loop = Loop(executor, model, LoopParts(journal=session.journal, choices=choices))
            _, outcomes = await live(loop, chaos, TURNS // 4)
            session.journal.flush()
            remembered = repair(store.load(session.id)).messages
            assert remembered == loop.history
            return outcomes

    outcomes = run_virtual(body())
    session.close()
    assert check_replies(heard) > TURNS // 8
    assert {"success", "error_during_execution"} <= outcomes

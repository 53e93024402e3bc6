"""Random schedules on the virtual clock: whatever arrives and whoever stops it, the promises hold."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from holdfast import Executor
from holdfast.engine import SiblingErrors
from holdfast.events import CallDiscarded, CallFinished, CallQueued, CallStarted, Event
from holdfast.testing import Script, ScriptedAsker, ScriptedTool, Timeline, VirtualClock, play, run_virtual

# A schedule is a whole session: `make fuzz` plays thirty thousand, not two hundred thousand.
EXAMPLES = min(3_000, settings().max_examples)
SECONDS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 5.0])
ENDINGS = st.sampled_from(["ok", "ok", "ok", "error", "fail", "crash", "exit", "cancel"])

CALL = st.fixed_dictionaries(
    {
        "seconds": SECONDS,
        "safe": st.booleans(),
        "read_only": st.booleans(),
        "end": ENDINGS,
        "on_message": st.sampled_from(["cancel", "block"]),
        "progress": st.sampled_from([(), ("p",), ("p", "q")]),
        "resist_s": st.sampled_from([0.0, 0.0, 0.0, 1.0]),
    }
)
RAW = st.sampled_from(["{", "[]", None, {"nonsense": 1}, {"seconds": "soon"}])
CALM = st.one_of(
    st.tuples(st.just("call"), CALL),
    st.tuples(st.just("call"), CALL),
    st.tuples(st.just("call"), CALL),
    st.tuples(st.just("raw"), RAW),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])),
    st.tuples(st.just("end_turn"), st.none()),
)
STOPS = st.sampled_from([("interrupt", None), ("user_message", None), ("discard", None)])
LIMITS = st.integers(min_value=1, max_value=4)
SIBLINGS: st.SearchStrategy[SiblingErrors] = st.sampled_from(["cancel-dependents", "cancel-all", "independent"])
Steps = list[tuple[str, Any]]


def script_of(steps: Steps) -> tuple[Script, list[str]]:
    """The script, and the ids of its calls in order."""
    script = Script()
    ids: list[str] = []
    for verb, what in steps:
        if verb in ("call", "raw"):
            ids.append(f"c{len(ids)}")
            script = script.call_with(ids[-1], "Shell" if len(ids) % 3 == 0 else "Scripted", what)
        elif verb == "wait":
            script = script.wait(what)
        else:
            script = getattr(script, verb)()
    return script, ids


def tools() -> list[ScriptedTool]:
    plain = ScriptedTool()
    return [plain, ScriptedTool("Shell", record=plain.record, gates=plain.gates, shell_like=True)]


def check_promises(timeline: Timeline, ids: list[str], limit: int) -> None:
    """What holds for every schedule."""
    emitted = [event.tool_use_id for _, event in timeline.events if isinstance(event, CallFinished)]
    dropped = timeline.discarded
    assert sorted({*emitted, *dropped}) == sorted(ids), "a call was neither answered nor discarded"
    assert len(set(emitted)) == len(emitted), "a call was answered twice"
    assert len(set(dropped)) == len(dropped)
    assert [id_ for id_ in ids if id_ in emitted] == emitted, "replies left the order of the calls"
    assert [id_ for id_ in emitted if id_ in timeline.order] == timeline.order, "the reader saw another order"
    assert {*emitted} - {*timeline.order} <= {*dropped}, "a reply was kept from the reader"
    assert timeline.record.running == [], "something still runs"
    assert timeline.record.violations == [], "an exclusive call met another one"
    assert timeline.max_overlap <= limit
    started = timeline.record.started
    assert [id_ for id_ in ids if id_ in started] == started, "a call was overtaken"
    assert len(set(started)) == len(started), "a call ran twice"


FAILS_LATE: dict[str, Any] = {"seconds": 0.5, "safe": True, "end": "error"}
ALONE: dict[str, Any] = {"safe": False, "read_only": False}
READS: dict[str, Any] = {"safe": True, "read_only": True}


@settings(max_examples=EXAMPLES * 3)
@given(steps=st.lists(CALM, max_size=14), limit=LIMITS, sibling_errors=SIBLINGS)
@example(  # a reader waits behind one that must run alone, until that is dropped because the call it waits for fails
    steps=[("call", READS), ("call", READS), ("call", FAILS_LATE), ("call", ALONE), ("call", READS)],
    limit=2,
    sibling_errors="cancel-dependents",
)
def test_every_call_is_answered_once_in_order_without_overlap_or_overtaking(
    steps: Steps, limit: int, sibling_errors: SiblingErrors
):
    script, ids = script_of(steps)
    timeline = play(script, tools=tools(), max_concurrency=limit, sibling_errors=sibling_errors)
    check_promises(timeline, ids, limit)
    assert timeline.order == ids
    check_turns_are_barriers(timeline, script)
    check_nothing_waits_needlessly(timeline, script, limit)


def turns_of(script: Script) -> dict[str, int]:
    """The turn of each call."""
    turns: dict[str, int] = {}
    turn = 0
    for step in script.steps:
        if step.verb == "end_turn":
            turn += 1
        elif step.verb == "call":
            turns[step.subject] = turn
    return turns


def check_turns_are_barriers(timeline: Timeline, script: Script) -> None:
    """No call starts before every call of earlier turns has ended."""
    turns = turns_of(script)
    for span in timeline.record.spans:
        for other in timeline.record.spans:
            if turns[other.call] < turns[span.call]:
                assert other.ended_s is not None
                assert other.ended_s <= span.started_s


def check_nothing_waits_needlessly(timeline: Timeline, script: Script, limit: int) -> None:
    """A call at the head of the queue starts as soon as those before it allow."""
    spans = {span.call: span for span in timeline.record.spans}
    queued = {event.tool_use_id: at_s for at_s, event in timeline.events if isinstance(event, CallQueued)}
    stopped_s = stopped_in_the_queue(timeline)
    turns = turns_of(script)
    before: list[Any] = []
    passed_s = 0.0
    for id_, queued_s in queued.items():
        passed_s = max(passed_s, stopped_s.get(id_, 0.0))
        if id_ not in spans:
            continue
        span = spans[id_]
        others = [(other.ended_s or 0.0, other) for other in before]
        free_s = max(
            (end for end, other in others if not (span.safe and other.safe) or turns[other.call] != turns[id_]),
            default=0.0,
        )
        in_order_s = max((other.started_s for other in before), default=0.0)
        earliest = max(queued_s, free_s, in_order_s, passed_s)
        crowd = sum(other.started_s <= earliest < (other.ended_s or 0.0) for other in before)
        if crowd < limit:
            assert span.started_s <= earliest + 1e-6, f"{id_} waited although it could start at {earliest}"
        before.append(span)


def stopped_in_the_queue(timeline: Timeline) -> dict[str, float]:
    """When each call that never started left the queue: with the end of the failed call that its reply names."""
    spans = {span.call: span for span in timeline.record.spans}
    found: dict[str, float] = {}
    for _, event in timeline.events:
        if isinstance(event, CallFinished) and event.outcome == "cancelled" and event.tool_use_id not in spans:
            culprit = re.search(r"\(call (c\d+)\) failed", str(event.content))
            assert culprit is not None, event.content
            found[event.tool_use_id] = spans[culprit[1]].ended_s or 0.0
    return found


@settings(max_examples=EXAMPLES * 4)
@given(steps=st.lists(st.one_of(CALM, CALM, STOPS), max_size=16), limit=LIMITS, sibling_errors=SIBLINGS)
@example(steps=[("call", {}), ("discard", None), ("call", {})], limit=1, sibling_errors="cancel-all")
def test_stopping_at_any_point_leaves_nothing_running_and_nothing_unanswered(
    steps: Steps, limit: int, sibling_errors: SiblingErrors
):
    script, ids = script_of(steps)
    timeline = play(script, tools=tools(), max_concurrency=limit, sibling_errors=sibling_errors)
    check_promises(timeline, ids, limit)


@settings(max_examples=EXAMPLES)
@given(
    steps=st.lists(st.one_of(CALM, CALM, STOPS), max_size=10),
    answers=st.lists(st.sampled_from(["allow", "allow", "deny"]), max_size=6),
    limit=LIMITS,
)
def test_asking_a_person_keeps_every_promise(steps: Steps, answers: list[Any], limit: int):
    script, ids = script_of(steps)
    timeline = play(
        script, tools=tools(), max_concurrency=limit, permission_mode="default", asker=ScriptedAsker(answers)
    )
    check_promises(timeline, ids, limit)


@settings(max_examples=EXAMPLES)
@given(
    calls=st.lists(st.tuples(st.sampled_from([0.0, 0.1, 1.0]), CALL), min_size=1, max_size=8),
    cancel_at_s=st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0, 1.5, 3.0, 30.0]),
    how=st.sampled_from(["task", "close", "tasks"]),
)
def test_cancelling_from_outside_at_any_time_leaves_nothing_running(
    calls: list[tuple[float, dict[str, Any]]], cancel_at_s: float, how: str
):
    tool = ScriptedTool()
    events: list[Event] = []

    async def agent(executor: Executor) -> None:
        async with executor:
            for number, (pause_s, arguments) in enumerate(calls):
                await asyncio.sleep(pause_s)
                executor.add({"id": str(number), "name": "Scripted", "input": arguments})
            async for _ in executor.results():
                pass

    async def main() -> None:
        executor = Executor([tool], permission_mode="bypassPermissions", on_event=events.append, max_concurrency=3)
        task = asyncio.get_running_loop().create_task(agent(executor))
        await asyncio.sleep(cancel_at_s)
        if how == "tasks":
            for other in asyncio.all_tasks() - {asyncio.current_task()}:
                other.cancel()
        elif how == "close":
            await executor.close()
            task.cancel()
        else:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        assert tool.record.running == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(main())
    queued = [event.tool_use_id for event in events if isinstance(event, CallQueued)]
    assert [event.tool_use_id for event in events if isinstance(event, CallFinished)] == queued
    assert tool.record.violations == []


class ExecutorMachine(RuleBasedStateMachine):
    """A model and a user at work on one executor, step by step; the promises are checked after every step."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualClock()
        self.tool = ScriptedTool()
        self.events: list[Event] = []
        self.added: list[str] = []
        self.read: list[str] = []
        self.executor = Executor(
            [self.tool], permission_mode="bypassPermissions", on_event=self.events.append, max_concurrency=3
        )

    def step(self, action: Callable[[], Any], seconds: float = 0.0) -> Any:
        """Do something inside the loop, then let time pass."""

        async def inside() -> Any:
            result = action()
            if asyncio.iscoroutine(result):
                result = await result
            await asyncio.sleep(seconds)
            return result

        return self.loop.run_until_complete(inside())

    @rule(target=calls, arguments=CALL, gate=st.sampled_from([None, None, "g0", "g1"]), seconds=SECONDS)
    def call(self, arguments: dict[str, Any], gate: str | None, seconds: float) -> str:
        id_ = f"c{len(self.added)}"
        self.added.append(id_)
        block = {"id": id_, "name": "Scripted", "input": {**arguments, "gate": gate}}
        self.step(lambda: self.executor.add(block), seconds)
        return id_

    @rule(name=st.sampled_from(["g0", "g1"]))
    def open_gate(self, name: str) -> None:
        def reopen() -> None:
            self.tool.gate(name).open()
            del self.tool.gates[name]

        self.step(reopen)

    @rule(seconds=st.sampled_from([0.1, 1.0, 4.0]))
    def time_passes(self, seconds: float) -> None:
        self.step(lambda: None, seconds)

    @rule()
    def interrupt(self) -> None:
        self.step(self.executor.interrupt)
        assert self.tool.record.running == []

    @rule()
    def user_message(self) -> None:
        self.step(self.executor.user_message)

    @rule()
    def end_turn(self) -> None:
        self.step(self.executor.end_turn)

    @precondition(lambda self: self.added)
    @rule()
    def discard(self) -> None:
        acted = {event.tool_use_id for event in self.events if isinstance(event, CallStarted) and not event.read_only}
        turn_calls = set(self.executor._turn_calls)
        discarded = self.step(self.executor.discard)
        assert discarded == (not acted & turn_calls)

    @rule()
    def read_what_is_there(self) -> None:
        self.read += [event.tool_use_id for event in self.executor.ready() if isinstance(event, CallFinished)]

    @invariant()
    def promises_hold_so_far(self) -> None:
        emitted = [event.tool_use_id for event in self.events if isinstance(event, CallFinished)]
        assert [id_ for id_ in self.added if id_ in emitted] == emitted
        assert len(set(emitted)) == len(emitted)
        assert [id_ for id_ in emitted if id_ in self.read] == self.read
        assert self.tool.record.violations == []
        assert self.tool.record.max_overlap <= 3
        started = self.tool.record.started
        assert [id_ for id_ in self.added if id_ in started] == started

    def teardown(self) -> None:
        """Close: whatever state it is in, everything ends and is answered."""
        try:
            self.step(self.executor.close)
            answered = {event.tool_use_id for event in self.events if isinstance(event, (CallFinished, CallDiscarded))}
            assert sorted(answered) == sorted(self.added)
            assert self.tool.record.running == []
            assert asyncio.all_tasks(self.loop) == set()
        finally:
            self.loop.close()


ExecutorMachine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=20)
test_an_executor_keeps_its_promises_step_by_step = ExecutorMachine.TestCase

"""The agent loop: whole runs with a planned model and real calls, in virtual time."""

import asyncio
from typing import Any

import pytest

from holdfast import Executor
from holdfast.agent import Loop, LoopChoices, LoopParts, Message
from holdfast.contract import UsageError
from holdfast.events import (
    AssistantReplied,
    CallFinished,
    CallProgressed,
    CallStarted,
    Event,
    PromptSubmitted,
    ResultsSent,
    RunEnded,
    SessionEnded,
    SessionStarted,
    TaskChanged,
    TextStreamed,
)
from holdfast.models import ModelRequest, Usage
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedTool, run_virtual
from holdfast.testing.loops import read_run, run_loop
from holdfast.testing.planned import PlannedModel, Step, answer, call, words

SLOW = {"seconds": 100, "safe": False, "read_only": False}


def test_a_plain_answer_streams_and_ends() -> None:
    run = run_loop(answer(words("Hello there", pieces=3)))
    assert [event.text for event in run.of(TextStreamed)] == ["Hell", "o th", "ere"]
    assert run.names == [
        *("SessionStarted", "PromptSubmitted", "ModelRequested"),
        *("TextStreamed", "TextStreamed", "TextStreamed", "AssistantReplied", "TurnEnded", "RunEnded"),
    ]
    assert (run.ended.outcome, run.ended.text, run.ended.turns) == ("success", "Hello there", 1)
    assert run.loop.history == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello there"}]},
    ]


def test_results_go_back_in_the_order_of_the_calls() -> None:
    slow = call("a", "Scripted", {"seconds": 2, "text": "first"})
    fast = call("b", "Scripted", {"text": "second"})
    run = run_loop(answer(words("Looking."), slow, fast), answer(words("Done.")))
    assert run.ended.outcome == "success"
    assert [reply.tool_use_id for reply in run.of(CallFinished)] == ["a", "b"]
    assert run.model.requests[1].messages[-1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "first"},
            {"type": "tool_result", "tool_use_id": "b", "content": "second"},
        ],
    }
    assert [event.content for event in run.of(ResultsSent)] == [run.loop.history[2]["content"]]
    assert len(run.of(AssistantReplied)) == 2


def test_calls_start_while_the_stream_still_runs_and_the_turn_is_as_short_as_it_can_be() -> None:
    tool = ScriptedTool()
    calls = [call(name, "Scripted", {"seconds": 1}) for name in "abc"]
    asked: list[float] = []

    def last(request: ModelRequest) -> list[Step]:
        asked.append(asyncio.get_running_loop().time())
        return answer(words("ok"))

    run = run_loop(answer(calls[0], [0.6], calls[1], [0.6], calls[2], [0.8]), last, tools=[tool])
    assert run.ended.outcome == "success"
    assert [span.started_s for span in tool.record.spans] == [0.0, 0.6, 1.2]
    assert asked == [2.2]


def test_progress_and_engine_events_come_at_once_while_the_model_streams() -> None:
    seen: list[tuple[str, float]] = []

    async def note(loop: Loop, event: Event) -> None:
        seen.append((type(event).__name__, asyncio.get_running_loop().time()))

    plan = answer(call("a", "Scripted", {"progress": ["half"], "seconds": 1}), [5.0])
    run_loop(plan, answer(words("ok")), on_event=note)
    times = dict(seen)
    assert times["CallProgressed"] == 0.0
    assert times["CallFinished"] == 1.0
    assert times["AssistantReplied"] == 5.0 or times["ResultsSent"] == 5.0


def test_a_slow_reader_slows_nothing_down() -> None:
    tool = ScriptedTool()

    async def sleepy(loop: Loop, event: Event) -> None:
        await asyncio.sleep(10)

    run_loop(
        answer(words("x" * 50, pieces=50), call("a", "Scripted", {"seconds": 1})),
        answer(call("b", "Scripted", {"seconds": 1})),
        answer(words("ok")),
        tools=[tool],
        on_event=sleepy,
    )
    assert [(span.started_s, span.ended_s) for span in tool.record.spans] == [(0.0, 1.0), (1.0, 2.0)]


def test_usage_and_cost_add_up_and_a_second_run_counts_for_itself() -> None:
    model = PlannedModel(
        answer(call("a", "Scripted", {}), usage=Usage(100, 10)),
        answer(words("one"), usage=Usage(120, 5, 50)),
        answer(words("two"), usage=Usage(1, 1)),
        usd_per_token=0.5,
    )

    async def body() -> tuple[list[Event], list[Event], Loop]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            loop = Loop(executor, model)
            return await read_run(loop), await read_run(loop, "more"), loop

    first, second, loop = run_virtual(body())
    assert isinstance(first[-1], RunEnded)
    assert isinstance(second[-1], RunEnded)
    assert first[-1].usage == {
        "input_tokens": 220,
        "output_tokens": 15,
        "cache_read_tokens": 50,
        "cache_write_tokens": 0,
    }
    assert (first[-1].cost_usd, second[-1].cost_usd) == (142.5, 1.0)
    assert second[-1].usage["input_tokens"] == 1
    assert loop.usage == Usage(221, 16, 50)
    assert loop.cost_usd == 143.5
    assert [message["role"] for message in loop.history] == ["user", "assistant"] * 3


# Stopping.


def stop_at(kind: type[Event], tool: ScriptedTool, *plans: list[Step]) -> tuple[list[Event], Loop]:
    """Interrupt when the first event of this kind is read."""

    async def stop(loop: Loop, event: Event) -> None:
        if isinstance(event, kind):
            await loop.interrupt()

    run = run_loop(*plans, tools=[tool], on_event=stop)
    return run.events, run.loop


@pytest.mark.parametrize("kind", [CallStarted, TextStreamed, AssistantReplied])
def test_an_interrupt_answers_every_call_and_leaves_a_history_that_goes_on(kind: type[Event]) -> None:
    tool = ScriptedTool()
    plan = answer(words("Working on it"), call("a", "Scripted", SLOW), call("b", "Scripted", SLOW), [50.0])
    events, loop = stop_at(kind, tool, plan)
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert last.outcome == "interrupted"
    assert tool.record.running == []
    assert message_problems(loop.history) == []
    assert loop.history[-1]["role"] == "user"
    answered = [block["tool_use_id"] for block in loop.history[-1]["content"] if block["type"] == "tool_result"]
    called = [block["id"] for block in loop.history[-2]["content"] if block["type"] == "tool_use"]
    assert answered == called


def test_an_interrupt_before_the_first_word_keeps_the_prompt() -> None:
    async def body() -> tuple[list[Event], Loop]:
        async with Executor([]) as executor:
            loop = Loop(executor, PlannedModel([1000.0]))
            reading = asyncio.ensure_future(read_run(loop))
            await asyncio.sleep(0)
            await loop.interrupt()
            return await reading, loop

    events, loop = run_virtual(body())
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert last.outcome == "interrupted"
    assert loop.history[0]["content"][0] == {"type": "text", "text": "go"}


def test_what_people_have_read_stays_in_the_history_when_they_interrupt() -> None:
    partial = [*answer(words("Half of the ans"))[:2], 50.0]
    events, loop = stop_at(TextStreamed, ScriptedTool(), partial)
    assert loop.history[1] == {"role": "assistant", "content": [{"type": "text", "text": "Half of the ans"}]}
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert last.text == "Half of the ans"


@pytest.mark.parametrize("way", ["close", "cancel", "cancel twice"])
def test_a_reader_that_leaves_stops_everything_and_waits_for_it(way: str) -> None:
    tool = ScriptedTool()
    calls = [call(name, "Scripted", {"seconds": 100, "resist_s": 1}) for name in "ab"]

    async def body() -> Loop:
        async with Executor([tool], permission_mode="bypassPermissions") as executor:
            loop = Loop(executor, PlannedModel(answer(*calls, [50.0])))
            if way == "close":
                events = loop.run("go")
                async for event in events:
                    if isinstance(event, CallStarted):
                        break
                await events.aclose()
            else:
                reading = asyncio.ensure_future(read_run(loop))
                await asyncio.sleep(5)
                reading.cancel()
                if way == "cancel twice":
                    await asyncio.sleep(0.5)
                    reading.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reading
            assert tool.record.running == []
            assert not loop.is_running
            return loop

    loop = run_virtual(body())
    assert tool.record.cancelled == ["a", "b"]
    assert message_problems(loop.history) == []
    assert [block["type"] for block in loop.history[-1]["content"]] == ["tool_result", "tool_result", "text"]


def test_after_an_interrupt_the_next_prompt_goes_on() -> None:
    model = PlannedModel(answer(call("a", "Scripted", SLOW)), answer(words("Fine.")))

    async def body() -> Loop:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            loop = Loop(executor, model)
            async for event in loop.run("go"):
                if isinstance(event, CallStarted):
                    await loop.interrupt()
            events = await read_run(loop, "something else")
            assert isinstance(events[-1], RunEnded)
            assert events[-1].outcome == "success"
            return loop

    loop = run_virtual(body())
    assert loop.history[-2]["content"][-1] == {"type": "text", "text": "something else"}


def test_a_bug_in_a_model_reaches_the_caller_and_the_history_stays_valid() -> None:
    tool = ScriptedTool()

    async def body() -> Loop:
        async with Executor([tool], permission_mode="bypassPermissions") as executor:
            loop = Loop(
                executor, PlannedModel([*answer(call("a", "Scripted", {"seconds": 9}))[:-1], 1.0, KeyError("bug")])
            )
            with pytest.raises(KeyError):
                await read_run(loop)
            return loop

    loop = run_virtual(body())
    assert message_problems(loop.history) == []
    assert "error in the program" in loop.history[-1]["content"][-1]["text"]
    assert tool.record.running == []
    assert not loop.is_running


# Messages while a run is under way.


def test_a_message_mid_run_is_delivered_once_between_turns_and_cuts_short_what_may_be() -> None:
    tool = ScriptedTool()

    async def say(loop: Loop, event: Event) -> None:
        if isinstance(event, CallStarted) and event.tool_use_id == "b":
            loop.submit("stop reading")
            loop.submit("a task ended", "task")
            loop.submit("and write less")

    run = run_loop(
        answer(
            call("a", "Scripted", {"seconds": 100, "on_message": "cancel"}),
            call("b", "Scripted", {"seconds": 5, "on_message": "block"}),
        ),
        answer(words("Understood.")),
        tools=[tool],
        on_event=say,
    )
    assert [reply.outcome for reply in run.of(CallFinished)] == ["cancelled", "completed"]
    assert [block.get("text") for block in run.sent(1)[2:]] == [
        "stop reading",
        "and write less",
        "<system-reminder>\na task ended\n</system-reminder>",
    ]
    assert [event.source for event in run.of(PromptSubmitted)] == ["user", "user", "user", "task"]
    assert len(run.model.requests) == 2


def test_a_message_at_the_end_of_a_run_is_still_answered() -> None:
    async def say(loop: Loop, event: Event) -> None:
        if isinstance(event, TextStreamed) and event.text == "one":
            loop.submit("and now?")

    run = run_loop([*answer(words("one"))[:-1], 1.0, answer()[-1]], answer(words("two")), on_event=say)
    assert run.ended.text == "two"
    assert run.sent(1) == [{"type": "text", "text": "and now?"}]


def test_notices_are_told_between_turns_and_at_the_end() -> None:
    waiting = [["the build is done"], ["the tests are done"]]
    run = run_loop(
        answer(words("one")),
        answer(words("two")),
        answer(words("three")),
        notices=lambda: waiting.pop(0) if waiting else [],
    )
    assert run.ended.text == "two"
    assert "the build is done" in run.sent(0)[-1]["text"]
    assert "the tests are done" in run.sent(1)[-1]["text"]


def test_what_is_said_between_runs_waits_for_the_next_one() -> None:
    run = run_loop(answer(words("ok")), prompt=None, setup=lambda loop: loop.submit("first", "cron"))
    assert run.sent(0) == [{"type": "text", "text": "first"}]
    assert run.of(PromptSubmitted) == [PromptSubmitted("first", "cron")]


@pytest.mark.parametrize("prompt", ["", "  \n", [], [{"type": "tool_result", "tool_use_id": "x"}], None])
def test_a_prompt_without_content_is_refused(prompt: Any) -> None:
    async def body() -> None:
        async with Executor([]) as executor:
            loop = Loop(executor, PlannedModel())
            with pytest.raises(UsageError):
                async for _ in loop.run(prompt):
                    pass
            assert not loop.is_running

    run_virtual(body())


def test_two_runs_at_once_are_refused() -> None:
    async def body() -> None:
        async with Executor([]) as executor:
            loop = Loop(executor, PlannedModel([100.0]))
            reading = asyncio.ensure_future(read_run(loop))
            await asyncio.sleep(1)
            with pytest.raises(UsageError):
                await read_run(loop)
            await loop.interrupt()
            await reading

    run_virtual(body())


def test_a_history_that_no_provider_takes_is_refused() -> None:
    orphan: list[Message] = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "X", "input": {}}]}
    ]
    with pytest.raises(UsageError):
        Loop(Executor([]), PlannedModel(), LoopParts(history=orphan))


def test_an_unfinished_conversation_goes_on_without_a_prompt() -> None:
    history = [{"role": "user", "content": "count to three"}]
    run = run_loop(answer(words("one two three")), prompt=None, history=history)
    assert run.ended.text == "one two three"
    assert run.of(SessionStarted)[0].source == "resume"


# Announcements.


def test_the_session_is_announced_once_and_its_end_too() -> None:
    told: list[Event] = []

    async def body() -> list[Event]:
        async with Executor([ScriptedTool()], permission_mode="plan") as executor:
            model = PlannedModel(answer(words("a")), answer(words("b")))
            loop = Loop(executor, model, LoopParts(on_event=told.append))
            events = [*await read_run(loop), *await read_run(loop)]
            await loop.close("over")
            await loop.close("again")
            return events

    events = run_virtual(body())
    started = [event for event in events if isinstance(event, SessionStarted)]
    assert [(event.model, event.permission_mode, event.tools) for event in started] == [
        ("planned:model", "plan", ("Scripted",))
    ]
    assert told[-1] == SessionEnded("local", "over")
    assert [event for event in told if isinstance(event, SessionEnded)] == told[-1:]


def test_events_from_elsewhere_reach_the_reader() -> None:
    changed = TaskChanged("b12345678", "local_bash", "completed", "build")
    run = run_loop([lambda: None, *answer(words("ok"))], setup=lambda loop: None)
    assert changed not in run.events
    holder: list[Loop] = []
    run = run_loop([lambda: holder[0].hear(changed), *answer(words("ok"))], setup=holder.append)
    assert changed in run.events


def test_the_model_can_be_changed_between_requests() -> None:
    other = PlannedModel(answer(words("from the other")), name="planned:other")

    async def change(loop: Loop, event: Event) -> None:
        if isinstance(event, CallProgressed):
            loop.model = other

    run = run_loop(answer(call("a", "Scripted", {"progress": ["x"], "seconds": 1})), on_event=change)
    assert run.ended.text == "from the other"
    assert run.loop.model is other


def test_choices_can_be_changed_between_requests() -> None:
    async def change(loop: Loop, event: Event) -> None:
        if isinstance(event, CallStarted):
            loop.choices = LoopChoices(max_output_tokens=7)

    run = run_loop(answer(call("a", "Scripted", {"seconds": 1})), answer(words("ok")), on_event=change)
    assert [request.max_output_tokens for request in run.model.requests] == [None, 7]

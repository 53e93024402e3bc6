"""The agent loop: whole runs with a planned model and real calls, in virtual time."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from holdfast import Executor, Tool
from holdfast.agent import Loop, LoopChoices
from holdfast.events import (
    AssistantReplied,
    CallFinished,
    CallStarted,
    Event,
    ResultsSent,
    RunEnded,
    TextStreamed,
)
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedTool, run_virtual
from holdfast.testing.planned import Plan, PlannedModel, answer, call, words


async def run(loop: Loop, prompt: str | None = "go") -> list[Event]:
    """All events of a run; the history is valid after each."""
    events: list[Event] = []
    async for event in loop.run(prompt):
        events.append(event)
        assert message_problems(loop.history) == []
    return events


def play(
    *plans: Plan,
    tools: Sequence[Tool] | None = None,
    prompt: str = "go",
    choices: LoopChoices = LoopChoices(),  # noqa: B008 - immutable
    setup: Callable[[Loop], None] | None = None,
    **model_options: Any,
) -> tuple[list[Event], Loop, PlannedModel]:
    model = PlannedModel(*plans, **model_options)

    async def body() -> tuple[list[Event], Loop]:
        async with Executor(
            [ScriptedTool()] if tools is None else tools, permission_mode="bypassPermissions"
        ) as executor:
            loop = Loop(executor, model, choices=choices)
            if setup is not None:
                setup(loop)
            return await run(loop, prompt), loop

    events, loop = run_virtual(body())
    return events, loop, model


def ended(events: list[Event]) -> RunEnded:
    last = events[-1]
    assert isinstance(last, RunEnded)
    return last


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_a_plain_answer_streams_and_ends() -> None:
    events, loop, _ = play(answer(words("Hello there", pieces=3)))
    assert [event.text for event in of(TextStreamed, events)] == ["Hell", "o th", "ere"]
    assert [type(event).__name__ for event in events[:3]] == ["SessionStarted", "PromptSubmitted", "ModelRequested"]
    end = ended(events)
    assert (end.outcome, end.text, end.turns) == ("success", "Hello there", 1)
    assert loop.history == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello there"}]},
    ]


def test_results_go_back_in_the_order_of_the_calls() -> None:
    slow = call("a", "Scripted", {"seconds": 2, "text": "first"})
    fast = call("b", "Scripted", {"text": "second"})
    events, loop, model = play(answer(words("Looking."), slow, fast), answer(words("Done.")))
    assert ended(events).outcome == "success"
    assert [reply.tool_use_id for reply in of(CallFinished, events)] == ["a", "b"]
    assert model.requests[1].messages[-1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "first"},
            {"type": "tool_result", "tool_use_id": "b", "content": "second"},
        ],
    }
    assert of(ResultsSent, events)[0].content == loop.history[2]["content"]
    assert len(of(AssistantReplied, events)) == 2


def test_a_call_starts_while_the_stream_still_runs() -> None:
    started: list[float] = []

    def note(loop: Loop) -> None:
        loop._state.executor.listen(
            lambda event: started.append(asyncio.get_running_loop().time()) if isinstance(event, CallStarted) else None
        )

    calls = [call(name, "Scripted", {"seconds": 1}) for name in "abc"]
    plan = answer(calls[0], [1.0], calls[1], [0.5], calls[2], [0.5])
    times: list[float] = []

    def last(request: Any) -> Any:
        times.append(asyncio.get_running_loop().time())
        return answer(words("ok"))

    events, _, _ = play(plan, last, setup=note)
    assert ended(events).outcome == "success"
    assert started == [0.0, 1.0, 1.5]
    assert times == [2.5]  # the last call began at 1.5 s; nothing waited for the end of the stream

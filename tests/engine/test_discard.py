"""A stream that must be repeated: its calls are forgotten, or it is refused."""

import asyncio

import pytest

from holdfast import Executor, ToolContext, ToolResult
from holdfast.contract import (
    CwdChanged,
)
from holdfast.events import (
    CallDiscarded,
    ContextChanged,
    Event,
)
from holdfast.testing import Gate, Script, ScriptedAsker, play, run_virtual

from .conftest import (
    Changing,
    NoArgs,
    SafePlain,
    block,
    drain,
)

# Discarding.


def test_discard_forgets_read_only_calls_and_their_replies():
    script = (
        Script()
        .call("done", progress=["p"])
        .call("running", seconds=9, progress=["p"])
        .call("queued", safe=False, read_only=False)
        .call_with("broken", "Scripted", "{")
    )
    timeline = play(script.wait(1).discard().call("done", text="again").call("new"))
    assert timeline.discards == [True]
    assert timeline.discarded == ["done", "running", "queued", "broken"]
    assert timeline.record.running == []
    assert [(reply.tool_use_id, reply.content) for reply in timeline.replies[-2:]] == [
        ("done", "again"),
        ("new", "done"),
    ]
    assert "running" not in timeline.order
    assert "queued" not in timeline.order


def test_discard_refuses_once_a_call_that_may_change_something_has_started():
    script = Script().call("read", seconds=2).call("write", seconds=1, read_only=False).wait(0.5).discard()
    timeline = play(script)
    assert timeline.discards == [False]
    assert timeline.outcomes == {"read": "completed", "write": "completed"}
    finished = play(Script().call("write", read_only=False).wait(5).discard())
    assert finished.discards == [False]


def test_discard_withdraws_a_question_about_a_call_that_has_not_acted():
    gate = Gate()
    asker = ScriptedAsker(["allow"], gate=gate)
    script = Script().call("write", read_only=False).wait(1).discard().call("read")
    timeline = play(script, permission_mode="default", asker=asker)
    assert timeline.discards == [True]
    assert timeline.order == ["read"]
    assert [question.tool_use_id for question in asker.withdrawn] == ["write"]


def test_discard_concerns_only_the_turn_whose_stream_is_repeated():
    script = (
        Script()
        .call("old", seconds=5, read_only=False, progress=["p"])
        .call("old queued", safe=False)
        .end_turn()
        .call("new")
        .wait(1)
        .discard()
        .call("new")
    )
    timeline = play(script)
    assert timeline.discards == [True]
    assert timeline.discarded == ["new"]
    assert timeline.outcomes == {"old": "completed", "old queued": "completed", "new": "completed"}


def test_a_discarded_call_says_nothing_more_and_changes_nothing():
    class Late(SafePlain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            try:
                await asyncio.sleep(9)
            except asyncio.CancelledError:
                ctx.progress("going down")
            return ToolResult("x", modifiers=(CwdChanged("/changed"),))

    timeline = play(Script().call_with("a", "Plain", {}).wait(1).discard(), tools=[Late()])
    assert timeline.read == []
    assert not [event for _, event in timeline.events if isinstance(event, ContextChanged)]


def test_changes_of_a_batch_that_is_discarded_are_not_made():
    async def main() -> tuple[str, int]:
        events: list[Event] = []
        async with Executor([Changing()], cwd="/start", on_event=events.append) as executor:
            executor.add(block("a", "Changing", safe=True, changes=[CwdChanged("/a")]))
            executor.add(block("b", "Changing", safe=True, seconds=9, changes=()))
            await asyncio.sleep(1)
            assert await executor.discard()
            executor.add(block("c", "Changing", safe=True, changes=()))
            await drain(executor)
            return executor.state.cwd, len([event for event in events if isinstance(event, CallDiscarded)])

    assert run_virtual(main()) == ("/start", 2)


def test_discard_after_a_message_still_forgets_the_call():
    script = Script().call("a", seconds=9, on_message="cancel", resist_s=2).wait(1).user_message().wait(1).discard()
    timeline = play(script)
    assert timeline.order == []
    assert timeline.discarded == ["a"]


def test_a_read_only_call_that_ignores_cancellation_is_given_up_by_discard():
    timeline = play(Script().call("a", seconds=9, resist_s=100).wait(1).discard().call("b"), cancel_grace_s=2)
    assert timeline.order == ["b"]
    assert timeline.answered["b"] == pytest.approx(3.0)

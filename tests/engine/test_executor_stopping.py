"""What stops calls: the user, a refusal, the end of the run. Everything is answered."""

import asyncio
import contextlib
from typing import Any

import pytest

from holdfast import Executor, ToolContext, ToolResult
from holdfast.contract import (
    Answer,
    Question,
    UsageError,
)
from holdfast.contract.tool import InterruptBehavior
from holdfast.events import (
    CallFinished,
    Event,
)
from holdfast.testing import Script, ScriptedAsker, ScriptedTool, play, run_virtual

from .conftest import (
    NoArgs,
    SafePlain,
    block,
    drain,
    everything_answered_once,
)

# Stopping.


def test_interrupt_cancels_and_answers_everything_and_waits_for_it():
    script = (
        Script()
        .call("running", seconds=9, resist_s=2)
        .call("beside", seconds=9)
        .call("queued", safe=False)
        .end_turn()
        .call("next turn")
        .wait(1)
        .interrupt()
        .call("after")
    )
    timeline = play(script)
    assert everything_answered_once(timeline, "running", "beside", "queued", "next turn", "after")
    assert set(timeline.outcomes.values()) == {"cancelled", "completed"}
    assert timeline.outcomes["after"] == "completed"
    assert timeline.started["after"] == pytest.approx(3.0)
    assert timeline.record.cancelled == ["running", "beside"]


def test_a_call_that_finishes_in_spite_of_the_interrupt_keeps_its_result():
    class Stubborn(SafePlain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            try:
                await asyncio.sleep(9)
            except asyncio.CancelledError:
                assert ctx.cancelled
                return ToolResult("rescued")
            return ToolResult("never")

    timeline = play(Script().call_with("a", "Plain", {}).wait(1).interrupt(), tools=[Stubborn()])
    assert timeline.reply("a").content == "rescued"


def test_a_call_is_cancelled_before_its_task_took_its_first_step():
    timeline = play(Script().call("a", seconds=9).call("b", safe=False).interrupt())
    assert timeline.outcomes == {"a": "cancelled", "b": "cancelled"}
    assert timeline.record.started == []


def test_a_task_killed_from_outside_before_its_first_step_is_answered_when_the_executor_closes():
    async def main() -> list[str]:
        executor = Executor([ScriptedTool()], permission_mode="bypassPermissions")
        async with executor:
            executor.add(block("a", "Scripted", seconds=9))
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(1)
        return [event.outcome for event in executor.ready() if isinstance(event, CallFinished)]

    assert run_virtual(main()) == ["cancelled"]


def test_tasks_killed_from_outside_start_nothing_more():
    async def main() -> list[tuple[str, str]]:
        executor = Executor([ScriptedTool()], permission_mode="bypassPermissions")
        async with executor:
            executor.add(block("a", "Scripted", seconds=9))
            executor.add(block("b", "Scripted", safe=False))
            await asyncio.sleep(1)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            return [(reply.tool_use_id, reply.outcome) for reply in await drain(executor)]

    assert run_virtual(main()) == [("a", "cancelled"), ("b", "cancelled")]


def test_a_tool_that_swallows_the_first_cancellation_is_told_again_after_half_the_grace():
    class Deaf(SafePlain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                await asyncio.sleep(100)
            return ToolResult("never")

    timeline = play(Script().call_with("a", "Plain", {}).wait(1).interrupt(), tools=[Deaf()], cancel_grace_s=10)
    assert timeline.outcomes == {"a": "cancelled"}
    assert timeline.answered["a"] == pytest.approx(6.0)


def test_a_tool_that_ignores_cancellation_is_answered_and_given_up_after_the_grace(caplog: pytest.LogCaptureFixture):
    script = Script().call("a", seconds=1, resist_s=1_000).call("b", safe=False).wait(0.5).interrupt().call("c")
    timeline = play(script, cancel_grace_s=10)
    assert timeline.order == ["a", "b", "c"]
    assert timeline.answered["a"] == pytest.approx(10.5)
    assert "may still be running" in str(timeline.reply("a").content)
    assert "ignores cancellation" in caplog.text
    assert timeline.outcomes["c"] == "completed"


def test_what_a_given_up_call_does_later_changes_nothing():
    async def main() -> tuple[list[str], int]:
        events: list[Event] = []
        executor = Executor(
            [ScriptedTool()], permission_mode="bypassPermissions", cancel_grace_s=1, on_event=events.append
        )
        executor.add(block("a", "Scripted", seconds=1, resist_s=20))
        await asyncio.sleep(0.5)
        await executor.close()
        await asyncio.sleep(100)
        replies = [event.outcome for event in events if isinstance(event, CallFinished)]
        return replies, len(list(executor.ready()))

    assert run_virtual(main()) == (["cancelled"], 1)


def test_a_user_message_stops_calls_that_may_be_cut_short_and_lets_others_finish():
    script = (
        Script()
        .call("cut", seconds=9, on_message="cancel")
        .call("goes on", seconds=9)
        .call("queued cut", seconds=1, safe=False, on_message="cancel")
        .call("queued", seconds=1)
        .wait(1)
        .user_message()
    )
    timeline = play(script)
    assert timeline.outcomes == {
        "cut": "cancelled",
        "goes on": "completed",
        "queued cut": "cancelled",
        "queued": "completed",
    }
    assert "message" in str(timeline.reply("cut").content)
    assert timeline.started["queued"] == pytest.approx(1.0)


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit()])
def test_a_tool_that_cannot_say_what_a_message_does_to_it_finishes(error: BaseException):
    class Unsure(SafePlain):
        def on_user_message(self, args: NoArgs) -> InterruptBehavior:
            raise error

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            await asyncio.sleep(2)
            return ToolResult("done")

    timeline = play(Script().call_with("a", "Plain", {}).wait(1).user_message(), tools=[Unsure()])
    assert timeline.outcomes == {"a": "completed"}


def test_a_stopped_call_never_starts_to_act_even_if_its_question_is_answered_yes():
    class Eager:
        """Answers yes although it was withdrawn."""

        async def ask(self, question: Question) -> Answer:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
            return Answer("allow")

    timeline = play(Script().call("a", read_only=False).wait(1).interrupt(), permission_mode="default", asker=Eager())
    assert timeline.outcomes == {"a": "cancelled"}
    assert timeline.record.started == []


def test_interrupt_from_inside_a_tool_spares_that_tool():
    held: list[Executor] = []

    class Stopper(SafePlain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            await held[0].interrupt()
            return ToolResult("stopped the others")

    async def main() -> list[str]:
        async with Executor([Stopper(), ScriptedTool()]) as executor:
            held.append(executor)
            executor.add(block("slow", "Scripted", seconds=100))
            executor.add(block("stop"))
            return [reply.outcome for reply in await drain(executor)]

    assert run_virtual(main()) == ["cancelled", "completed"]


# Closing.


def test_leaving_the_block_cancels_what_runs_and_answers_it():
    tool = ScriptedTool()

    async def main() -> list[str]:
        async with Executor([tool], permission_mode="bypassPermissions") as executor:
            executor.add(block("a", "Scripted", seconds=9))
            executor.add(block("b", "Scripted", seconds=9, safe=False))
            await asyncio.sleep(1)
        await executor.close()
        with pytest.raises(UsageError):
            executor.add(block("c", "Scripted"))
        return [event.outcome for event in executor.ready() if isinstance(event, CallFinished)]

    assert run_virtual(main()) == ["cancelled", "cancelled"]
    assert tool.record.running == []


def test_cancelling_the_task_around_it_leaves_nothing_running():
    tool = ScriptedTool()

    async def agent() -> None:
        async with Executor([tool], permission_mode="bypassPermissions") as executor:
            executor.add(block("a", "Scripted", seconds=9, resist_s=1))
            await drain(executor)

    async def main() -> None:
        task = asyncio.create_task(agent())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert tool.record.running == []
        assert tool.record.cancelled == ["a"]

    run_virtual(main())


def test_a_second_cancellation_while_closing_still_gives_back_what_is_held(tmp_path: Any):
    tool = ScriptedTool()
    held: list[Executor] = []

    async def agent() -> None:
        async with Executor([tool], permission_mode="bypassPermissions") as executor:
            held.append(executor)
            executor.add(block("big", "Scripted", text="x" * 20_000))
            executor.add(block("a", "Scripted", seconds=9, resist_s=5))
            await drain(executor)

    async def main() -> list[str]:
        task = asyncio.create_task(agent())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(10)
        assert tool.record.running == []
        return [event.outcome for event in held[0].ready() if isinstance(event, CallFinished)]

    assert run_virtual(main()) == ["cancelled"]


def test_calls_after_a_refusal_or_fatal_error_in_the_same_turn_do_not_run():
    fatal = play(Script().call("a", end="fatal").wait(1).call("b").end_turn().call("c"))
    assert fatal.outcomes == {"a": "failed", "b": "cancelled", "c": "completed"}
    refused = play(
        Script().call("a", read_only=False).wait(1).call("b").end_turn().call("c"),
        permission_mode="default",
        asker=ScriptedAsker(["deny"]),
    )
    assert refused.outcomes == {"a": "denied", "b": "cancelled", "c": "completed"}


def test_a_refusal_is_stricter_than_a_failed_command_in_the_same_turn():
    class SlowToRefuse:
        async def ask(self, question: Question) -> Answer:
            if question.tool_use_id == "fails":
                return Answer("allow")
            await asyncio.sleep(2)
            return Answer("deny")

    script = (
        Script()
        .call("fails", "Shell", read_only=False, end="error")
        .call("refused", "Shell", read_only=False)
        .wait(1)
        .call("read after the failure", "Shell")
        .wait(2)
        .call("read after the refusal", "Shell")
    )
    shell = ScriptedTool("Shell", shell_like=True)
    timeline = play(script, tools=[shell], permission_mode="default", asker=SlowToRefuse())
    assert timeline.outcomes == {
        "fails": "completed",
        "refused": "denied",
        "read after the failure": "completed",
        "read after the refusal": "cancelled",
    }


def test_the_first_reason_to_stop_is_the_one_that_is_told():
    script = Script().call("a", seconds=9, on_message="cancel", resist_s=2).wait(1).user_message().wait(1).interrupt()
    assert "message" in str(play(script).reply("a").content)


def test_a_command_that_fails_after_its_turn_ended_holds_back_nothing_of_the_next():
    shell = ScriptedTool("Shell", shell_like=True)
    script = (
        Script()
        .call("shell", "Shell", seconds=2, end="error", read_only=False, safe=False)
        .call("same turn", "Shell", read_only=False)
        .end_turn()
        .call("next turn", "Shell", read_only=False)
        .wait(5)
        .call("later", "Shell", read_only=False)
    )
    outcomes = play(script, tools=[shell]).outcomes
    assert outcomes == {"shell": "completed", "same turn": "cancelled", "next turn": "completed", "later": "completed"}

"""The streaming executor: when calls start, in which order replies come, and what stops them."""

import asyncio
import contextlib
import threading
from types import MappingProxyType
from typing import Any

import pytest

from holdfast import Executor, Tool, ToolContext, ToolResult, tool
from holdfast.contract import (
    Answer,
    Args,
    CwdChanged,
    FileRead,
    FileStamp,
    PromptFacts,
    PromptQueued,
    Question,
    ToolUse,
    UsageError,
)
from holdfast.contract.tool import InterruptBehavior
from holdfast.engine import DEFAULT_MAX_CONCURRENCY, SiblingErrors
from holdfast.events import (
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallStarted,
    ContextChanged,
    Event,
    TurnEnded,
)
from holdfast.hooks import Hook, HookCall
from holdfast.registry import assemble
from holdfast.testing import Gate, Script, ScriptedAsker, ScriptedTool, Timeline, play, run_virtual


class NoArgs(Args):
    pass


class Plain(Tool[NoArgs]):
    name = "Plain"
    args_type = NoArgs
    max_result_chars = 1_000
    read_only = True
    concurrency_safe = True

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Do as told."


def block(id_: str, name: str = "Plain", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


async def drain(executor: Executor) -> list[CallFinished]:
    return [event async for event in executor.results() if isinstance(event, CallFinished)]


def everything_answered_once(timeline: Timeline, *ids: str) -> bool:
    return timeline.order == list(ids) and timeline.record.running == []


# The promise of the front page.


def test_the_snippet_on_the_front_page_runs():
    @tool(read_only=True, concurrency_safe=True)
    async def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    async def main() -> list[Any]:
        async with Executor(tools=[add], permission_mode="bypassPermissions") as ex:
            for i in range(3):
                ex.add({"type": "tool_use", "id": f"t{i}", "name": "add", "input": {"a": i}})
            return [(event.tool_use_id, event.data) async for event in ex.results()]

    assert asyncio.run(main()) == [("t0", 1), ("t1", 2), ("t2", 3)]


# Starting.


def test_a_call_starts_while_the_stream_goes_on():
    timeline = play(Script().call("a", seconds=1).wait(5).call("b"))
    assert timeline.started == pytest.approx({"a": 0.0, "b": 5.0})
    assert timeline.answered["a"] == pytest.approx(1.0)


def test_safe_calls_run_together():
    script = Script()
    for number in range(10):
        script = script.call(str(number), seconds=1)
    timeline = play(script)
    assert timeline.max_overlap == 10
    assert timeline.answered["9"] == pytest.approx(1.0)


def test_safe_safe_unsafe_safe_takes_three_steps():
    script = Script().call("a", seconds=1).call("b", seconds=1).call("c", seconds=1, safe=False).call("d", seconds=1)
    timeline = play(script)
    assert timeline.started == pytest.approx({"a": 0, "b": 0, "c": 1, "d": 2})
    assert timeline.record.violations == []
    assert timeline.order == ["a", "b", "c", "d"]


def test_a_safe_call_never_overtakes_a_waiting_unsafe_one():
    script = Script().call("long", seconds=9).call("unsafe", safe=False).wait(1).call("quick")
    timeline = play(script)
    assert timeline.started == pytest.approx({"long": 0, "unsafe": 9, "quick": 9})
    assert timeline.record.started == ["long", "unsafe", "quick"]


def test_at_most_ten_run_at_once_unless_told():
    script = Script()
    for number in range(25):
        script = script.call(str(number), seconds=1)
    assert play(script).max_overlap == DEFAULT_MAX_CONCURRENCY == 10
    assert play(script, max_concurrency=3).max_overlap == 3
    with pytest.raises(UsageError):
        Executor(max_concurrency=0)


def test_a_turn_starts_when_every_call_of_the_one_before_has_ended():
    script = Script().call("a", seconds=2).end_turn().call("b", seconds=1).call("a2").end_turn().call("c")
    timeline = play(script)
    assert timeline.started == pytest.approx({"a": 0, "b": 2, "a2": 2, "c": 3})
    assert [event.turn for _, event in timeline.events if isinstance(event, TurnEnded)] == [0, 1]


def test_an_id_may_be_used_again_in_the_next_turn():
    assert play(Script().call("a").end_turn().call("a")).order == ["a", "a"]


def test_a_call_that_waits_for_a_person_counts_as_running():
    gate = Gate()
    asker = ScriptedAsker(["allow"], gate=gate)

    async def main() -> list[str]:
        executor = Executor([ScriptedTool()], asker=asker)
        async with executor:
            executor.add(block("asked", "Scripted", read_only=False, safe=False))
            executor.add(block("behind", "Scripted"))
            await gate.reached()
            assert list(executor.ready()) == []
            gate.open()
            return [reply.tool_use_id for reply in await drain(executor)]

    assert run_virtual(main()) == ["asked", "behind"]


def test_blocks_come_as_records_too_and_a_bad_block_is_the_callers_mistake():
    async def main() -> list[str]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            executor.add(ToolUse("a", "Scripted", '{"text": "x"}'))
            for bad in ({"name": "Scripted"}, {"id": "", "name": "Scripted"}, {"id": "x", "name": 5}, {"id": 1}):
                with pytest.raises(UsageError):
                    executor.add(bad)
            return [str(reply.content) for reply in await drain(executor)]

    assert run_virtual(main()) == ["x"]


def test_a_ready_made_pool_is_used_as_it_is():
    pool = assemble([ScriptedTool()])
    assert Executor(pool).pool is pool


# Events out.


def test_replies_come_in_the_order_of_the_calls():
    timeline = play(Script().call("slow", seconds=3).call("quick", seconds=1))
    assert timeline.order == ["slow", "quick"]
    assert timeline.answered == pytest.approx({"slow": 3, "quick": 3})


def test_progress_comes_at_once_also_from_calls_whose_turn_to_reply_is_later():
    timeline = play(Script().call("slow", seconds=3).wait(1).call("second", progress=["working"], seconds=1))
    at_s, event = next((at_s, event) for at_s, event in timeline.read if isinstance(event, CallProgressed))
    assert at_s == pytest.approx(1.0)
    assert (event.tool_use_id, event.name, event.data) == ("second", "Scripted", "working")


def test_ready_gives_what_is_there_without_waiting():
    async def main() -> tuple[list[str], list[str]]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            executor.add(block("a", "Scripted", progress=["p"], seconds=1))
            await asyncio.sleep(0.5)
            early = [type(event).__name__ for event in executor.ready()]
            await asyncio.sleep(1)
            return early, [type(event).__name__ for event in executor.ready()]

    assert run_virtual(main()) == (["CallProgressed"], ["CallFinished"])


def test_results_of_an_idle_executor_end_at_once():
    async def main() -> list[CallFinished]:
        async with Executor() as executor:
            return await drain(executor)

    assert run_virtual(main()) == []


def test_results_end_when_all_calls_so_far_are_answered_and_can_be_read_again():
    async def main() -> list[list[str]]:
        seen: list[list[str]] = []
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            for id_ in ("a", "b"):
                executor.add(block(id_, "Scripted"))
                seen.append([reply.tool_use_id for reply in await drain(executor)])
        return seen

    assert run_virtual(main()) == [["a"], ["b"]]


def test_a_second_reader_is_told_so_instead_of_taking_half_of_the_events():
    async def main() -> list[str]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            executor.add(block("a", "Scripted", seconds=1))
            reader = asyncio.create_task(drain(executor))
            await asyncio.sleep(0.1)
            with pytest.raises(UsageError):
                await drain(executor)
            return [reply.tool_use_id for reply in await reader]

    assert run_virtual(main()) == ["a"]


def test_a_cancelled_reader_loses_nothing():
    async def main() -> list[str]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            executor.add(block("a", "Scripted", seconds=5))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await drain(executor)
            return [reply.tool_use_id for reply in await drain(executor)]

    assert run_virtual(main()) == ["a"]


def test_a_listener_that_fails_on_replies_does_not_keep_them_from_the_reader(caplog: pytest.LogCaptureFixture):
    def broken(event: Event) -> None:
        assert not isinstance(event, CallFinished), "a bug in the listener"

    assert play(Script().call("a").call("b"), on_event=broken).order == ["a", "b"]
    assert "listener" in caplog.text


def test_a_flood_of_progress_that_nobody_reads_is_bounded_and_replies_are_kept():
    @tool(read_only=True, concurrency_safe=True)
    async def chatty(ctx: ToolContext) -> str:
        """Talk a lot."""
        for number in range(5_000):
            ctx.progress(number)
        return "done"

    async def main() -> list[Any]:
        async with Executor([chatty, ScriptedTool()]) as executor:
            executor.add(block("early", "Scripted"))
            await asyncio.sleep(1)
            executor.add(block("a", "chatty"))
            await asyncio.sleep(1)
            return list(executor.ready())

    events = run_virtual(main())
    assert isinstance(events[0], CallFinished)
    assert [event.data for event in events[1:-1]] == list(range(4_000, 5_000))
    assert isinstance(events[-1], CallFinished)


def test_progress_tells_the_elapsed_time_and_the_name_the_tool_has_today():
    class Renamed(Plain):
        aliases = ("Old",)

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            await asyncio.sleep(2)
            ctx.progress("half way")
            return ToolResult("done")

    async def main() -> list[Any]:
        async with Executor([Renamed()]) as executor:
            executor.add(block("a", "Old"))
            return [event async for event in executor.results()]

    progress, reply = run_virtual(main())
    assert (progress.name, progress.data, progress.elapsed_s) == ("Plain", "half way", pytest.approx(2.0))
    assert reply.name == "Plain"


def test_progress_before_acting_and_after_the_end_does_no_harm():
    kept: list[ToolContext] = []

    class Early(Plain):
        async def validate(self, args: NoArgs, ctx: ToolContext) -> None:
            kept.append(ctx)
            ctx.progress("looking")

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            return ToolResult("done")

    async def main() -> list[Any]:
        async with Executor([Early()]) as executor:
            executor.add(block("a"))
            seen = [event async for event in executor.results()]
            kept[0].progress("too late")
            return [*seen, *executor.ready()]

    progress, reply = run_virtual(main())
    assert (progress.data, progress.elapsed_s) == ("looking", 0.0)
    assert reply.content == "done"


def test_plain_functions_run_in_threads_and_report_progress_from_there():
    threads: list[str] = []

    @tool(read_only=True, concurrency_safe=True)
    def work(ctx: ToolContext) -> str:
        """Work in a thread."""
        threads.append(threading.current_thread().name)
        ctx.progress("from the thread")
        return "done"

    @tool(read_only=True, concurrency_safe=True)
    def own_loop(ctx: ToolContext) -> str:
        """Run an event loop of its own in the thread."""

        async def inner() -> None:
            ctx.progress("from another loop")

        asyncio.run(inner())
        return "done"

    async def main() -> list[Any]:
        async with Executor([work, own_loop]) as executor:
            executor.add(block("a", "work"))
            executor.end_turn()
            executor.add(block("b", "own_loop"))
            return [event async for event in executor.results()]

    events = asyncio.run(main())
    assert [event.data for event in events] == ["from the thread", "done", "from another loop", "done"]
    assert threads != [threading.main_thread().name]


# Context modifiers.

STAMP = FileStamp(1, 2, 3, 4, "5", whole=True)


class Changing(Tool[Any]):
    """Asks for the changes it is told, after a while."""

    name = "Changing"
    max_result_chars = 1_000
    read_only = True
    json_schema = MappingProxyType({"type": "object"})

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Change."

    def is_concurrency_safe(self, args: Any) -> bool:
        return args["safe"]

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult[str]:
        await asyncio.sleep(args.get("seconds", 0))
        return ToolResult(ctx.cwd, modifiers=args["changes"])


def run_changes(*calls: dict[str, Any]) -> tuple[Executor, list[Any], list[ContextChanged]]:
    events: list[Event] = []

    async def main() -> tuple[Executor, list[Any]]:
        async with Executor([Changing()], cwd="/start", on_event=events.append) as executor:
            for number, arguments in enumerate(calls):
                executor.add(block(str(number), "Changing", **arguments))
            return executor, [reply.data for reply in await drain(executor)]

    executor, seen = run_virtual(main())
    return executor, seen, [event for event in events if isinstance(event, ContextChanged)]


def test_an_exclusive_call_changes_the_context_before_the_next_one_starts():
    executor, seen, changed = run_changes(
        {"safe": False, "changes": [CwdChanged("/one")]},
        {"safe": False, "changes": [FileRead("/f", STAMP), PromptQueued("later")]},
    )
    assert seen == ["/start", "/one"]
    assert executor.state.cwd == "/one"
    assert dict(executor.state.file_reads) == {"/f": STAMP}
    assert list(executor.state.prompts) == ["later"]
    assert [(event.tool_use_id, event.change) for event in changed] == [
        ("0", "CwdChanged"),
        ("1", "FileRead"),
        ("1", "PromptQueued"),
    ]


def test_a_batch_changes_the_context_together_when_it_ends_in_the_order_of_the_calls():
    executor, seen, changed = run_changes(
        {"safe": True, "seconds": 3, "changes": [CwdChanged("/first")]},
        {"safe": True, "seconds": 1, "changes": [CwdChanged("/second")]},
        {"safe": True, "seconds": 2, "changes": ()},
        {"safe": False, "changes": ()},
    )
    assert seen == ["/start", "/start", "/start", "/second"]
    assert executor.state.cwd == "/second"
    assert [event.tool_use_id for event in changed] == ["0", "1"]


@pytest.mark.parametrize("rubbish", [["not a modifier"], CwdChanged("/a"), 5])
def test_rubbish_instead_of_modifiers_is_logged_and_the_reply_is_sent(rubbish: Any, caplog: pytest.LogCaptureFixture):
    executor, seen, _ = run_changes({"safe": False, "changes": rubbish}, {"safe": False, "changes": ()})
    assert seen == ["/start", "/start"]
    assert executor.state.cwd == "/start"
    assert "could not be made" in caplog.text


# Siblings.


def siblings(setting: SiblingErrors) -> Timeline:
    """A failed command before a read, a write and a safe read that was already running."""
    shell = ScriptedTool("Shell", shell_like=True)
    other = ScriptedTool("Other", record=shell.record, gates=shell.gates)
    script = (
        Script()
        .call("shell", "Shell", seconds=1, end="error", read_only=False)
        .call("beside", "Other", seconds=5)
        .call("read", "Other")
        .call("write", "Other", read_only=False, safe=False)
        .wait(2)
        .call("late read", "Other")
        .call("late write", "Other", read_only=False)
        .end_turn()
        .call("next turn", "Other", read_only=False)
    )
    return play(script, tools=[shell, other], sibling_errors=setting, max_concurrency=2)


def test_a_failed_command_cancels_the_state_changing_calls_behind_it_in_its_turn():
    timeline = siblings("cancel-dependents")
    assert timeline.outcomes == {
        "shell": "completed",
        "beside": "completed",
        "read": "completed",
        "write": "cancelled",
        "late read": "completed",
        "late write": "cancelled",
        "next turn": "completed",
    }
    assert "Shell (call shell)" in str(timeline.reply("write").content)
    assert "Shell (call shell)" in str(timeline.reply("late write").content)


def test_cancel_all_also_stops_reads_and_what_runs_beside():
    assert siblings("cancel-all").outcomes == {
        "shell": "completed",
        "beside": "cancelled",
        "read": "cancelled",
        "write": "cancelled",
        "late read": "cancelled",
        "late write": "cancelled",
        "next turn": "completed",
    }


def test_independent_calls_are_left_alone():
    assert set(siblings("independent").outcomes.values()) == {"completed"}


@pytest.mark.parametrize(
    ("tool_name", "arguments"),
    [
        ("Other", {"end": "error", "read_only": False}),  # not a shell
        ("Shell", {"end": "error", "read_only": True}),  # a read-only command
        ("Shell", {"end": "ok", "read_only": False}),
        ("Shell", {"end": "fail", "read_only": False}),  # it could not run
        ("Shell", {"end": "crash", "read_only": False}),
        ("Shell", {"seconds": "soon"}),  # invalid
        ("Nope", {}),
    ],
)
def test_other_endings_cancel_nothing(tool_name: str, arguments: dict[str, Any]):
    tools = [ScriptedTool("Shell", shell_like=True), ScriptedTool("Other")]
    script = Script().call("first", tool_name, **arguments).call("write", "Other", read_only=False, safe=False)
    assert play(script, tools=tools).outcomes["write"] == "completed"


def test_a_denied_or_backgrounded_command_cancels_nothing():
    class Background(Plain):
        name = "Background"
        read_only = False
        failure_cancels_dependents = True

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            return ToolResult("started", is_error=True, backgrounded=True)

    shell = ScriptedTool("Shell", shell_like=True)
    script = Script().call_with("background", "Background", {}).call("write", "Shell", read_only=False, safe=False)
    assert play(script, tools=[shell, Background()]).outcomes["write"] == "completed"
    denied = Script().call("denied", "Shell", read_only=False).call("read", "Shell")
    assert play(denied, tools=[shell], permission_mode="default").outcomes == {"denied": "denied", "read": "completed"}


def test_an_interrupted_command_is_answered_once_and_names_no_culprit():
    shell = ScriptedTool("Shell", shell_like=True)
    script = Script().call("a", "Shell", seconds=9, read_only=False, safe=False).call("b", "Shell").wait(1).interrupt()
    timeline = play(script, tools=[shell])
    assert timeline.outcomes == {"a": "cancelled", "b": "cancelled"}
    assert "Shell" not in str(timeline.reply("b").content)


def test_a_call_that_cannot_tell_whether_it_changes_something_counts_as_changing():
    class Unsure(Plain):
        name = "Unsure"

        def is_read_only(self, args: NoArgs) -> bool:
            raise RuntimeError("bug")

    shell = ScriptedTool("Shell", shell_like=True)
    script = Script().call("shell", "Shell", end="error", read_only=False, safe=False).call_with("b", "Unsure", {})
    assert play(script, tools=[shell, Unsure()]).outcomes == {"shell": "completed", "b": "cancelled"}


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
    class Stubborn(Plain):
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
    class Deaf(Plain):
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
    class Unsure(Plain):
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

    class Stopper(Plain):
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
    class Late(Plain):
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


# Without asyncio.


def test_one_call_without_asyncio_keeps_its_session():
    executor = Executor([Changing()], cwd="/start")
    assert executor.call("Changing", {"safe": False, "changes": [CwdChanged("/next")]}).data == "/start"
    assert executor.call("Changing", {"safe": False, "changes": ()}).data == "/next"
    assert executor.call("Nope").outcome == "invalid"


def test_time_limits_hold_in_each_call_without_asyncio():
    class Sleeper(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            await asyncio.sleep(60)
            return ToolResult("never")

    executor = Executor([Sleeper()], timeout_s=0.01)
    assert [executor.call("Plain").outcome for _ in range(2)] == ["cancelled", "cancelled"]


def test_a_call_without_asyncio_is_refused_inside_a_coroutine():
    async def main() -> None:
        with pytest.raises(UsageError):
            Executor([ScriptedTool()]).call("Scripted")

    run_virtual(main())


def test_each_call_is_announced_with_what_it_is():
    timeline = play(Script().call("a", read_only=False))
    (started,) = [event for _, event in timeline.events if isinstance(event, CallStarted)]
    assert started == CallStarted("a", "Scripted", read_only=False)


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


def test_hooks_run_before_a_call_hold_its_place():
    async def slow(call: HookCall) -> None:
        await asyncio.sleep(2)

    timeline = play(Script().call("a", safe=False).call("b"), hooks=[Hook("PreToolUse", slow)])
    assert timeline.started == pytest.approx({"a": 2, "b": 4})

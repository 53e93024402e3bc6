"""The streaming executor: when calls start, and in which order replies come."""

import asyncio
import threading
from typing import Any

import pytest

from holdfast import Executor, Tool, ToolContext, ToolResult, tool
from holdfast.contract import (
    Args,
    CwdChanged,
    FileRead,
    FileStamp,
    PromptFacts,
    PromptQueued,
    ToolUse,
    UsageError,
)
from holdfast.engine import DEFAULT_MAX_CONCURRENCY
from holdfast.events import (
    CallFinished,
    CallProgressed,
    CallStarted,
    ContextChanged,
    Event,
    TurnEnded,
)
from holdfast.hooks import Hook, HookCall
from holdfast.registry import assemble
from holdfast.testing import Gate, Script, ScriptedAsker, ScriptedTool, play, run_virtual

from .conftest import Changing, block, drain


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


def test_hooks_run_before_a_call_hold_its_place():
    async def slow(call: HookCall) -> None:
        await asyncio.sleep(2)

    timeline = play(Script().call("a", safe=False).call("b"), hooks=[Hook("PreToolUse", slow)])
    assert timeline.started == pytest.approx({"a": 2, "b": 4})


def test_a_later_listener_hears_every_event_after_the_first() -> None:
    heard: list[tuple[str, str]] = []
    tool = ScriptedTool()

    async def run() -> None:
        first = Executor(
            [tool],
            permission_mode="bypassPermissions",
            on_event=lambda event: heard.append(("first", type(event).__name__)),
        )
        async with first as executor:
            executor.listen(lambda event: heard.append(("second", type(event).__name__)))
            executor.add({"type": "tool_use", "id": "a", "name": tool.name, "input": {"progress": ["half"]}})
            async for _ in executor.results():
                pass
            executor.end_turn()

    run_virtual(run())
    names = [name for who, name in heard if who == "first"]
    assert names == ["CallQueued", "PermissionDecided", "CallStarted", "CallProgressed", "CallFinished", "TurnEnded"]
    assert heard == [(who, name) for name in names for who in ("first", "second")]

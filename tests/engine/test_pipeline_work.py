"""What a tool does, returns or raises, and what comes after it, becomes exactly one reply."""

import asyncio
from typing import Any

import pytest

from holdfast import Executor, ToolContext, ToolResult, tool
from holdfast.contract import (
    Content,
    Effects,
    Fatal,
    Image,
    SessionFacts,
    Text,
    ToolFailed,
    UsageError,
)
from holdfast.events import CallFinished, CallStarted, Event
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.hooks.inputs import PostToolUse
from holdfast.testing import run_tool, run_tool_async, run_virtual

from .conftest import (
    NoArgs,
    Plain,
    answers,
    assert_error,
    raising,
    returning,
    takes,
    the_reply,
)

# The work.


def test_tool_failed_is_read_by_the_model():
    assert_error(the_reply(run_tool(raising(ToolFailed("try a smaller page")))), "failed", mentions="smaller page")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("secret detail"),
        SystemExit("secret detail"),
        BaseException("secret detail"),
        UsageError("secret detail"),
    ],
)
def test_a_crash_is_answered_without_its_details_and_logged_once(
    error: BaseException, caplog: pytest.LogCaptureFixture
):
    reply = the_reply(run_tool(raising(error)))
    assert_error(reply, "crashed", mentions="Internal error in Plain")
    assert "secret" not in str(reply.content)
    assert len([record for record in caplog.records if record.exc_info]) == 1


def test_calls_behind_a_crash_go_on():
    replies = answers([raising(BaseException()), takes], ("1", "Plain", {}), ("2", "takes", {"count": 1}))
    assert [reply.outcome for reply in replies] == ["crashed", "completed"]


def test_a_tool_that_raises_cancelled_error_itself_is_answered_and_others_go_on():
    replies = answers([raising(asyncio.CancelledError()), takes], ("1", "Plain", {}), ("2", "takes", {"count": 1}))
    assert [reply.outcome for reply in replies] == ["cancelled", "completed"]


def test_a_keyboard_interrupt_passes_through_and_the_call_is_answered():
    events: list[Event] = []

    async def main() -> None:
        executor = Executor(
            [raising(KeyboardInterrupt()), takes], permission_mode="bypassPermissions", on_event=events.append
        )
        executor.add({"id": "1", "name": "Plain", "input": {}})
        executor.add({"id": "2", "name": "takes", "input": {"count": 1}})
        async for _ in executor.results():
            pass

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main())
    replies = [event for event in events if isinstance(event, CallFinished)]
    assert [(reply.tool_use_id, reply.outcome) for reply in replies] == [("1", "cancelled"), ("2", "cancelled")]


def test_a_keyboard_interrupt_while_a_call_is_taken_in_passes_through_and_the_call_is_answered():
    class Interrupted(Plain):
        def is_enabled(self, session: SessionFacts) -> bool:
            raise KeyboardInterrupt

    async def main() -> list[str]:
        async with Executor([Interrupted()]) as executor:
            with pytest.raises(KeyboardInterrupt):
                executor.add({"id": "1", "name": "Plain", "input": {}})
            return [event.outcome async for event in executor.results() if isinstance(event, CallFinished)]

    assert run_virtual(main()) == ["cancelled"]


def test_fatal_answers_every_call_and_then_stops_the_reader():
    async def main() -> tuple[list[tuple[str, str]], str]:
        executor = Executor([raising(Fatal("disk gone")), takes], permission_mode="bypassPermissions")
        seen: list[tuple[str, str]] = []
        async with executor:
            for id_, name in (("1", "Plain"), ("2", "takes"), ("3", "takes")):
                executor.add({"id": id_, "name": name, "input": {"count": 1} if name == "takes" else {}})
            try:
                async for event in executor.results():
                    assert isinstance(event, CallFinished)
                    seen.append((event.tool_use_id, event.outcome))
            except Fatal as error:
                return seen, str(error)
        raise AssertionError("the reader was not stopped")

    seen, message = run_virtual(main())
    assert seen == [("1", "failed"), ("2", "cancelled"), ("3", "cancelled")]
    assert message == "disk gone"


def test_ready_raises_what_stopped_the_run_once_everything_is_answered():
    async def main() -> list[str]:
        async with Executor([raising(Fatal("stop"))], permission_mode="bypassPermissions") as executor:
            executor.add({"id": "1", "name": "Plain", "input": {}})
            await asyncio.sleep(1)
            readable = executor.ready()
            seen = [next(readable).tool_use_id]
            with pytest.raises(Fatal):
                next(readable)
            assert list(executor.ready()) == []
            return seen

    assert run_virtual(main()) == ["1"]


# What comes back.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, "null"),
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        (ToolResult({"a": 1}, text="for the model"), "for the model"),
        (2**70, str(2**70)),
        (float("inf"), "Infinity"),
        ({(1, 2): "tuple key"}, '{"1,2":"tuple key"}'),
    ],
)
def test_bare_data_and_results_become_text(value: Any, text: str):
    run = run_tool(returning(value))
    assert the_reply(run).content == text
    assert run.outcome == "completed"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"\xff\x00", {"name": "\udcff"}, lambda: None, Plain, [object()]])
def test_data_that_is_not_json_still_gives_a_reply_that_can_be_kept(value: Any):
    run = run_tool(returning(value))
    assert the_reply(run).outcome == "completed"
    assert run.data is value


def test_data_that_contains_itself_still_gives_one_reply():
    knot: list[Any] = []
    knot.append(knot)
    assert run_tool(returning(knot)).outcome == "completed"


def test_a_failed_command_is_sent_as_it_is():
    reply = the_reply(run_tool(returning(ToolResult(None, text="exit code 2\nno such file", is_error=True))))
    assert (reply.content, reply.is_error, reply.outcome) == ("exit code 2\nno such file", True, "completed")


def test_the_reply_carries_blocks_display_and_messages():
    result = ToolResult(
        {"n": 1},
        text=(Text("a"), Image(b"x", "image/png")),
        display="for people",
        new_messages=({"role": "user", "content": "see"},),
    )
    reply = the_reply(run_tool(returning(result)))
    assert reply.content == [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
    ]
    assert (reply.display, reply.data, reply.new_messages) == (
        "for people",
        {"n": 1},
        ({"role": "user", "content": "see"},),
    )


def test_to_blocks_maps_the_data_for_the_model():
    @tool(to_blocks=lambda data: f"<{data}>")
    async def mapped() -> str:
        """Map."""
        return "x"

    assert run_tool(mapped).text == "<x>"


@pytest.mark.parametrize("blocks", [None, 5, RuntimeError("bug")])
def test_to_blocks_that_raises_or_returns_rubbish_is_a_crash_with_one_reply(blocks: Any):
    class Unreadable(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[Any]:
            return ToolResult(1)

        def to_blocks(self, out: Any) -> Content:
            if isinstance(blocks, Exception):
                raise blocks
            return blocks

    assert_error(the_reply(run_tool(Unreadable())), "crashed")


def test_effects_that_raise_are_a_crash_with_one_reply_and_nothing_runs():
    class Unsure(Plain):
        def effects(self, args: NoArgs, ctx: ToolContext) -> Effects:
            raise RuntimeError("bug")

    run = run_tool(Unsure())
    assert_error(the_reply(run), "crashed")
    assert not [event for event in run.events if isinstance(event, CallStarted)]


def test_is_read_only_that_raises_is_a_crash_with_one_reply_and_nothing_runs():
    class Unsure(Plain):
        def is_read_only(self, args: NoArgs) -> bool:
            raise RuntimeError("bug")

    assert_error(the_reply(run_tool(Unsure())), "crashed")


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit()])
def test_is_concurrency_safe_that_raises_means_exclusive(error: BaseException):
    class Unsure(Plain):
        read_only = True

        def is_concurrency_safe(self, args: NoArgs) -> bool:
            raise error

        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[float]:
            await asyncio.sleep(1)
            return ToolResult(asyncio.get_running_loop().time())

    replies = answers([Unsure()], ("1", "Plain", {}), ("2", "Plain", {}))
    assert [reply.data for reply in replies] == [pytest.approx(1.0), pytest.approx(2.0)]


def test_a_plain_method_instead_of_a_coroutine_is_a_crash_with_one_reply():
    class NotAsync(Plain):
        def call(self, args: NoArgs, ctx: ToolContext) -> Any:
            return 5

    assert_error(the_reply(run_tool(NotAsync())), "crashed")


def test_a_tool_without_a_call_method_is_a_crash_with_one_reply():
    assert_error(the_reply(run_tool(Plain())), "crashed")


# After the call.


def test_hooks_afterwards_see_the_result_and_may_add_to_it():
    seen: list[PostToolUse] = []

    async def note(call: PostToolUse) -> HookAnswer:
        seen.append(call)
        return HookAnswer(additional_context="lint: clean")

    async def silent(call: HookCall) -> None:
        return None

    hooks = [Hook("PostToolUse", silent), Hook("PostToolUse", note, "takes"), Hook("PostToolUse", note, "other")]
    run = run_tool(takes, {"count": "1"}, hooks=hooks)
    assert the_reply(run).content == "1 False\n\nlint: clean"
    assert len(seen) == 1
    assert seen[0].tool_response == {"success": True, "content": "1 False"}


def test_a_hook_afterwards_adds_a_block_to_blocks():
    async def note(call: HookCall) -> HookAnswer:
        return HookAnswer(additional_context="noted")

    run = run_tool(returning(ToolResult(0, text=(Text("a"),))), hooks=[Hook("PostToolUse", note)])
    assert run.reply.content == [{"type": "text", "text": "a"}, {"type": "text", "text": "noted"}]


def test_a_hook_afterwards_that_fails_is_logged_and_the_reply_stands(caplog: pytest.LogCaptureFixture):
    async def fails(call: HookCall) -> None:
        raise RuntimeError("hook bug")

    run = run_tool(takes, {"count": 1}, hooks=[Hook("PostToolUse", fails)])
    assert the_reply(run).outcome == "completed"
    assert "PostToolUse" in caplog.text


def test_a_call_stopped_while_a_hook_afterwards_runs_keeps_its_reply():
    async def slow(call: HookCall) -> None:
        await asyncio.sleep(100)

    async def main() -> list[CallFinished]:
        hooks = [Hook("PostToolUse", slow)]
        async with Executor([takes], permission_mode="bypassPermissions", hooks=hooks) as executor:
            executor.add({"id": "1", "name": "takes", "input": {"count": 3}})
            await asyncio.sleep(1)
            await executor.interrupt()
            return [event async for event in executor.results() if isinstance(event, CallFinished)]

    (reply,) = run_virtual(main())
    assert (reply.content, reply.outcome) == ("3 False", "completed")


def test_the_reply_tells_how_long_the_tool_worked():
    class Slow(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[str]:
            await asyncio.sleep(2)
            return ToolResult("done")

    assert run_virtual(run_tool_async(Slow())).reply.duration_ms == pytest.approx(2_000)


def test_replies_never_show_a_traceback_and_each_step_is_an_event_in_order():
    run = run_tool(takes, {"count": 1})
    kinds = [type(event).__name__ for event in run.events]
    assert kinds == ["CallQueued", "PermissionDecided", "CallStarted", "CallFinished"]

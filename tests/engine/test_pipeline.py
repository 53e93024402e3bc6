"""Every way a call can end gives exactly one reply."""

import asyncio
import json
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import field_validator

from holdfast import Executor, Tool, ToolContext, ToolResult, tool
from holdfast.contract import (
    Alias,
    Args,
    ArgumentsInvalid,
    Content,
    Denied,
    Effects,
    Fatal,
    Image,
    PromptFacts,
    SessionFacts,
    Text,
    ToolFailed,
    UsageError,
    conditional,
    internal,
)
from holdfast.events import CallFinished, CallStarted, Event, decode_event, encode_event
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.testing import ToolRun, run_tool, run_tool_async, run_virtual


class NoArgs(Args):
    pass


class Plain(Tool[NoArgs]):
    """A tool whose call is given; everything else is the default."""

    name = "Plain"
    args_type = NoArgs
    max_result_chars = 1_000

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Do as told."


def raising(error: BaseException) -> Plain:
    class Raising(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[Any]:
            raise error

    return Raising()


def returning(value: Any) -> Plain:
    class Returning(Plain):
        async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[Any]:
            return value

    return Returning()


async def answer_all(executor: Executor, *blocks: dict[str, Any]) -> list[CallFinished]:
    async with executor:
        for block in blocks:
            executor.add(block)
        return [event async for event in executor.results() if isinstance(event, CallFinished)]


def answers(tools: list[Tool], *blocks: tuple[str, str, Any], **options: Any) -> list[CallFinished]:
    options.setdefault("permission_mode", "bypassPermissions")
    calls = [{"type": "tool_use", "id": id_, "name": name, "input": raw} for id_, name, raw in blocks]
    return run_virtual(answer_all(Executor(tools, **options), *calls))


def the_reply(run: ToolRun) -> CallFinished:
    """The reply, after checking that it is the only one and that the journal can keep it."""
    replies = [event for event in run.events if isinstance(event, CallFinished)]
    assert replies == [run.reply]
    assert json.loads(encode_event(run.reply))["tool_use_id"] == "call-1"
    decode_event(encode_event(run.reply))
    return run.reply


def assert_error(reply: CallFinished, outcome: str, *, mentions: str = "") -> None:
    assert (reply.is_error, reply.outcome) == (True, outcome)
    assert isinstance(reply.content, str)
    assert reply.content.startswith("<tool_use_error>")
    assert reply.content.endswith("</tool_use_error>")
    assert mentions in reply.content
    assert "Traceback" not in reply.content


# Names.


def test_an_unknown_name_is_answered_with_the_names_there_are():
    (reply,) = answers([Plain()], ("1", "Nope", {}))
    assert_error(reply, "invalid", mentions="Plain")
    assert "'Nope'" in str(reply.content)


def test_a_built_in_that_is_not_there_is_not_available_yet_rather_than_unknown():
    for name in ("LSP", "Task"):
        (reply,) = answers([Plain()], ("1", name, {}))
        assert_error(reply, "invalid", mentions="not available yet")


def test_an_empty_pool_says_that_nothing_is_loaded():
    (reply,) = answers([], ("1", "Nope", {}))
    assert_error(reply, "invalid", mentions="none is loaded")


def test_a_disabled_tool_is_not_callable():
    class Off(Plain):
        def is_enabled(self, session: SessionFacts) -> bool:
            return False

    assert_error(the_reply(run_tool(Off())), "invalid", mentions="not available")


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit(3), BaseException("odd")])
def test_a_tool_that_cannot_say_whether_it_is_enabled_is_answered_as_crashed(error: BaseException):
    class Broken(Plain):
        def is_enabled(self, session: SessionFacts) -> bool:
            raise error

    assert_error(the_reply(run_tool(Broken())), "crashed")


def test_an_id_used_twice_in_a_turn_is_answered_both_times_and_runs_once():
    ran: list[str] = []

    @tool
    async def once() -> str:
        """Run once."""
        ran.append("x")
        return "ran"

    first, second = answers([once], ("same", "once", {}), ("same", "once", {}))
    assert first.outcome == "completed"
    assert_error(second, "invalid", mentions="already used")
    assert ran == ["x"]


# Input.


@tool
async def takes(count: int, flag: bool = False) -> str:
    """Take a count and a flag."""
    return f"{count!r} {flag!r}"


@pytest.mark.parametrize(
    ("raw", "mentions"),
    [
        ("{", "not valid JSON"),
        ('"text"', "JSON object"),
        ("[1]", "JSON object"),
        (b"\xff\xfe{", "not valid JSON"),
        (5, "JSON object, got int"),
        ([1], "JSON object, got list"),
        ('{"count": "many"}', "'count'"),
        ({"count": 1, "colour": "red", "size": 3}, "'colour'"),
        ({"count": 1, "colour": "red", "size": 3}, "'size'"),
        (None, "missing argument 'count'"),
        ("", "missing argument 'count'"),
        (b"  ", "missing argument 'count'"),
        ('{"count": 1' + " " * 10_000_000 + "}", "at most 10,000,000"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_input_that_does_not_fit_is_answered_with_what_is_wrong(raw: Any, mentions: str):
    reply = the_reply(run_tool(takes, raw))
    assert_error(reply, "invalid", mentions=mentions)
    assert "takes" in str(reply.content)


@pytest.mark.parametrize(
    "raw", ['{"count": "5", "flag": "true"}', b'{"count": 5, "flag": true}', MappingProxyType({"count": 5, "flag": 1})]
)
def test_input_comes_as_text_bytes_or_any_mapping_and_sloppy_values_are_taken_as_meant(raw: Any):
    assert run_tool(takes, raw).text == "5 True"


def test_an_internal_field_sent_by_the_model_is_an_error_that_does_not_confirm_it():
    class Secret(Args):
        shown: str = ""
        hidden: str | None = internal()

    class Keeper(Plain):
        args_type = Secret

    reply = the_reply(run_tool(Keeper(), {"hidden": "x"}))
    assert_error(reply, "invalid", mentions="unknown argument 'hidden' (known: shown)")


def test_a_conditional_field_is_an_error_while_it_is_off():
    class Maybe(Args):
        background: bool = conditional(default=False, when="background")

    class Runner(Plain):
        args_type = Maybe

        async def call(self, args: Maybe, ctx: ToolContext) -> ToolResult[bool]:  # pyright: ignore[reportIncompatibleMethodOverride]
            return ToolResult(args.background)

    off = SessionFacts(prompt=PromptFacts(background=False))
    assert run_tool(Runner(), {"background": True}).data is True
    assert_error(the_reply(run_tool(Runner(), {"background": True}, session=off)), "invalid", mentions="'background'")


def test_an_alias_resolves_with_its_old_argument_names_and_its_defaults():
    class OutputArgs(Args):
        task_id: str
        block: bool = True

    class Output(Plain):
        name = "Output"
        args_type = OutputArgs
        aliases = (Alias("OldOutput", MappingProxyType({"block": False})), "OlderOutput")
        renamed_arguments = MappingProxyType({"bash_id": "task_id", "shell_id": "task_id"})

        async def call(self, args: OutputArgs, ctx: ToolContext) -> ToolResult[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
            return ToolResult(f"{args.task_id} {args.block}")

    replies = answers(
        [Output()],
        ("1", "OldOutput", {"bash_id": "b1"}),
        ("2", "OlderOutput", {"shell_id": "b2"}),
        ("3", "Output", {"task_id": "b3", "block": "false"}),
        ("4", "OldOutput", {"bash_id": "b4", "block": True}),
        ("5", "Output", {"task_id": "b5", "bash_id": "b5"}),
    )
    assert [reply.content for reply in replies[:4]] == ["b1 False", "b2 True", "b3 False", "b4 True"]
    assert_error(replies[4], "invalid", mentions="send only 'task_id'")
    assert {reply.name for reply in replies} == {"Output"}


@pytest.mark.parametrize("error", [SystemExit(1), BaseException("odd")])
def test_a_validator_that_raises_anything_leaves_an_answered_call(error: BaseException):
    class Nasty(Args):
        value: str

        @field_validator("value")
        @classmethod
        def refuse(cls, value: str) -> str:
            raise error

    class Picky(Plain):
        args_type = Nasty

    assert_error(the_reply(run_tool(Picky(), {"value": "x"})), "crashed")


# Validation.


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ArgumentsInvalid("no such file"), "invalid"),
        (ToolFailed("not now", error_code=7), "failed"),
        (Denied("no"), "denied"),
        (ZeroDivisionError(), "crashed"),
    ],
)
def test_what_validate_raises_is_the_reply_and_nothing_runs(error: Exception, outcome: str):
    class Careful(Plain):
        async def validate(self, args: NoArgs, ctx: ToolContext) -> None:
            raise error

    run = run_tool(Careful())
    assert_error(the_reply(run), outcome, mentions=str(error))
    assert not [event for event in run.events if isinstance(event, CallStarted)]


def test_a_denied_call_is_denied_before_validate_can_tell_anything():
    class Curious(Plain):
        async def validate(self, args: NoArgs, ctx: ToolContext) -> None:
            raise ToolFailed("the file exists")

    reply = the_reply(run_tool(Curious(), permission_mode="plan"))
    assert_error(reply, "denied")
    assert "exists" not in str(reply.content)


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
    seen: list[HookCall] = []

    async def note(call: HookCall) -> HookAnswer:
        seen.append(call)
        return HookAnswer(additional_context="lint: clean")

    async def silent(call: HookCall) -> None:
        return None

    hooks = [Hook("PostToolUse", silent), Hook("PostToolUse", note, "takes"), Hook("PostToolUse", note, "other")]
    run = run_tool(takes, {"count": "1"}, hooks=hooks)
    assert the_reply(run).content == "1 False\n\nlint: clean"
    assert len(seen) == 1
    assert seen[0].result is not None
    assert seen[0].result.data == "1 False"


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

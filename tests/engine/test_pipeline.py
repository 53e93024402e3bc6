"""Every way a call can end gives exactly one reply."""

from types import MappingProxyType
from typing import Any

import pytest
from pydantic import field_validator

from holdfast import ToolContext, ToolResult, tool
from holdfast.contract import (
    Alias,
    Args,
    ArgumentsInvalid,
    Denied,
    PromptFacts,
    SessionFacts,
    ToolFailed,
    conditional,
    internal,
)
from holdfast.events import CallStarted
from holdfast.testing import run_tool

from .conftest import NoArgs, Plain, answers, assert_error, takes, the_reply

# Names.


def test_an_unknown_name_is_answered_with_the_names_there_are():
    (reply,) = answers([Plain()], ("1", "Nope", {}))
    assert_error(reply, "invalid", mentions="Plain")
    assert "'Nope'" in str(reply.content)


def test_a_built_in_that_is_not_there_is_not_available_yet_rather_than_unknown():
    for name in ("LSP", "Task"):
        (reply,) = answers([Plain()], ("1", name, {}))
        assert_error(reply, "invalid", mentions="not available in this session")


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

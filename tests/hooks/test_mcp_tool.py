"""Tools of servers as hooks: what they are given, and what their answers mean."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.hooks import HookAnswer, HookFailed
from holdfast.hooks.inputs import PreToolUse
from holdfast.hooks.mcp_tool import McpToolRunner, ToolSaid, filled
from holdfast.hooks.session_inputs import UserPromptSubmit

EVENT = PreToolUse(tool_name="Edit", tool_input={"file_path": "/a b", "edits": [{"n": 3}]}, tool_use_id="t1", cwd="/w")


def test_the_event_fills_the_input():
    told = {"tool_input": {"x": "v", "n": 3, "list": ["a"]}, "cwd": "/w"}
    given = {
        "path": "${tool_input.x}",
        "count": "${tool_input.n}",
        "words": ["in ${cwd}: ${tool_input.x} ${tool_input.n} ${tool_input.list}", "${tool_input.list.0}"],
        "deep": {"all": "${tool_input}", "gone": "${tool_input.gone.more}", "beside": "x${nothing}y"},
        "flag": True,
    }
    assert filled(given, told) == {
        "path": "v",
        "count": 3,
        "words": ['in /w: v 3 ["a"]', "a"],
        "deep": {"all": told["tool_input"], "gone": "", "beside": "xy"},
        "flag": True,
    }


def run(said: Any, event: Any = EVENT, timeout_s: float | None = None, **handler: Any) -> HookAnswer:
    async def call(server: str, tool: str, given: Mapping[str, Any]) -> ToolSaid:
        assert (server, tool) == ("guard", "check")
        if said is None:
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        del given
        return ToolSaid(*said) if isinstance(said, tuple) else ToolSaid(str(said))

    raw = {"server": "guard", "tool": "check", **handler}
    return asyncio.run(McpToolRunner(call).run(raw, event, timeout_s))


def test_an_answer_in_json_decides_and_plain_text_does_not():
    assert run('{"decision":"block","reason":"no"}') == HookAnswer("deny", "no")
    assert run("all is well") == HookAnswer()
    assert run("note this", UserPromptSubmit(prompt="x")).additional_context == "note this"


@pytest.mark.parametrize(
    ("said", "is_soft"), [(("went wrong", True), True), ("{broken", False), (None, False), ('{"decision":3}', False)]
)
def test_what_is_no_answer_is_a_failure(said: Any, is_soft: bool):
    with pytest.raises(HookFailed) as failed:
        run(said, timeout_s=0.05 if said is None else None)
    assert failed.value.is_soft is is_soft


def test_an_input_that_is_no_object_is_a_failure():
    with pytest.raises(HookFailed, match="give an object"):
        run("x", input=["a"])

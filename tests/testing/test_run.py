from pathlib import Path

from holdfast import ToolContext, ToolResult, tool
from holdfast.contract import CwdChanged, Image, Text, ToolFailed
from holdfast.contract.render import ShownResult
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.testing import ScriptedAsker, TestingPermission, run_tool, run_tool_async, run_virtual


@tool
async def double(number: int, ctx: ToolContext) -> int:
    """Double a number."""
    ctx.progress("thinking")
    return number * 2


def test_run_tool_returns_the_reply_the_progress_and_the_data():
    run = run_tool(double, {"number": "21"})
    assert (run.text, run.data, run.is_error, run.outcome, run.progress) == ("42", 42, False, "completed", ["thinking"])
    assert run.reply.name == "double"


def test_run_tool_takes_raw_and_broken_json():
    assert run_tool(double, '{"number": 2}').data == 4
    assert run_tool(double, '{"number": ').outcome == "invalid"


def test_run_tool_async_runs_in_virtual_time_too():
    assert run_virtual(run_tool_async(double, {"number": 4})).data == 8


def test_run_tool_resolves_paths_against_the_given_directory(tmp_path: Path):
    @tool
    async def where(ctx: ToolContext) -> str:
        """Tell the directory."""
        return str(ctx.resolve("x"))

    assert run_tool(where, cwd=tmp_path).data == str(tmp_path / "x")


def test_run_tool_shows_what_a_call_changes_in_its_session():
    @tool
    async def move() -> ToolResult[None]:
        """Move elsewhere."""
        return ToolResult(None, text="moved", modifiers=(CwdChanged("/elsewhere"),))

    assert run_tool(move).changes == [("CwdChanged", {"path": "/elsewhere"})]


def test_run_tool_reads_the_text_of_mixed_content():
    @tool
    async def picture() -> ToolResult[None]:
        """Show a picture."""
        return ToolResult(None, text=(Text("above"), Image(b"x", "image/png"), Text("below")))

    assert run_tool(picture).text == "above\nbelow"


def test_run_tool_bypasses_permissions_unless_told():
    assert run_tool(double, {"number": 1}).outcome == "completed"
    assert run_tool(double, {"number": 1}, permission_mode="default").outcome == "denied"


def test_run_tool_passes_hooks_and_failures_through():
    async def refuse(call: HookCall) -> HookAnswer:
        return HookAnswer("deny", f"not {call.tool_name}")

    @tool
    async def fails() -> None:
        """Fail."""
        raise ToolFailed("cannot")

    assert run_tool(double, {"number": 1}, hooks=[Hook("PreToolUse", refuse)]).outcome == "denied"
    assert run_tool(fails).text == "<tool_use_error>cannot</tool_use_error>"


def test_testing_permission_asks_although_it_changes_nothing_and_runs_after_a_yes():
    for mode in ("default", "plan", "acceptEdits", "bypassPermissions"):
        asker = ScriptedAsker(["allow"])
        run = run_tool(TestingPermission(), permission_mode=mode, asker=asker)
        assert run.text == "TestingPermission executed successfully"
        assert len(asker.questions) == 1


def test_testing_permission_is_denied_after_a_no_and_when_nobody_can_be_asked():
    assert run_tool(TestingPermission(), permission_mode="default", asker=ScriptedAsker(["deny"])).outcome == "denied"
    assert run_tool(TestingPermission(), permission_mode="default").outcome == "denied"
    assert run_tool(TestingPermission(), permission_mode="dontAsk", asker=ScriptedAsker(["allow"])).outcome == "denied"


def test_testing_permission_shows_nothing_and_describes_itself():
    tool = TestingPermission()
    assert tool.render_use({}) == tool.render_result(ShownResult(text="anything")) == ""
    assert "permission" in tool.description()
    assert tool.arguments.schema() == {"type": "object", "properties": {}, "additionalProperties": False}

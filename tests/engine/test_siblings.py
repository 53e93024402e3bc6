"""What a failed command does to the calls beside and behind it."""

from typing import Any

import pytest

from holdfast import ToolContext, ToolResult
from holdfast.engine import SiblingErrors
from holdfast.testing import Script, ScriptedTool, Timeline, play

from .conftest import NoArgs, SafePlain

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
    class Background(SafePlain):
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
    class Unsure(SafePlain):
        name = "Unsure"

        def is_read_only(self, args: NoArgs) -> bool:
            raise RuntimeError("bug")

    shell = ScriptedTool("Shell", shell_like=True)
    script = Script().call("shell", "Shell", end="error", read_only=False, safe=False).call_with("b", "Unsure", {})
    assert play(script, tools=[shell, Unsure()]).outcomes == {"shell": "completed", "b": "cancelled"}

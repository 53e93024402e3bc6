"""Calls as people see them: every tool in each of its six states, and what each of them draws."""

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast import Tool
from holdfast.app.call_lines import CallLines
from holdfast.app.tools import all_tools
from holdfast.contract.render import ROLES, ShownResult, lines_of, text_of
from holdfast.events import CallFinished
from holdfast.tools.lists.todo_write import TodoWrite

TOOLS = {tool.name: tool for tool in (*all_tools(), TodoWrite())}
ODD: tuple[Mapping[str, Any], ...] = (
    {},
    {"todos": "x", "questions": 5, "attachments": "x", "allowedPrompts": {}, "skill": None, "args": ["x"]},
    {"todos": [1, {}], "questions": [None], "prompt": "\x1b[2J", "command": "a\nb", "value": None, "taskId": 7},
)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_draws_each_state_also_from_input_that_is_not_complete(name: str) -> None:
    tool = TOOLS[name]
    for raw in ODD:
        assert "\n" not in text_of(tool.render_use({**raw, "command": "x"}))
        shown = [tool.render_use(raw), tool.render_queued(raw), tool.render_rejected(raw, "no")]
        shown += [tool.render_progress(raw), tool.render_progress("half"), tool.render_error("broken")]
        shown += [tool.render_result(ShownResult(None, "text"), condensed=condensed) for condensed in (True, False)]
        assert all(role in ROLES for one in shown for line in lines_of(one) for role, _ in line)
        assert all(text_of(one).strip() for one in shown)


def drawn(name: str, data: Any, display: str | None = None) -> list[Any]:
    event = CallFinished("1", name, "for the model", data=data, display=display)
    return [list(line) for line in CallLines(TOOLS.get).result(event)]


def test_a_list_of_work_is_drawn_with_marks() -> None:
    todos = [{"content": "Read", "status": "completed"}, {"content": "Edit", "status": "in_progress"}]
    todos.append({"content": "Test", "status": "pending"})
    lines = drawn("TodoWrite", {"oldTodos": [], "newTodos": todos})
    assert lines == [[("ok", "✔ Read")], [("accent", "▶ Edit")], [("", "☐ Test")]]
    rows = [{"id": "1", "subject": "Read", "status": "pending", "blockedBy": ["2", "3"]}]
    assert drawn("TaskList", {"tasks": rows}) == [[("", "☐ Read"), ("dim", " waits for 2, 3")]]
    assert drawn("TaskCreate", {"task": {"id": "1", "subject": "Read"}}) == [[("", "☐ Read")]]
    change = {
        "success": True,
        "taskId": "1",
        "updatedFields": ["status"],
        "statusChange": {"from": "a", "to": "completed"},
    }
    assert drawn("TaskUpdate", change, "Read") == [[("ok", "✔ Read")]]


def test_a_long_list_is_drawn_as_what_is_left_of_it() -> None:
    todos = [{"content": f"{number}", "status": "completed" if number < 30 else "pending"} for number in range(40)]
    lines = drawn("TodoWrite", {"newTodos": todos})
    assert (lines[0], lines[-1]) == ([("", "☐ 30")], [("dim", "… 40 in all, 30 completed")])
    assert len(lines) == 11


def test_an_agent_is_drawn_with_its_words_and_what_it_took() -> None:
    data = {"status": "completed", "result": "a\nb", "totalToolUseCount": 3, "totalTokens": 4321}
    assert drawn("Agent", data) == [[("", "a")], [("", "b")], [("dim", "3 calls, 4,321 tokens")]]
    launched = {"status": "async_launched", "agentId": "a12345678"}
    assert drawn("Agent", launched) == [[("", "works in the background as a12345678")]]
    lines = CallLines(TOOLS.get)
    assert (
        lines.use("Agent", {"description": "Look at prices", "subagent_type": "Explore"}) == "Explore: Look at prices"
    )
    assert lines.progress("Agent", {"tool": "Read", "toolUses": 2}) == "Read (2 calls)"


def test_answers_plans_worktrees_and_settings_are_drawn_by_what_matters() -> None:
    assert drawn("AskUserQuestion", {"answers": {"Which?": ["a", "b"]}}) == [[("dim", "Which? "), ("accent", "a, b")]]
    plan = drawn("ExitPlanMode", {"plan": "# Plan\n1. x", "planWasEdited": True})
    assert plan == [[("ok", "The plan is approved with your changes")], [("", "# Plan")], [("", "1. x")]]
    assert drawn("EnterPlanMode", {"message": "long"})[0][0][0] == "accent"
    entered = {"worktreePath": "/w", "worktreeBranch": "worktree-x", "message": "long"}
    assert drawn("EnterWorktree", entered) == [[("accent", "/w"), ("dim", " on worktree-x")]]
    left = {"action": "remove", "originalCwd": "/p", "worktreePath": "/w", "discardedFiles": 2, "message": "long"}
    assert drawn("ExitWorktree", left)[0][1] == ("warn", "; the worktree is removed, with work in it")
    changed = {"success": True, "operation": "set", "setting": "model", "previousValue": "a", "newValue": "b"}
    assert drawn("Config", changed) == [[("dim", "model = "), ("accent", "'b'"), ("dim", ", was 'a'")]]


def test_errors_are_drawn_for_people_and_without_data_the_text_stands() -> None:
    lines = CallLines(TOOLS.get)
    failed = CallFinished("1", "Agent", "<tool_use_error>no room</tool_use_error>", is_error=True)
    assert lines.result(failed) == [[("", "no room")]]
    for name in TOOLS:
        assert text_of(lines.result(CallFinished("1", name, "for the model"))).strip(), name


class Broken(Tool):
    """Draws nothing."""

    name = "Broken"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        raise ValueError(raw)


def test_a_tool_that_cannot_draw_itself_is_drawn_plainly() -> None:
    lines = CallLines({"Broken": Broken()}.get)
    assert lines.use("Broken", {"a": 1}) == "Broken(a=1)"
    assert lines.use("Unknown", {}) == "Unknown"
    assert lines.progress("Unknown", {"message": "half"}) == "half"

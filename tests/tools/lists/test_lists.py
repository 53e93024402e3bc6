"""TodoWrite and the task tools: shapes, states, order, and what a gate says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast.contract import ArgumentsInvalid, SessionFacts, Tool, ToolContext, ToolResult, text_of
from holdfast.engine import Executor
from holdfast.hooks import Hook, HookAnswer
from holdfast.permissions import PermissionContext
from holdfast.tasks.work_list import WorkList
from holdfast.tools.lists.task_create import TaskCreate
from holdfast.tools.lists.task_get import TaskGet
from holdfast.tools.lists.task_list import TaskList
from holdfast.tools.lists.task_update import TaskUpdate
from holdfast.tools.lists.todo_write import TodoWrite


def run(tool: Tool[Any, Any], agent: str | None = None, **raw: Any) -> ToolResult[Any]:
    async def go() -> ToolResult[Any]:
        ctx = ToolContext("/", tool_use_id="c", session=SessionFacts(agent_id=agent))
        args = tool.arguments.parse(raw)
        await tool.validate(args, ctx)
        return await tool.call(args, ctx)

    return asyncio.run(go())


def words(result: ToolResult[Any]) -> str:
    return text_of(result.text or "")


# TodoWrite.

A = {"content": "Write it", "status": "in_progress", "activeForm": "Writing it"}
B = {"id": "b", "content": "Ship it", "status": "pending", "priority": "high"}


def test_both_shapes_of_items_are_kept_and_given_back() -> None:
    tool = TodoWrite()
    first = run(tool, todos=[A, B])
    assert first.data == {"oldTodos": [], "newTodos": [A, B]}
    assert "Writing it" in words(first)
    assert run(tool, todos=[]).data == {"oldTodos": [A, B], "newTodos": []}


def test_the_list_is_cleared_when_everything_is_done() -> None:
    tool = TodoWrite()
    done = {**A, "status": "completed"}
    assert run(tool, todos=[done]).data["newTodos"] == [done]
    assert run(tool, todos=[A]).data["oldTodos"] == []


def test_two_items_in_progress_or_with_one_id_are_refused_and_change_nothing() -> None:
    tool = TodoWrite()
    run(tool, todos=[A])
    for bad in ([A, {**B, "status": "in_progress"}], [B, B]):
        with pytest.raises(ArgumentsInvalid):
            run(tool, todos=bad)
    assert run(tool, todos=[]).data["oldTodos"] == [A]


def test_three_finished_items_without_a_check_are_worth_a_word() -> None:
    done = [{"content": f"Write part {number}", "status": "completed"} for number in range(3)]
    assert run(TodoWrite(), todos=done).data["verificationNudgeNeeded"] is True
    checked = [*done, {"content": "Run the tests", "status": "completed"}]
    assert "verificationNudgeNeeded" not in run(TodoWrite(), todos=checked).data


def test_each_agent_has_a_plain_list_of_its_own() -> None:
    tool = TodoWrite()
    run(tool, todos=[A])
    assert run(tool, agent="a1", todos=[B]).data["oldTodos"] == []
    assert run(tool, todos=[]).data["oldTodos"] == [A]


@pytest.mark.parametrize(
    "bad", [{"content": "", "status": "pending"}, {"content": "x", "status": "done"}, {"content": "x"}]
)
def test_items_that_do_not_fit_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ArgumentsInvalid):
        run(TodoWrite(), todos=[bad])


# The task tools.


def test_a_task_goes_from_pending_to_done_with_its_owner() -> None:
    work = WorkList()
    made = run(TaskCreate(work), subject="Fix", description="All of it", activeForm="Fixing")
    assert made.data == {"task": {"id": "1", "subject": "Fix"}}
    started = run(TaskUpdate(work), agent="a7", taskId="1", status="in_progress")
    assert started.data["statusChange"] == {"from": "pending", "to": "in_progress"}
    assert started.data["updatedFields"] == ["status", "owner"]
    assert run(TaskList(work)).data == {
        "tasks": [{"id": "1", "subject": "Fix", "status": "in_progress", "blockedBy": [], "owner": "a7"}]
    }
    run(TaskUpdate(work), taskId="#1", status="completed")
    assert run(TaskGet(work), taskId="1").data["task"] == {
        "id": "1",
        "subject": "Fix",
        "description": "All of it",
        "status": "completed",
        "blocks": [],
        "blockedBy": [],
    }


def test_only_open_blockers_are_listed_and_internal_tasks_are_not() -> None:
    work = WorkList()
    for subject in ("a", "b", "c"):
        run(TaskCreate(work), subject=subject, description="")
    run(TaskCreate(work), subject="own", description="", metadata={"_internal": True})
    run(TaskUpdate(work), taskId="3", addBlockedBy=["1", "2"])
    run(TaskUpdate(work), taskId="1", status="completed")
    rows = {row["id"]: row["blockedBy"] for row in run(TaskList(work)).data["tasks"]}
    assert rows == {"1": [], "2": [], "3": ["2"]}
    assert run(TaskGet(work), taskId="2").data["task"]["blocks"] == ["3"]


def test_a_deleted_task_is_gone_from_what_others_wait_for() -> None:
    work = WorkList()
    run(TaskCreate(work), subject="a", description="")
    run(TaskCreate(work), subject="b", description="")
    run(TaskUpdate(work), taskId="2", addBlockedBy=["1"])
    gone = run(TaskUpdate(work), taskId="1", status="deleted")
    assert gone.data["statusChange"] == {"from": "pending", "to": "deleted"}
    assert run(TaskGet(work), taskId="2").data["task"]["blockedBy"] == []
    assert run(TaskGet(work), taskId="1").data == {"task": None}


@pytest.mark.parametrize(
    "change", [{"taskId": "9"}, {"taskId": "1", "addBlocks": ["9"]}, {"taskId": "1", "addBlockedBy": ["1"]}]
)
def test_what_is_not_there_is_an_error_in_words(change: dict[str, Any]) -> None:
    work = WorkList()
    run(TaskCreate(work), subject="a", description="")
    result = run(TaskUpdate(work), **change)
    assert result.is_error
    assert result.data["success"] is False
    assert result.data["error"]


def test_tasks_never_wait_for_each_other_in_a_circle() -> None:
    work = WorkList()
    for subject in "abc":
        run(TaskCreate(work), subject=subject, description="")
    run(TaskUpdate(work), taskId="2", addBlockedBy=["1"])
    run(TaskUpdate(work), taskId="3", addBlockedBy=["2"])
    assert not run(TaskUpdate(work), taskId="1", addBlockedBy=["3"]).data["success"]
    assert not run(TaskUpdate(work), taskId="3", addBlocks=["1"]).data["success"]


def test_a_refused_task_is_taken_away_and_a_refused_end_stays_open() -> None:
    told: list[tuple[str, Any]] = []

    async def refuse(event: Any) -> HookAnswer:
        told.append((event.event_name, (event.task_id, event.task_subject, event.task_description)))
        return HookAnswer("deny", f"not {event.task_subject}") if event.task_subject != "y" else HookAnswer()

    hooks = [Hook("TaskCreated", refuse), Hook("TaskCompleted", refuse)]
    tools: list[Tool] = [TaskCreate(work := WorkList()), TaskUpdate(work), TaskGet(work), TaskList(work)]
    executor = Executor(tools, hooks=hooks, permissions=PermissionContext())
    refused = executor.call("TaskCreate", {"subject": "x", "description": "why"})
    assert (refused.is_error, "not x" in str(refused.content)) == (True, True)
    assert executor.call("TaskList", {}).data == {"tasks": []}
    executor.call("TaskCreate", {"subject": "y", "description": ""})
    executor.call("TaskUpdate", {"taskId": "2", "subject": "z"})
    assert not executor.call("TaskUpdate", {"taskId": "2", "status": "completed"}).data["success"]
    assert executor.call("TaskGet", {"taskId": "2"}).data["task"]["status"] == "pending"
    assert told[0] == ("TaskCreated", ("1", "x", "why"))
    assert told[-1] == ("TaskCompleted", ("2", "z", ""))


def test_a_new_owner_is_told_and_three_ends_without_a_check_are_worth_a_word() -> None:
    work, told = WorkList(), list[tuple[str, str, str]]()
    tool = TaskUpdate(work, tell_owner=lambda owner, item, giver: told.append((owner, item.subject, giver)))
    for subject in ("a", "b", "c", "Run the tests"):
        run(TaskCreate(work), subject=subject, description="")
    run(tool, taskId="1", owner="ann")
    assert told == [("ann", "a", "main")]
    nudges = [run(tool, taskId=str(n), status="completed").data.get("verificationNudgeNeeded") for n in range(1, 5)]
    assert nudges == [None, None, True, None]


def test_metadata_is_merged_and_null_takes_away() -> None:
    work = WorkList()
    run(TaskCreate(work), subject="a", description="", metadata={"x": 1, "y": 2})
    run(TaskUpdate(work), taskId="1", metadata={"x": None, "z": 3})
    assert work.look().items["1"].metadata == {"y": 2, "z": 3}


def test_the_text_of_the_list_says_when_to_use_it_and_when_not() -> None:
    use, not_for = TodoWrite().prompt().split("Not when")
    assert all(f" {number}. " in use for number in range(1, 9))
    assert all(f" {number}. " in not_for for number in range(1, 5))

"""Show the list of work. The text the model reads is in task_list.md, beside this file."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from holdfast.contract import Args, Effects, Tool, ToolContext, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.tasks.work_list import Status, WorkItem, WorkList, WorkState

__all__ = ["TaskList", "TaskListArgs", "TaskListOutput", "TaskRow"]


class TaskListArgs(Args):
    """Nothing to choose."""


class TaskRow(TypedDict):
    """A task in short."""

    id: str
    subject: str
    status: Status
    owner: NotRequired[str]
    blockedBy: list[str]


class TaskListOutput(TypedDict):
    """All tasks."""

    tasks: list[TaskRow]


class TaskList(Tool[TaskListArgs, TaskListOutput]):
    """Shows every task but internal ones, with open blockers only."""

    name, args_type = "TaskList", TaskListArgs
    output_type = TaskListOutput
    search_hint = "show all work, what is left, progress"
    max_result_chars = 100_000
    session_state = read_only = concurrency_safe = should_defer = True

    def __init__(self, work: WorkList | None = None) -> None:
        self.work = work or WorkList()

    def effects(self, args: TaskListArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: TaskListArgs) -> str | None:
        """That it is read."""
        del args
        return "read the list of tasks"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """Its name says all."""
        del raw
        return self.name

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The list."""
        from holdfast.tools.lists.drawing import list_lines  # noqa: PLC0415 - only faces draw

        rows = result.data["tasks"] if result.data else ()
        return list_lines(rows, "subject", condensed=condensed) if rows else result.text

    async def call(self, args: TaskListArgs, ctx: ToolContext) -> ToolResult[TaskListOutput]:
        """Look at all."""
        del args, ctx
        state = self.work.look()
        rows = [_row(item, state) for item in state.items.values() if not item.is_internal]
        return ToolResult({"tasks": rows}, "\n".join(map(_line, rows)) or "The list is empty.")


def _row(item: WorkItem, state: WorkState) -> TaskRow:
    row: TaskRow = {
        "id": item.id,
        "subject": item.subject,
        "status": item.status,
        "blockedBy": state.open_blockers(item),
    }
    if item.owner is not None:
        row["owner"] = item.owner
    return row


def _line(row: TaskRow) -> str:
    owner = f", {row['owner']}" if "owner" in row else ""
    waits = f", waits for {', '.join(row['blockedBy'])}" if row["blockedBy"] else ""
    return f"{row['id']}. [{row['status']}{owner}{waits}] {row['subject']}"

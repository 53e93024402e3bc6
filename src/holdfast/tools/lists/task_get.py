"""Read one task. The text the model reads is in task_get.md, beside this file."""

from collections.abc import Sequence
from typing import TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, Tool, ToolContext, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.tasks.work_list import Status, WorkList

__all__ = ["TaskDetail", "TaskGet", "TaskGetArgs", "TaskGetOutput"]


class TaskGetArgs(Args):
    """Which task."""

    taskId: str = Field(description="The task's number, as TaskList shows it.")  # noqa: N815 - the known name


class TaskDetail(TypedDict):
    """A task as a whole."""

    id: str
    subject: str
    description: str
    status: Status
    blocks: list[str]
    blockedBy: list[str]


class TaskGetOutput(TypedDict):
    """The task, or null."""

    task: TaskDetail | None


class TaskGet(Tool[TaskGetArgs, TaskGetOutput]):
    """Shows one task."""

    name, args_type = "TaskGet", TaskGetArgs
    output_type = TaskGetOutput
    search_hint = "details of one item of the list of work"
    shown_arguments = ("taskId",)
    max_result_chars = 100_000
    session_state = read_only = concurrency_safe = should_defer = True

    def __init__(self, work: WorkList | None = None) -> None:
        self.work = work or WorkList()

    def effects(self, args: TaskGetArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: TaskGetArgs) -> str | None:
        """Which one."""
        return f"read task {args.taskId}"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The task in one line, or with everything about it."""
        from holdfast.tools.lists.drawing import item_line  # noqa: PLC0415 - only faces draw

        task = result.data["task"] if result.data else None
        return [item_line(task["status"], task["subject"])] if task is not None and condensed else result.text

    async def call(self, args: TaskGetArgs, ctx: ToolContext) -> ToolResult[TaskGetOutput]:
        """Look it up."""
        del ctx
        item = self.work.look().items.get(args.taskId.removeprefix("#"))
        if item is None:
            return ToolResult({"task": None}, f"There is no task {args.taskId!r}; TaskList shows which there are.")
        detail: TaskDetail = {
            "id": item.id,
            "subject": item.subject,
            "description": item.description,
            "status": item.status,
            "blocks": item.blocks,
            "blockedBy": item.blocked_by,
        }
        lines = [f"Task {item.id} ({item.status}): {item.subject}", item.description]
        if item.owner:
            lines.append(f"Owner: {item.owner}")
        if item.blocked_by:
            lines.append(f"Waits for: {', '.join(item.blocked_by)}")
        if item.blocks:
            lines.append(f"Others wait for it: {', '.join(item.blocks)}")
        return ToolResult({"task": detail}, "\n".join(filter(None, lines)))

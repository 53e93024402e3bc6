"""End a background task. The text the model reads is in task_stop.md, beside this file."""

from typing import NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, SessionFacts, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.tasks import TaskBoard, is_terminal

__all__ = ["TaskStop", "TaskStopArgs", "TaskStopOutput"]


class TaskStopArgs(Args):
    """Which task."""

    task_id: str = Field(description="The id of the task to end.")


class TaskStopOutput(TypedDict):
    """What was ended."""

    message: str
    task_id: str
    task_type: str
    command: NotRequired[str]


class TaskStop(Tool[TaskStopArgs, TaskStopOutput]):
    """Ends a task with everything it started."""

    name, args_type = "TaskStop", TaskStopArgs
    output_type = TaskStopOutput
    aliases = ("KillShell",)
    renamed_arguments = {"shell_id": "task_id", "bash_id": "task_id"}  # noqa: RUF012 - the contract's form
    search_hint = "kill a running background command or agent"
    shown_arguments = ("task_id",)
    max_result_chars = 100_000
    concurrency_safe = session_state = True
    should_defer = True

    def __init__(self, board: TaskBoard | None = None) -> None:
        self.board = board or TaskBoard()
        self.resources = (self.board,)

    def is_enabled(self, session: SessionFacts) -> bool:
        """Where nothing goes on in the background, there is no task."""
        return session.prompt.background

    def effects(self, args: TaskStopArgs, ctx: ToolContext) -> Effects:
        """It ends processes of this session only."""
        del args, ctx
        return Effects(process=True)

    async def call(self, args: TaskStopArgs, ctx: ToolContext) -> ToolResult[TaskStopOutput]:
        """End it and wait until it is gone."""
        del ctx
        record = self.board.get(args.task_id)
        if record is None:
            known = ", ".join(task.id for task in self.board.all() if not is_terminal(task.status)) or "none"
            raise ToolFailed(f"there is no task {args.task_id!r}; running tasks: {known}")
        if is_terminal(record.status):
            self.board.mark_told(record)
            raise ToolFailed(f"task {record.id} has ended already ({record.status}); nothing was stopped")
        record = await self.board.stop(args.task_id) or record
        self.board.mark_told(record)
        message = f"Task {record.id} ({record.description!r}) was stopped. Its output stays in {record.output_file}."
        data: TaskStopOutput = {"message": message, "task_id": record.id, "task_type": record.type}
        if record.command is not None:
            data["command"] = record.command
        return ToolResult(data, message)

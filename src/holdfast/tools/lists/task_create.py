"""Put a task on the list. The text the model reads is in task_create.md, beside this file."""

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.tasks.work_list import WorkItem, WorkList

__all__ = ["TaskCreate", "TaskCreateArgs", "TaskCreateOutput", "TaskGate"]

TaskGate = Callable[[WorkItem], Awaitable[str | None]]
"""The user's own word on a task that was created or completed: a reason to refuse, or none."""


class TaskCreateArgs(Args):
    """A new task."""

    subject: str = Field(min_length=1, description="A short title, as an order.")
    description: str = Field(description="What has to be done, and when it is done.")
    activeForm: str | None = Field(default=None, description="What is shown while it goes on.")  # noqa: N815 - the known name
    metadata: dict[str, Any] | None = Field(default=None, description="Anything else to keep with it.")


class TaskName(TypedDict):
    """A task in short."""

    id: str
    subject: str


class TaskCreateOutput(TypedDict):
    """What was created."""

    task: TaskName


class TaskCreate(Tool[TaskCreateArgs, TaskCreateOutput]):
    """Adds one task; a refusal of the user's own gate takes it away again."""

    name, args_type = "TaskCreate", TaskCreateArgs
    output_type = TaskCreateOutput
    search_hint = "add work to the list, plan steps"
    max_result_chars = 100_000
    session_state = read_only = True

    def __init__(self, work: WorkList | None = None, *, gate: TaskGate | None = None) -> None:
        self.work = work or WorkList()
        self.gate = gate

    def effects(self, args: TaskCreateArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    async def call(self, args: TaskCreateArgs, ctx: ToolContext) -> ToolResult[TaskCreateOutput]:
        """Add it, then hear the gate."""
        del ctx
        item = self.work.change(
            lambda state: state.add(args.subject, args.description, args.activeForm, args.metadata or {})
        )
        refusal = None if self.gate is None else await self.gate(item)
        if refusal is not None:
            self.work.change(lambda state: state.remove(item.id))
            raise ToolFailed(f"the task was not created: {refusal}")
        data: TaskCreateOutput = {"task": {"id": item.id, "subject": item.subject}}
        return ToolResult(data, f"Task {item.id} is on the list: {item.subject}")

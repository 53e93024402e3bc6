"""Put a task on the list. The text the model reads is in task_create.md, beside this file."""

from collections.abc import Sequence
from typing import Any, TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.tasks.work_list import WorkItem, WorkList

__all__ = ["TaskCreate", "TaskCreateArgs", "TaskCreateOutput", "hooks_refusal"]


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
    """Adds one task; a refusal of the user's hooks takes it away again."""

    name, args_type = "TaskCreate", TaskCreateArgs
    output_type = TaskCreateOutput
    search_hint = "add work to the list, plan steps"
    shown_arguments = ("subject",)
    max_result_chars = 100_000
    session_state = read_only = True

    def __init__(self, work: WorkList | None = None) -> None:
        self.work = work or WorkList()

    def effects(self, args: TaskCreateArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: TaskCreateArgs) -> str | None:
        """Its title."""
        return f"put on the list of tasks: {args.subject}"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The new task."""
        from holdfast.tools.lists.drawing import item_line  # noqa: PLC0415 - only faces draw

        del condensed
        return [item_line("pending", result.data["task"]["subject"])] if result.data else result.text

    async def call(self, args: TaskCreateArgs, ctx: ToolContext) -> ToolResult[TaskCreateOutput]:
        """Add it, then hear the hooks."""
        item = self.work.change(
            lambda state: state.add(args.subject, args.description, args.activeForm, args.metadata or {})
        )
        try:
            refusal = await hooks_refusal("TaskCreated", item, ctx)
        except BaseException:  # nobody has let it pass
            self.work.change(lambda state: state.remove(item.id))
            raise
        if refusal is not None:
            self.work.change(lambda state: state.remove(item.id))
            raise ToolFailed(f"the task was not created: {refusal}", error_code=1)
        data: TaskCreateOutput = {"task": {"id": item.id, "subject": item.subject}}
        return ToolResult(data, f"Task {item.id} is on the list: {item.subject}")


async def hooks_refusal(event: str, item: WorkItem, ctx: ToolContext) -> str | None:
    """Why the user's hooks refuse what happens to a task; none when they do not."""
    if ctx.hooks is None or not ctx.hooks.hears_of(event):
        return None
    word = await ctx.hooks.tell(event, task_id=item.id, task_subject=item.subject, task_description=item.description)
    return (word.reason or f"a {event} hook refused") if word.is_blocked else None

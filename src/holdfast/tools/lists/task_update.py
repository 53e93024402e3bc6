"""Change a task. The text the model reads is in task_update.md, beside this file."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, Tool, ToolContext, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.tasks.work_list import WorkItem, WorkList, WorkState
from holdfast.tools.lists._checks import NUDGE, is_check, needs_check
from holdfast.tools.lists.task_create import hooks_refusal

__all__ = ["MAIN", "TaskUpdate", "TaskUpdateArgs", "TaskUpdateOutput"]

NewStatus = Literal["pending", "in_progress", "completed", "deleted"]
TellOwner = Callable[[str, WorkItem, str], None]
"""Leaves a note for the new owner of a task; the last is who gave it."""
_CLASSIFIED_CHARS = 4_000
MAIN = "main"
"""What the session's own agent is called as an owner."""


class TaskUpdateArgs(Args):
    """What to change; what is omitted stays."""

    taskId: str = Field()  # noqa: N815 - the known name
    status: NewStatus | None = Field(default=None)
    subject: str | None = Field(default=None, min_length=1)
    description: str | None = None
    activeForm: str | None = None  # noqa: N815 - as above
    addBlocks: list[str] | None = None  # noqa: N815 - as above
    addBlockedBy: list[str] | None = None  # noqa: N815 - as above
    owner: str | None = None
    metadata: dict[str, Any] | None = Field(default=None, description="null takes an entry away.")


StatusChange = TypedDict("StatusChange", {"from": str, "to": str})


class TaskUpdateOutput(TypedDict):
    """What changed."""

    success: bool
    taskId: str
    updatedFields: list[str]
    error: NotRequired[str]
    statusChange: NotRequired[StatusChange]
    verificationNudgeNeeded: NotRequired[bool]


class _Change(NamedTuple):
    item: WorkItem
    fields: list[str]
    before: WorkItem
    unverified: int


class TaskUpdate(Tool[TaskUpdateArgs, TaskUpdateOutput]):
    """Changes one task in one step."""

    name, args_type = "TaskUpdate", TaskUpdateArgs
    output_type = TaskUpdateOutput
    search_hint = "mark work as started or done, assign, order"
    shown_arguments = ("taskId", "status", "subject")
    max_result_chars = 100_000
    session_state = read_only = True

    def __init__(self, work: WorkList | None = None, *, tell_owner: TellOwner | None = None) -> None:
        self.work = work or WorkList()
        self.tell_owner = tell_owner

    def effects(self, args: TaskUpdateArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: TaskUpdateArgs) -> str | None:
        """What changes."""
        changes = args.model_dump_json(exclude_none=True, exclude={"taskId"})
        return f"change task {args.taskId}: {changes[:_CLASSIFIED_CHARS]}"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The task as it is now."""
        from holdfast.tools.lists.drawing import item_line  # noqa: PLC0415 - only faces draw

        change = result.data.get("statusChange") if result.data else None
        if change is None or result.display is None:
            return result.text if not condensed or result.display is None else result.display
        return [item_line(change["to"], result.display)]

    async def call(self, args: TaskUpdateArgs, ctx: ToolContext) -> ToolResult[TaskUpdateOutput]:
        """Hear the hooks where a task is completed, then change it."""
        task_id = args.taskId.removeprefix("#")
        state = self.work.look()
        item = state.items.get(task_id)
        problem = _problem(args, task_id, state)
        if problem is None and item is not None and args.status == "completed" and item.status != "completed":
            problem = await hooks_refusal("TaskCompleted", item, ctx)
        if problem is not None:
            return _failed(task_id, problem)
        caller = ctx.session.agent_id or MAIN
        change = self.work.change(lambda state: _apply(state, args, task_id, caller))
        if change is None:
            return _failed(task_id, f"there is no task {task_id!r}; TaskList shows which there are")
        owner = change.item.owner
        if self.tell_owner is not None and owner not in (None, change.before.owner, caller):
            self.tell_owner(str(owner), change.item, caller)
        return _done(change, args)


def _problem(args: TaskUpdateArgs, task_id: str, state: WorkState) -> str | None:
    if task_id not in state.items:
        return f"there is no task {args.taskId!r}; TaskList shows which there are"
    for other in (*(args.addBlocks or ()), *(args.addBlockedBy or ())):
        name = other.removeprefix("#")
        if name not in state.items:
            return f"there is no task {other!r} to wait for; TaskList shows which there are"
        if name == task_id:
            return "a task cannot wait for itself"
    for other in args.addBlockedBy or ():
        if _waits_for(state, other.removeprefix("#"), task_id):
            return f"task {other} waits for task {task_id} already; both would wait for ever"
    for other in args.addBlocks or ():
        if _waits_for(state, task_id, other.removeprefix("#")):
            return f"task {task_id} waits for task {other} already; both would wait for ever"
    return None


def _waits_for(state: WorkState, waiting: str, wanted: str) -> bool:
    """Whether one task waits for another, at any distance."""
    seen: set[str] = set()
    ahead = [waiting]
    while ahead:
        name = ahead.pop()
        if name == wanted:
            return True
        if name not in seen and name in state.items:
            seen.add(name)
            ahead += state.items[name].blocked_by
    return False


def _apply(state: WorkState, args: TaskUpdateArgs, task_id: str, caller: str) -> _Change | None:
    item = state.items.get(task_id)
    if item is None:
        return None
    before = WorkItem(item.id, item.subject, item.description, item.status, item.active_form, item.owner)
    fields = [*_texts(item, args), *_links(state, item, args)]
    if args.status is not None and args.status != item.status:
        fields.append("status")
        if args.status == "deleted":
            state.remove(task_id)
            return _Change(item, fields, before, 0)
        item.status = args.status
        if args.status == "in_progress" and item.owner is None and args.owner is None:
            item.owner = caller
            fields.append("owner")
        if args.status == "completed":
            state.unverified = 0 if is_check(item.subject) else state.unverified + 1
    return _Change(item, fields, before, state.unverified)


def _texts(item: WorkItem, args: TaskUpdateArgs) -> list[str]:
    changed: list[str] = []
    for field, name in (
        ("subject", "subject"),
        ("description", "description"),
        ("active_form", "activeForm"),
        ("owner", "owner"),
    ):
        value = getattr(args, name)
        if value is not None and value != getattr(item, field):
            setattr(item, field, value)
            changed.append(name)
    if args.metadata is not None:
        merged = {**item.metadata, **args.metadata}
        item.metadata = {key: value for key, value in merged.items() if value is not None}
        changed.append("metadata")
    return changed


def _links(state: WorkState, item: WorkItem, args: TaskUpdateArgs) -> list[str]:
    changed: list[str] = []
    for other in (name.removeprefix("#") for name in args.addBlocks or ()):
        if other in state.items and other not in item.blocks:
            item.blocks.append(other)
            state.items[other].blocked_by.append(item.id)
            changed.append("blocks")
    for other in (name.removeprefix("#") for name in args.addBlockedBy or ()):
        if other in state.items and other not in item.blocked_by:
            item.blocked_by.append(other)
            state.items[other].blocks.append(item.id)
            changed.append("blockedBy")
    return list(dict.fromkeys(changed))


def _failed(task_id: str, problem: str) -> ToolResult[TaskUpdateOutput]:
    data: TaskUpdateOutput = {"success": False, "taskId": task_id, "updatedFields": [], "error": problem}
    return ToolResult(data, f"The task was not changed: {problem}", is_error=True)


def _done(change: _Change, args: TaskUpdateArgs) -> ToolResult[TaskUpdateOutput]:
    data: TaskUpdateOutput = {"success": True, "taskId": change.item.id, "updatedFields": change.fields}
    text = f"Task {change.item.id}: changed {', '.join(change.fields)}." if change.fields else "Nothing changed."
    if "status" in change.fields and args.status is not None:
        data["statusChange"] = {"from": change.before.status, "to": args.status}
        text = f"Task {change.item.id} is {args.status} now."
        if args.status == "completed" and needs_check(change.unverified):
            data["verificationNudgeNeeded"] = True
            text += f" {NUDGE}"
    return ToolResult(data, text, display=change.item.subject)

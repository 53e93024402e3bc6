"""Replace the list of things to do. The text the model reads is in todo_write.md, beside this file."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import Args, ArgumentsInvalid, Effects, Tool, ToolContext, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.tasks.work_list import Status, Todo, WorkList, WorkState
from holdfast.tools.lists._checks import NUDGE, is_check, needs_check

__all__ = ["TodoItem", "TodoWrite", "TodoWriteArgs", "TodoWriteOutput"]

_MAIN = "main"
_CLASSIFIED_CHARS = 4_000


class TodoItem(Args):
    """One item; both shapes that models write are fine."""

    content: str = Field(min_length=1, description="As an order.")
    status: Status
    activeForm: str | None = Field(default=None, description="The same as it goes on.")  # noqa: N815 - the known name
    id: str | None = Field(default=None, description="Your own name for it.")
    priority: Literal["high", "medium", "low"] | None = None


class TodoWriteArgs(Args):
    """The whole list."""

    todos: list[TodoItem] = Field(max_length=200, description="Every item, also done ones.")


class TodoWriteOutput(TypedDict):
    """The list before and after."""

    oldTodos: list[dict[str, Any]]
    newTodos: list[dict[str, Any]]
    verificationNudgeNeeded: NotRequired[bool]


class TodoWrite(Tool[TodoWriteArgs, TodoWriteOutput]):
    """Keeps one list for each agent."""

    name, args_type = "TodoWrite", TodoWriteArgs
    output_type = TodoWriteOutput
    search_hint = "plan steps, track progress, checklist of work"
    max_result_chars = 100_000
    session_state = should_defer = strict = True
    read_only = True

    def __init__(self, work: WorkList | None = None) -> None:
        self.work = work or WorkList()

    def effects(self, args: TodoWriteArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the session's own list."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: TodoWriteArgs) -> str | None:
        """The items."""
        return "the list of things to do: " + "; ".join(item.content for item in args.todos)[:_CLASSIFIED_CHARS]

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """How far the list is."""
        given = raw.get("todos")
        rows: list[Any] = given if isinstance(given, list) else []  # pyright: ignore[reportUnknownVariableType] - partial input
        done = sum(1 for row in rows if isinstance(row, dict) and row.get("status") == "completed")  # pyright: ignore[reportUnknownMemberType]
        return f"{self.name}({done} of {len(rows)} done)"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The list as it is now."""
        from holdfast.tools.lists.drawing import list_lines  # noqa: PLC0415 - only faces draw

        return list_lines(result.data["newTodos"], "content", condensed=condensed) if result.data else result.text

    async def validate(self, args: TodoWriteArgs, ctx: ToolContext) -> None:
        """At most one item is worked on, and names are not used twice."""
        del ctx
        working = [item.content for item in args.todos if item.status == "in_progress"]
        if len(working) > 1:
            raise ArgumentsInvalid(
                f"{len(working)} items are in_progress ({', '.join(map(repr, working[:3]))}); leave one, the others "
                "are pending or completed",
                error_code=1,
            )
        names = [item.id for item in args.todos if item.id is not None]
        if len(set(names)) != len(names):
            raise ArgumentsInvalid("two items have the same id; give each its own", error_code=2)

    async def call(self, args: TodoWriteArgs, ctx: ToolContext) -> ToolResult[TodoWriteOutput]:
        """Replace the list in one step."""
        agent = ctx.session.agent_id or _MAIN
        given = [Todo(item.content, item.status, item.activeForm, item.id, item.priority) for item in args.todos]
        is_done = bool(given) and all(item.status == "completed" for item in given)

        def replace(state: WorkState) -> list[Todo]:
            old = state.todos.get(agent, [])
            state.todos[agent] = [] if is_done else given
            return old

        old = self.work.change(replace)
        data: TodoWriteOutput = {
            "oldTodos": [_shown(item) for item in old],
            "newTodos": [_shown(item) for item in given],
        }
        nudge = is_done and needs_check(len(given)) and not is_check(*(item.content for item in given))
        if nudge:
            data["verificationNudgeNeeded"] = True
        return ToolResult(data, _reply(given, is_done=is_done) + (f" {NUDGE}" if nudge else ""))


def _shown(item: Todo) -> dict[str, Any]:
    fields = {"content": item.content, "status": item.status, "activeForm": item.activeForm}
    fields |= {"id": item.id, "priority": item.priority}
    return {name: value for name, value in fields.items() if value is not None}


def _reply(items: list[Todo], *, is_done: bool) -> str:
    if not items:
        return "The list is empty."
    if is_done:
        return "All items are completed, so the list is cleared."
    working = next((item for item in items if item.status == "in_progress"), None)
    left = sum(1 for item in items if item.status == "pending")
    active = (
        "no item is in progress; set the next one before you go on"
        if working is None
        else (f"in progress: {working.activeForm or working.content}")
    )
    return f"The list is saved: {active}; {left} pending."

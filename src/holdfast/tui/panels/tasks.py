"""The list of work and the background tasks, with what they write; x ends one."""

import time
from functools import partial
from typing import TYPE_CHECKING

from holdfast.app.belongings import work_items
from holdfast.lib.visible import visible
from holdfast.tasks.output import read_output
from holdfast.tui.panels.pages import Actions, ListPage, Page, Row, TextPage
from holdfast.tui.show.words import Line, shown_lines

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.tasks.states import TaskRecord

__all__ = ["tasks_page"]

_MARKS = {"completed": ("dim", "☒"), "in_progress": ("accent", "◐")}
_STATES = {"running": "accent", "completed": "ok", "failed": "bad", "killed": "warn"}
_SHOWN_CHARS = 200_000


def tasks_page(agent: "RunningAgent") -> Page:
    """What is to be done, and what runs in the background."""

    def rows() -> list[Row]:
        work = [_work_row(status, subject) for status, subject in work_items(agent)]
        return [*work, *(_task_row(agent, task) for task in reversed(agent.tasks))]

    return ListPage("Tasks", rows, empty="no list of work, and nothing in the background")


def _work_row(status: str, subject: str) -> Row:
    style, mark = _MARKS.get(status, ("", "☐"))
    return Row([(style, f"{mark} {visible(subject)}")])


def _task_row(agent: "RunningAgent", task: "TaskRecord") -> Row:
    ended = task.end_time or time.time() * 1000
    took = max(0.0, ended - task.start_time) / 1000
    line: Line = [
        (_STATES.get(task.status, ""), f"{task.id}  {task.status:<9}"),
        ("dim", f" {took:.0f} s  "),
        ("", visible(task.description or task.command or "")),
    ]
    return Row(line, open=lambda: _output(agent, task), actions=_actions(agent, task))


def _actions(agent: "RunningAgent", task: "TaskRecord") -> Actions:
    return {"x": ("ends it", partial(_stop, agent, task.id))} if task.status in ("running", "pending") else {}


def _output(agent: "RunningAgent", task: "TaskRecord") -> Page:
    def now() -> "TaskRecord":
        return next((one for one in agent.tasks if one.id == task.id), task)

    def lines() -> list[Line]:
        found, it = read_output(task.output_file, _SHOWN_CHARS), now()
        head: list[Line] = [[("dim", f"{it.status}  {visible(it.command or it.prompt or '', limit_chars=400)}")], []]
        return [*head, *([("", line)] for line in shown_lines(found.text.rstrip("\n")))]

    title = f"{task.id}  {visible(task.description)}"
    return TextPage(title, lines, follows=True, actions=lambda: _actions(agent, now()))


async def _stop(agent: "RunningAgent", task_id: str) -> None:
    await agent.stop_task(task_id)

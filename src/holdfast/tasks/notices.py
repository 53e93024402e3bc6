"""The end of a task, in words for the model."""

from typing import NamedTuple

from holdfast.contract.names import AGENT_TASKS
from holdfast.tasks.states import TaskRecord

__all__ = ["TaskNotice", "notice_text"]

_REPORT_CHARS = 20_000


class TaskNotice(NamedTuple):
    """The end of a task, for the model."""

    record: TaskRecord
    text: str


def notice_text(record: TaskRecord, *, has_task_output: bool) -> str:
    """The end of a task in words for the model; they name no tool that it is not offered."""
    how = {
        "completed": "has completed",
        "failed": "has failed",
        "killed": "was stopped",
    }[record.status]
    if record.type in AGENT_TASKS:
        return _of_agent(record, how, has_task_output=has_task_output)
    code = "" if record.exit_code is None else f" with exit code {record.exit_code}"
    why = f" ({record.error})" if record.error else ""
    where = "TaskOutput shows what it wrote; the file is" if has_task_output else "What it wrote is in"
    return f"Background task {record.id} ({record.description!r}) {how}{code}{why}. {where} {record.output_file}."


def _of_agent(record: TaskRecord, how: str, *, has_task_output: bool) -> str:
    """With its report, so that nobody has to ask for it."""
    why = f" ({record.error})" if record.error else ""
    opening = f"The agent {record.id} ({record.description!r}), which worked in the background, {how}{why}."
    report = record.result or ""
    if not report:
        return f"{opening} It left no message."
    if len(report) <= _REPORT_CHARS:
        return f"{opening} Its last message:\n\n{report}"
    rest = "TaskOutput shows all of it" if has_task_output else f"all of it is in {record.output_file}"
    return f"{opening} The beginning of its last message ({rest}):\n\n{report[:_REPORT_CHARS]}"

"""The end of a task, in words for the model."""

from typing import NamedTuple

from holdfast.tasks.states import TaskRecord

__all__ = ["TaskNotice", "notice_text"]


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
    code = "" if record.exit_code is None else f" with exit code {record.exit_code}"
    why = f" ({record.error})" if record.error else ""
    where = "TaskOutput shows what it wrote; the file is" if has_task_output else "What it wrote is in"
    return f"Background task {record.id} ({record.description!r}) {how}{code}{why}. {where} {record.output_file}."

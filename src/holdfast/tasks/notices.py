"""The end of a task, in words for the model."""

from typing import NamedTuple

from holdfast.tasks.states import TaskRecord

__all__ = ["TaskNotice", "notice_text"]


class TaskNotice(NamedTuple):
    """The end of a task, for the model."""

    record: TaskRecord
    text: str


def notice_text(record: TaskRecord) -> str:
    """The end of a task in words for the model."""
    how = {
        "completed": "has completed",
        "failed": "has failed",
        "killed": "was stopped",
    }[record.status]
    code = "" if record.exit_code is None else f" with exit code {record.exit_code}"
    why = f" ({record.error})" if record.error else ""
    return (
        f"Background task {record.id} ({record.description!r}) {how}{code}{why}. "
        f"TaskOutput shows what it wrote; the file is {record.output_file}."
    )

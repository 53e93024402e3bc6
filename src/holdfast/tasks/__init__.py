"""Work that outlives a call: states, output files, notices, and records that survive a crash."""

from holdfast.tasks.board import TaskBoard, TooManyTasks
from holdfast.tasks.notices import TaskNotice
from holdfast.tasks.places import Places
from holdfast.tasks.states import TaskRecord, TaskStatus, TaskType, is_terminal, new_task_id

__all__ = [
    "Places",
    "TaskBoard",
    "TaskNotice",
    "TaskRecord",
    "TaskStatus",
    "TaskType",
    "TooManyTasks",
    "is_terminal",
    "new_task_id",
]

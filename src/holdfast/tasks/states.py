"""What a task is at one moment: its kind, its state, where its output is."""

import os
import time
from typing import Literal, get_args

import msgspec

__all__ = ["RECORD_VERSION", "TaskRecord", "TaskStatus", "TaskType", "is_task_id", "is_terminal", "new_task_id"]

TaskType = Literal[
    "local_bash", "local_agent", "remote_agent", "in_process_teammate", "local_workflow", "monitor_mcp", "dream"
]
TaskStatus = Literal["pending", "running", "completed", "failed", "killed"]

RECORD_VERSION = 1
_PREFIX: dict[str, str] = dict(zip(get_args(TaskType), "bartwmd", strict=True))
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARS = 8
_RANDOM_BYTES = 8
"""Many more than the characters hold, so that each of them is as likely as any."""


class TaskRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One task as it is written down; a change makes a new one."""

    id: str
    type: TaskType
    status: TaskStatus
    description: str
    output_file: str
    start_time: float = 0.0
    """Milliseconds since 1970, as `end_time`."""
    end_time: float | None = None
    total_paused_ms: float | None = None
    output_offset: int = 0
    """How many bytes of the output the model has been shown."""
    notified: bool = False
    """The model knows that the task ended."""
    tool_use_id: str | None = None
    command: str | None = None
    cwd: str | None = None
    pid: int | None = None
    start_ticks: int = 0
    """With the pid, what tells this process from a later one of the same number."""
    exit_code: int | None = None
    error: str | None = None
    prompt: str | None = None
    """Of an agent: what it was asked to do."""
    result: str | None = None
    """Of an agent: its last message."""
    version: int = RECORD_VERSION


def is_terminal(status: TaskStatus) -> bool:
    """Whether a task in this state has ended for good."""
    return status in ("completed", "failed", "killed")


def new_task_id(kind: TaskType) -> str:
    """A fresh id: the letter of its type and eight random characters."""
    number, chars = int.from_bytes(os.urandom(_RANDOM_BYTES)), ""
    for _ in range(_RANDOM_CHARS):
        number, place = divmod(number, len(_ALPHABET))
        chars += _ALPHABET[place]
    return _PREFIX[kind] + chars


def is_task_id(text: str) -> bool:
    """Whether a text has the shape of an id, so that it is safe in a file name."""
    shaped = len(text) == _RANDOM_CHARS + 1 and text[0] in _PREFIX.values()
    return shaped and all(char in _ALPHABET for char in text[1:])


def now_ms() -> float:
    """The time as records write it."""
    return round(time.time() * 1000)

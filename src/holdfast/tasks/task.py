"""One task while its session knows it."""

import asyncio

from holdfast.host.command import Command
from holdfast.host.process import Process
from holdfast.tasks.jobs import Job
from holdfast.tasks.shell import ExitMeaning, no_meaning
from holdfast.tasks.states import TaskRecord, is_terminal

__all__ = ["Task", "is_news", "wait_for"]


class Task:
    """One task while this session knows it."""

    def __init__(
        self, record: TaskRecord, *, command: Command | None = None, meaning: ExitMeaning = no_meaning
    ) -> None:
        self.record = record
        self.command = command
        """What to start once there is room; None once it runs."""
        self.meaning = meaning
        self.process: Process | None = None
        self.job: Job | None = None
        """What works in this process, where the task is none of its own."""
        self.watcher: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        self.stopping = False


def is_news(record: TaskRecord) -> bool:
    """The model does not know yet that it has ended."""
    return is_terminal(record.status) and not record.notified


async def wait_for(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for it, but not longer; whether it has happened."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True

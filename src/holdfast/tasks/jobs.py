"""Work of this very process that goes on as a task, such as an agent; and how many agents may work at a time."""

import asyncio
import os
from typing import NamedTuple, Protocol

from holdfast.contract import HoldfastError
from holdfast.lib.collector import as_often_as_usual, more_seldom
from holdfast.tasks.states import TaskStatus

__all__ = ["MAX_AGENTS", "AgentRoom", "Job", "JobEnd", "TooManyTasks", "append_output", "end_jobs", "job_end"]

MAX_AGENTS = 50
_MANY = 16
"""So many conversations side by side are worth another rhythm of the garbage collector."""


class TooManyTasks(HoldfastError):
    """No room for another task; the text says what to do."""


class JobEnd(NamedTuple):
    """What came of it."""

    status: TaskStatus
    result: str = ""
    error: str | None = None


class Job(Protocol):
    """Something that works by itself."""

    @property
    def work(self) -> "asyncio.Task[JobEnd]":
        """All of it; cancelled, it ends what it started before it ends itself."""
        ...

    def tell_into(self, path: str) -> None:
        """From now on tell what is done in this file, a line each."""
        ...


class AgentRoom:
    """How many agents may work at the same time in one session, in the background or not."""

    __slots__ = ("limit", "working")

    def __init__(self, limit: int = MAX_AGENTS) -> None:
        self.limit = limit
        self.working = 0

    def enter(self) -> None:
        """Take the place of one more; nobody waits for it, because those who have one may wait for those who do not.

        Raises:
            TooManyTasks: So many work already.
        """
        if self.working >= self.limit:
            raise TooManyTasks(
                f"{self.working} agents are running, which is the limit (`agents.maxRunning` in the settings); "
                "wait until one of them is done, or do it yourself"
            )
        self.working += 1
        if self.working == _MANY:
            more_seldom()

    def leave(self) -> None:
        """One has ended."""
        if self.working == _MANY:
            as_often_as_usual()
        self.working -= 1


def append_output(path: str, text: str) -> None:
    """Add to a task's output; trouble with the disk never stops the work."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o600)
    except OSError:
        return
    try:
        os.write(handle, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return
    finally:
        os.close(handle)


def job_end(job: Job) -> JobEnd:
    """What came of work that has ended, however it did."""
    if job.work.cancelled():
        return JobEnd("killed")
    failed = job.work.exception()
    return job.work.result() if failed is None else JobEnd("failed", "", f"it crashed ({type(failed).__name__})")


async def end_jobs(jobs: list[Job]) -> None:
    """Stop them all, then wait for all."""
    for job in jobs:
        job.work.cancel()
    if jobs:
        await asyncio.wait({job.work for job in jobs})

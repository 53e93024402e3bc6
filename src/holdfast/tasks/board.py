"""All background tasks of one session: started, watched, ended, and told about exactly once."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from holdfast.events import Event, TaskChanged
from holdfast.host import tree
from holdfast.host.command import Command, Exit, StartError
from holdfast.host.process import Process
from holdfast.host.processes import Processes
from holdfast.tasks.jobs import MAX_AGENTS, AgentRoom, Job, TooManyTasks, append_output, end_jobs, job_end
from holdfast.tasks.notices import TaskNotice, notice_text
from holdfast.tasks.places import Places
from holdfast.tasks.records import TaskRecords, read_records
from holdfast.tasks.shell import ExitMeaning, no_meaning, outcome
from holdfast.tasks.states import TaskRecord, TaskStatus, TaskType, is_terminal, new_task_id, now_ms
from holdfast.tasks.task import Task, is_news, wait_for

__all__ = ["MAX_RUNNING", "MAX_TASKS", "Task", "TaskBoard", "TooManyTasks"]

_log = logging.getLogger(__name__)
MAX_TASKS = 64
MAX_RUNNING = 16
_KEPT_ENDED = 256
_LOST = "Holdfast ended before this task did"
_SESSION_ENDED = "the session ended"


class TaskBoard:
    """Owns the background tasks and the processes of one session.

    The processes belong to the running event loop: `leave_loop` ends them, and a later loop may start new ones.
    """

    def __init__(
        self,
        places: Places | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        session_id: str | None = None,
        registry_directory: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        max_tasks: int = MAX_TASKS,
        max_running: int = MAX_RUNNING,
        max_agents: int = MAX_AGENTS,
    ) -> None:
        """Get ready; with a session's directory, what an earlier run left there is taken over as ended.

        Args:
            places: Where outputs go; temporary when omitted.
            environment: What children see, from `child_environment`.
            session_id: Goes into the mark of the children.
            registry_directory: Where the processes are noted for the next start, see `Processes`.
            on_event: Told about every change of a task.
            max_tasks: So many processes may wait or run.
            max_running: So many processes are started; the others wait.
            max_agents: So many agents may work, in the background or not.
        """
        self.places = places or Places()
        self.on_event = on_event
        self._environment = environment
        self._session_id = session_id
        self._registry_directory = registry_directory
        self._max_tasks = max_tasks
        self._max_running = max_running
        self.agents = AgentRoom(max_agents)
        self._processes: Processes | None = None
        self._tasks: dict[str, Task] = {}
        self._something_ended = asyncio.Event()
        self._woken_for: set[str] = set()
        self._records = None if self.places.is_temporary else TaskRecords(self.places.tasks)
        if self._records is not None:
            self._take_over(read_records(self.places.tasks))

    # Processes.

    @property
    def processes(self) -> Processes:
        """The processes of the running loop, made when first needed."""
        if self._processes is None:
            self._processes = Processes(
                session_id=self._session_id, registry_dir=self._registry_directory, environment=self._environment
            )
        return self._processes

    async def leave_loop(self) -> None:
        """End every task and process: the event loop ends now."""
        processes, self._processes = self._processes, None
        alive = self._alive()
        await end_jobs([task.job for task in alive if task.job is not None])
        watchers = [task.watcher for task in alive if task.watcher is not None]
        for watcher in watchers:
            watcher.cancel()
        if watchers:
            await asyncio.wait(watchers)
        if processes is not None:
            await processes.close()
        for task in alive:
            if not is_terminal(task.record.status):
                self._finish(task, "killed", error=_SESSION_ENDED)
        self._something_ended = asyncio.Event()

    async def close(self) -> None:
        """End everything and remove temporary files."""
        await self.leave_loop()
        self.places.remove()

    # Tasks in.

    async def launch(
        self, command: Command, *, description: str, tool_use_id: str, text: str, meaning: ExitMeaning = no_meaning
    ) -> TaskRecord:
        """Run a command as a task from its start; it waits while too many others run.

        Raises:
            TooManyTasks: No room for another.
            StartError: It could not be started.
        """
        self._check_room()
        record = self._new_record(description, tool_use_id, text, command.cwd)
        task = Task(record, command=command, meaning=meaning)
        self._tasks[record.id] = task
        if self._count_processes() < self._max_running:
            try:
                await self._start(task)
            except StartError:
                del self._tasks[record.id]
                raise
        else:
            self._note(task)
        return task.record

    def adopt(
        self, process: Process, *, description: str, tool_use_id: str, text: str, meaning: ExitMeaning = no_meaning
    ) -> TaskRecord:
        """Move a running process to the background.

        Raises:
            TooManyTasks: No room for another; the process stays as it is.
        """
        self._check_room()
        record = self._new_record(description, tool_use_id, text, process.command.cwd)
        task = Task(record, meaning=meaning)
        self._tasks[record.id] = task
        self._watch(task, process)
        return task.record

    def adopt_job(
        self, job: Job, *, task_id: str, kind: TaskType, description: str, tool_use_id: str, prompt: str, cwd: str
    ) -> TaskRecord:
        """Take over work that goes on in this process, under the id that it has; its room is its own affair."""
        record = TaskRecord(
            id=task_id,
            type=kind,
            status="pending",
            description=description,
            output_file=self.places.task_file(task_id),
            start_time=now_ms(),
            tool_use_id=tool_use_id or None,
            prompt=prompt,
            cwd=cwd or None,
        )
        task = self._tasks[task_id] = Task(record)
        task.job = job
        job.tell_into(record.output_file)
        self._change(task, status="running")
        task.watcher = asyncio.get_running_loop().create_task(self._wait_for_job(task, job))
        return task.record

    # Looking.

    def get(self, task_id: str) -> TaskRecord | None:
        """The present state of a task."""
        task = self._tasks.get(task_id)
        return None if task is None else task.record

    def all(self) -> list[TaskRecord]:
        """Every known task, oldest first."""
        return [task.record for task in self._tasks.values()]

    def at_work_in(self, directory: str) -> list[TaskRecord]:
        """The tasks that have not ended and began in this directory or below it."""
        inside = directory.rstrip(os.sep) + os.sep
        return [task.record for task in self._alive() if f"{task.record.cwd or ''}{os.sep}".startswith(inside)]

    def process_of(self, task_id: str) -> Process | None:
        """The process of a running task."""
        task = self._tasks.get(task_id)
        return None if task is None else task.process

    async def wait(self, task_id: str, timeout_s: float) -> TaskRecord | None:
        """Wait for a task's end, but not longer; its state then."""
        task = self._tasks.get(task_id)
        if task is None:
            return None
        if not is_terminal(task.record.status) and timeout_s > 0:
            await wait_for(task.ended, timeout_s)
        return task.record

    async def wait_for_any_end(self, timeout_s: float) -> bool:
        """Wait until a task ends whose end the model does not know yet; false when the time is over.

        Each end wakes once, whether or not somebody takes the notices.
        """
        if not self._has_fresh_news():
            self._something_ended.clear()
            await wait_for(self._something_ended, timeout_s)
        woken = self._has_fresh_news()
        self._woken_for = {task.record.id for task in self._tasks.values() if is_news(task.record)}
        return woken

    # Ending.

    async def stop(self, task_id: str) -> TaskRecord | None:
        """End a task and everything it started; returns when all of it is gone."""
        task = self._tasks.get(task_id)
        if task is None or is_terminal(task.record.status):
            return None if task is None else task.record
        task.stopping = True
        if task.process is not None:
            await task.process.kill_tree()
        if task.job is not None and task.watcher is not None:
            await end_jobs([task.job])
            await asyncio.wait({task.watcher})
        if not is_terminal(task.record.status):
            self._finish(task, "killed")
        return task.record

    # Notices.

    @property
    def has_notices(self) -> bool:
        """Whether some end has not been told yet."""
        return any(is_news(task.record) for task in self._tasks.values())

    def take_notices(self, *, has_task_output: bool = True) -> list[TaskNotice]:
        """The ends that the model does not know yet, each exactly once; the caller tells the model.

        Args:
            has_task_output: The model is offered TaskOutput. A resumed session may have tasks and no such tool.
        """
        taken: list[TaskNotice] = []
        for task in self._tasks.values():
            if is_news(task.record):
                self.mark_told(task.record)
                taken.append(TaskNotice(task.record, notice_text(task.record, has_task_output=has_task_output)))
        return taken

    def mark_told(self, shown: TaskRecord, *, offset: int | None = None) -> None:
        """The model was shown this state of a task, and its output up to an offset."""
        task = self._tasks.get(shown.id)
        if task is None:
            return
        # What ended since it was shown is still news.
        told = task.record.notified or is_terminal(shown.status)
        seen = task.record.output_offset if offset is None else offset
        if (told, seen) != (task.record.notified, task.record.output_offset):
            task.record = msgspec.structs.replace(task.record, notified=told, output_offset=seen)
            self._write(task.record)

    # Inside.

    def _has_fresh_news(self) -> bool:
        return any(is_news(task.record) and task.record.id not in self._woken_for for task in self._tasks.values())

    def _take_over(self, records: Mapping[str, TaskRecord]) -> None:
        for record in list(records.values())[-_KEPT_ENDED:]:
            task = self._tasks[record.id] = Task(record)
            task.ended.set()
            if not is_terminal(record.status):
                # Its end is not known better than that: the guard, or the next start, has ended what was left.
                task.record = msgspec.structs.replace(record, status="killed", end_time=now_ms(), error=_LOST)
                self._write(task.record)

    def _alive(self) -> list[Task]:
        return [task for task in self._tasks.values() if not is_terminal(task.record.status)]

    def _count_processes(self) -> int:
        return sum(task.record.status == "running" and task.job is None for task in self._tasks.values())

    def _check_room(self) -> None:
        alive = sum(task.job is None for task in self._alive())
        if alive >= self._max_tasks:
            raise TooManyTasks(
                f"{alive} background tasks are waiting or running, which is the limit; stop one with TaskStop or wait"
            )

    def _new_record(self, description: str, tool_use_id: str, text: str, cwd: str | None) -> TaskRecord:
        kind: TaskType = "local_bash"
        task_id = new_task_id(kind)
        while task_id in self._tasks:
            task_id = new_task_id(kind)
        return TaskRecord(
            id=task_id,
            type=kind,
            status="pending",
            description=description,
            output_file=self.places.task_file(task_id),
            start_time=now_ms(),
            tool_use_id=tool_use_id or None,
            command=text,
            cwd=cwd,
        )

    async def _start(self, task: Task) -> None:
        assert task.command is not None
        process = await self.processes.start(task.command)
        self._watch(task, process)

    def _watch(self, task: Task, process: Process) -> None:
        process.detach(task.record.output_file)
        task.command = None
        task.process = process
        entry = tree.read_entry(process.pid)
        self._change(
            task,
            status="running",
            pid=process.pid,
            start_ticks=0 if entry is None else entry.start_ticks,
            # A long output has its file already; both streams go on into that one.
            output_file=process.output.spill_path or task.record.output_file,
        )
        task.watcher = asyncio.get_running_loop().create_task(self._wait_for_end(task, process))

    async def _wait_for_end(self, task: Task, process: Process) -> None:
        ended: Exit = await process.wait()
        if not is_terminal(task.record.status):
            status, code, error = outcome(ended, task.meaning, was_stopped=task.stopping)
            self._finish(task, status, exit_code=code, error=error)
        await self._start_waiting()

    async def _wait_for_job(self, task: Task, job: Job) -> None:
        await asyncio.wait({job.work})
        if is_terminal(task.record.status):
            return
        ended = job_end(job)
        if ended.result:
            append_output(task.record.output_file, f"{ended.result}\n")
        status = "killed" if task.stopping and ended.status != "completed" else ended.status
        self._finish(task, status, error=None if status == "killed" else ended.error, result=ended.result or None)

    async def _start_waiting(self) -> None:
        for task in self._alive():
            if self._count_processes() >= self._max_running:
                return
            if task.command is not None and not task.stopping:
                try:
                    await self._start(task)
                except StartError as error:
                    self._finish(task, "failed", error=str(error))

    def _finish(self, task: Task, status: TaskStatus, **facts: Any) -> None:
        task.process = None
        task.command = None
        task.job = None
        self._change(task, status=status, end_time=now_ms(), **facts)
        task.ended.set()
        self._something_ended.set()
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        ended = [task.record.id for task in self._tasks.values() if is_terminal(task.record.status)]
        for task_id in ended[: max(0, len(ended) - _KEPT_ENDED)]:
            if not is_news(self._tasks[task_id].record):
                del self._tasks[task_id]

    def _change(self, task: Task, **changes: Any) -> None:
        task.record = msgspec.structs.replace(task.record, **changes)
        self._note(task)

    def _note(self, task: Task) -> None:
        record = task.record
        self._write(record)
        if self.on_event is not None:
            self.on_event(
                TaskChanged(
                    record.id,
                    record.type,
                    record.status,
                    record.description,
                    record.tool_use_id,
                    record.exit_code,
                    record.output_file,
                )
            )

    def _write(self, record: TaskRecord) -> None:
        if self._records is not None:
            self.places.make(self.places.tasks)
            self._records.write(record)

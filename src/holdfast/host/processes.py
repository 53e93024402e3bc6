"""Start processes and own them: nothing that was started here outlives its owner."""

import asyncio
import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from holdfast.host import guard, tree
from holdfast.host.capture import Output, SpillFile
from holdfast.host.census import Census
from holdfast.host.cgroup import TASKS_PER_DESCENDANT, TaskLimit, limit_tasks
from holdfast.host.child_env import ChildEnvironments, child_environment
from holdfast.host.command import KILL_GRACE_S, Command, Entering, Finished, StartError, Stopped
from holdfast.host.pipes import SparePipes
from holdfast.host.plumbing import Plumbing
from holdfast.host.poller import Poller
from holdfast.host.process import Process, uninterrupted
from holdfast.host.registry import ProcessRegistry
from holdfast.host.sidecar import Sidecar
from holdfast.host.watchdog import MAX_DESCENDANTS, TICK_S, Pressure
from holdfast.lib import posix
from holdfast.lib.closing import ClosedAtExit
from holdfast.lib.shortage import shortage

if TYPE_CHECKING:
    from holdfast.host.handed_over import HandedOver

_GIVE_UP_S = 5.0
_SIDECAR_END_S = 2.0
_UNKNOWN_ZOMBIE_S = 600.0


class Processes(ClosedAtExit):
    """The processes of one session. Use it as an async context manager: what it started ends with it."""

    def __init__(
        self,
        *,
        session_id: str | None = None,
        registry_dir: str | None = None,
        environment: Mapping[str, str] | None = None,
        max_descendants: int = MAX_DESCENDANTS,
        uses_pidfd: bool = True,
    ) -> None:
        """Get ready; nothing is started yet.

        Args:
            session_id: Goes into the mark that children carry in their environment.
            registry_dir: A private directory for the record of what runs, for `reap_leftovers` at the next start.
            environment: What children see, from `child_environment`; our own scrubbed one when omitted.
            max_descendants: From this many on, the largest job is ended.
            uses_pidfd: False: wait in threads, as systems without pidfd must.
        """
        # Two owners may work on one session (a resumed copy), so the mark is more than the session's id.
        self.mark = f"{session_id or 'session'}-{os.urandom(6).hex()}"
        self._environments = ChildEnvironments(child_environment() if environment is None else environment, self.mark)
        self._jobs = itertools.count(1)
        self._running: dict[int, Process] = {}
        self._lingering: dict[int, Process] = {}
        self._entered: dict[int, Entering] = {}
        self._hands_over = False
        self._zombies: dict[int, float] = {}
        self._has_orphans = self._has_strangers = False
        self._census = Census(self.mark)
        self._pressure = Pressure()
        self._max_descendants = max_descendants
        self._poller: Poller | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._limiting: asyncio.Future[TaskLimit | None] | None = None
        self._is_closed = False
        self._spare = SparePipes()
        self._nothing = os.open(os.devnull, os.O_RDONLY | posix.O_CLOEXEC)
        self._uses_pidfd = uses_pidfd and hasattr(os, "pidfd_open")
        self._is_guarded = guard.is_guarded()
        self._registry = ProcessRegistry(registry_dir, self.mark, guard_pid=os.getppid() if self._is_guarded else 0)
        self._sidecar = None if self._is_guarded else Sidecar(self._registry.fd)

    @property
    def running(self) -> tuple[Process, ...]:
        """Processes that have not ended."""
        return tuple(self._running.values())

    async def run(self, command: Command) -> Finished:
        """Start a process and wait for its end. Cancelled, it ends the whole tree before it returns."""
        process = await self.start(command)
        try:
            return await process.finished()
        except asyncio.CancelledError:
            await process.kill_tree()
            raise

    async def start(self, command: Command) -> Process:
        """Start a process in a session of its own, without a terminal.

        Raises:
            StartError: It could not be started.
        """
        self._check(command)
        poller = self._get_poller()
        job = next(self._jobs)
        entered = None if command.wall is None else command.wall.enter(command)
        plumbing = Plumbing(command if entered is None else entered.command, self._nothing, self._spare)
        try:
            pid = self._spawn(command if entered is None else entered.command, plumbing, job)
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            plumbing.close()
            if entered is not None:
                entered.left()
            raise StartError(_explain(command, problem)) from problem
        if entered is not None:
            entered.started()
            self._entered[job] = entered
        spill = None if command.spill_path is None else SpillFile(command.spill_path, command.cap_bytes)
        output = Output(kept_bytes=command.kept_bytes, spill=spill, is_merged=command.merge_stderr)
        process = Process(
            command,
            pid,
            poller=poller,
            output=output,
            find=self._census.finder(job, pid),
            on_exit=self._meet_orphans,
            on_finish=self._finished,
            pidfd=_open_pidfd(pid) if self._uses_pidfd else None,
        )
        process.job = job
        self._running[job] = process
        plumbing.connect(process, output, poller)
        self._registry.started(pid)
        self._watch()
        self._spare.refill()
        if entered is not None:
            try:
                await entered.opened()
            except BaseException:
                await process.kill_tree(0.0)
                raise
        return process

    def hand_over(self, directory: str, name: str) -> "HandedOver":
        """A command that another program will start; what it leaves running ends with us, too.

        Raises:
            OSError: There is no place for it.
        """
        from holdfast.host.handed_over import HandedOver  # noqa: PLC0415 - only in an editor with terminals

        self._hands_over = True
        return HandedOver(directory, name, self._environments.job_entry(next(self._jobs)), self._environments.of)

    def _check(self, command: Command) -> None:
        if not command.argv:
            raise StartError("The command is empty. Name a program to start.")
        if not posix.has_process_groups():
            raise StartError(f"{_name(command)} was not started: {posix.NO_PROCESSES}.")
        if self._is_closed or guard.is_closing():
            raise StartError(f"{_name(command)} was not started: this session is ending.")

    def _spawn(self, command: Command, plumbing: Plumbing, job: int) -> int:
        if self._sidecar is not None and not self._sidecar.has_begun:
            self._sidecar.ensure()
        environment = self._environments.of(command.env, inherits=command.inherits_env)
        return plumbing.spawn(environment, self._environments.job_entry(job))

    def _get_poller(self) -> Poller:
        loop = asyncio.get_running_loop()
        if self._poller is None:
            self._poller = Poller(loop)
        elif self._poller.loop is not loop:
            raise ValueError("These processes belong to another event loop. Make one `Processes` per loop.")
        return self._poller

    def _finished(self, process: Process) -> None:
        self._running.pop(process.job, None)
        if self._is_guarded and not self._has_orphans and not tree.send_group(process.pid, 0):
            self._forget(process)
        else:
            self._lingering[process.job] = process
            self._pressure.look_soon()

    def _meet_orphans(self) -> None:
        """A process ended, and its children may have come to us: see whose they are while they can be seen."""
        if not self._is_guarded:
            return
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                children = file.read().split()
        except OSError:
            self._has_orphans = True
            return
        known = {process.pid for process in self._running.values()}
        unknown = [pid for child in children if (pid := int(child)) not in known]
        self._has_orphans = bool(unknown)
        if unknown:
            sessions = {process.pid: job for job, process in (self._lingering | self._running).items()}
            are_clear = [self._census.recognise(pid, sessions) for pid in unknown]
            self._has_strangers = not all(are_clear)

    def _forget(self, process: Process) -> None:
        self._lingering.pop(process.job, None)
        self._registry.ended(process.pid)
        entered = self._entered.pop(process.job, None)
        if entered is not None:
            entered.left()  # not before: a wall stands until nobody is behind it

    # -- watching

    def _watch(self) -> None:
        if self._timer is None and not self._is_closed:
            self._pressure.look_soon()
            self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        # The next tick is set first: whatever a look raises when the machine is short of everything, the watch goes on.
        is_needed = bool(self._running or self._lingering)
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick) if is_needed else None
        if self._sidecar is not None:
            with contextlib.suppress(OSError):  # somebody has ended it, and now it cannot start: the next tick tries
                self._sidecar.ensure()
        if self._has_strangers:
            self._meet_orphans()
        if self._pressure.should_look():
            self._look()
        if self._is_guarded and self._limiting is None:
            self._limiting = asyncio.ensure_future(
                asyncio.to_thread(limit_tasks, self._max_descendants * TASKS_PER_DESCENDANT)
            )

    def _look(self) -> None:
        """See who belongs to whom: forget jobs whose last process is gone, end a job that grows without end."""
        everyone = self._lingering | self._running
        table = tree.scan()
        members = self._census.take({job: process.pid for job, process in everyone.items()}, table)
        sizes = {job: sum(entry.is_running for entry in found) for job, found in members.items()}
        if self._is_guarded:
            self._reap_orphans(table)
        for job, process in list(self._lingering.items()):
            if not sizes[job] and (table or not tree.send_group(process.pid, 0)):
                self._forget(process)
        if sum(sizes.values()) >= self._max_descendants:
            largest = everyone[max(sizes, key=sizes.__getitem__)]
            self._keep(asyncio.ensure_future(largest.kill_tree(0.0, stopped_by=Stopped.WATCHDOG)))

    def _keep(self, task: asyncio.Task[object]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reap_orphans(self, table: tree.Table) -> None:
        """Collect ended processes that came to us as their subreaper, and never a child that somebody waits for."""
        me = os.getpid()
        my_session = os.getsid(0)
        ours = {process.pid for process in self._running.values()}
        now = time.monotonic()
        zombies: dict[int, float] = {}
        for entry in table.values():
            if entry.parent != me or entry.is_running or entry.pid in ours:
                continue
            since = zombies[entry.pid] = self._zombies.get(entry.pid, now)
            # Another library's child is in our session or leads its own; it gets time to be collected there.
            is_orphan = self._census.is_known(entry) or entry.session not in (my_session, entry.pid)
            if is_orphan or now - since > _UNKNOWN_ZOMBIE_S:
                tree.reap_adopted([entry.pid])
        self._zombies = zombies

    # -- the end of the session

    async def close(self, grace_s: float = KILL_GRACE_S) -> None:
        """End everything that was started here, also what was left in the background; nothing starts any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await uninterrupted(asyncio.ensure_future(self._end_everything(grace_s)))

    async def _end_everything(self, grace_s: float) -> None:
        everyone = self._lingering | self._running
        if everyone:
            await self._end_jobs(everyone, grace_s)
        if self._hands_over:
            from holdfast.host.handed_over import end_marked  # noqa: PLC0415 - loaded by then

            await end_marked(f"{tree.SESSION_MARK}={self.mark}".encode(), grace_s)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GIVE_UP_S)
        if self._limiting is not None and (limit := await self._limiting) is not None:
            await asyncio.to_thread(limit.close)
        sidecar = self._sidecar
        if sidecar is not None:
            sidecar.close()
            await _poll(lambda: not sidecar.has_ended(), _SIDECAR_END_S)
            sidecar.leave()  # on a busy machine it may not even have begun
        self._registry.close()
        self._spare.close()
        if self._nothing >= 0:
            os.close(self._nothing)
            self._nothing = -1
        if self._poller is not None:
            self._poller.close()

    async def _end_jobs(self, everyone: Mapping[int, Process], grace_s: float) -> None:
        """One look at the process table serves all jobs, so that sixty-four end as fast as one."""
        roots = {job: process.pid for job, process in everyone.items()}
        adopted: set[int] = set()

        def find() -> list[tree.Entry]:
            found = [entry for members in self._census.take(roots).values() for entry in members]
            adopted.update(entry.pid for entry in found)
            return found

        def reap() -> None:
            tree.reap_adopted(adopted.difference(roots.values()))

        members = self._census.take(roots)
        for job, process in everyone.items():
            process.note_stop(Stopped.CALLER)
            process.ask_to_end(members[job])
        await _poll(lambda: bool(self._running) or any(entry.is_running for entry in find()), grace_s)
        for process in everyone.values():
            process.kill_group()
        for pause_s in tree.ending(find, give_up_s=_GIVE_UP_S, reap=reap):
            await asyncio.sleep(pause_s)
        for process in everyone.values():
            await process.close_up()
            self._forget(process)


async def _poll(should_wait: Callable[[], bool], limit_s: float) -> None:
    """Wait for what sends no event: the kernel tells nobody but a parent that a process is gone."""
    deadline = time.monotonic() + limit_s
    pause_s = 0.002
    while should_wait() and time.monotonic() < deadline:
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.05)


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # no handle left: a thread waits instead
        return None


def _name(command: Command) -> str:
    return repr(os.fsdecode(command.argv[0]))


def _explain(command: Command, problem: Exception) -> str:
    name = _name(command)
    if isinstance(problem, FileNotFoundError) and command.cwd is not None and not os.path.isdir(command.cwd):
        return f"{name} was not started: the working directory {command.cwd!r} does not exist. Choose another one."
    if isinstance(problem, FileNotFoundError):
        return f"{name} was not started: no such program. Check the name, or install it."
    if isinstance(problem, PermissionError):
        return f"{name} was not started: not permitted ({problem}). Check that it is executable."
    if isinstance(problem, ValueError):
        return f"{name} was not started: {problem}. Remove NUL bytes from arguments and variables."
    lacks = shortage(problem) or f"{problem}. Wait for other processes to end, or make the command smaller"
    return f"{name} was not started: {lacks}."

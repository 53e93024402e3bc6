"""`make soak`: 64 background jobs at a time, for as long as wished; open files and memory must not grow.

Jobs write, fail, are stopped, and leave children behind. Open files are counted when no job runs: after the first
quarter of the time, which is warm-up, and at the end. They must be as many; resident memory may rise by the given
megabytes at most, and when the session is closed no process may be left.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from dataclasses import dataclass, field

from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.host import tree
from holdfast.host.ripgrep import Ripgrep
from holdfast.tasks import TaskBoard, is_terminal
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell.bash import Bash
from holdfast.tools.tasks.task_output import TaskOutput
from holdfast.tools.tasks.task_stop import TaskStop

JOBS = 64
SETTLE_S = 2.0  # no child of the commands below lives longer
MARK = f"soak-{os.getpid()}"  # of this run: another may go on beside it
COMMANDS = (
    "seq 1 5000",
    "echo failing >&2; exit 3",
    f"read -t 0.3 < <(sleep 1; : {MARK}); echo slow",
    f"(sleep 1; : {MARK}) & echo left a child",
    f"trap '' TERM; read -t 2 < <(sleep 2; : {MARK})",
    "head -c 300000 /dev/zero | tr '\\0' x",
)


@dataclass(frozen=True)
class Sample:
    """What this process holds at one moment."""

    files: int
    memory_mb: float


@dataclass
class Report:
    """What was seen."""

    started: int = 0
    ended: int = 0
    most_files: int = 0
    quiet: list[Sample] = field(default_factory=list[Sample])
    left: int = 0

    def growth(self) -> tuple[int, float]:
        """How files and megabytes rose from the quiet moment after the warm-up to the one at the end."""
        first, last = self.quiet[0], self.quiet[-1]
        return last.files - first.files, last.memory_mb - first.memory_mb


class _Soak:
    def __init__(self, executor: Executor, board: TaskBoard, seed: int) -> None:
        self.executor = executor
        self.board = board
        self.random = random.Random(seed)
        self.report = Report()
        self._calls = 0

    async def call(self, name: str, **raw: object) -> CallFinished:
        self._calls += 1
        self.executor.add({"type": "tool_use", "id": f"c{self._calls}", "name": name, "input": raw})
        replies = [event async for event in self.executor.results() if isinstance(event, CallFinished)]
        self.executor.end_turn()
        return replies[-1]

    async def step(self) -> None:
        alive = [record for record in self.board.all() if not is_terminal(record.status)]
        for _ in range(JOBS - len(alive)):
            reply = await self.call("Bash", command=self.random.choice(COMMANDS), run_in_background=True)
            assert not reply.is_error, reply.content
            self.report.started += 1
        victim = self.random.choice(alive) if alive else None
        if victim is not None and self.random.random() < 0.5:
            await self.call("TaskStop", task_id=victim.id)
        elif victim is not None:
            await self.call("TaskOutput", task_id=victim.id, timeout=200, filter="9")
        self.report.ended += len(self.board.take_notices())
        self.report.most_files = max(self.report.most_files, _open_files())
        await asyncio.sleep(0.05)

    async def go_on_for(self, seconds: float) -> None:
        """Keep the jobs going for so long, then let all of them end and take a sample."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            await self.step()
        for record in self.board.all():
            if not is_terminal(record.status):
                await self.call("TaskStop", task_id=record.id)
        self.report.ended += len(self.board.take_notices())
        self.report.quiet.append(Sample(await _settled_files(), _memory_mb()))


async def _settled_files() -> int:
    """The open files once nothing closes any more: a pipe that a child left behind holds is let go a little later."""
    fewest, quiet_since = _open_files(), time.monotonic()
    while time.monotonic() - quiet_since < SETTLE_S:
        await asyncio.sleep(0.05)
        if (now := _open_files()) < fewest:
            fewest, quiet_since = now, time.monotonic()
    return fewest


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _memory_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _left() -> int:
    """Processes of ours that are still there; a zombie has no words."""
    count = 0
    for entry in tree.scan().values():
        try:
            with open(f"/proc/{entry.pid}/cmdline", "rb") as file:
                count += MARK.encode() in file.read() and entry.pid != os.getpid()
        except OSError:
            continue
    return count


async def soak(seconds: float, seed: int = 1) -> Report:
    """Keep the jobs going for so long."""
    environment = ShellEnvironment(login=False)
    board = TaskBoard(environment=environment.base)
    tools = [Bash(board, environment=environment), TaskOutput(board, Ripgrep()), TaskStop(board)]
    async with Executor(tools, permission_mode="bypassPermissions", cwd="/") as executor:
        run = _Soak(executor, board, seed)
        await run.go_on_for(seconds / 4)
        await run.go_on_for(seconds * 3 / 4)
    run.report.left = _left()
    return run.report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--memory-mb", type=float, default=50)
    options = parser.parse_args()
    report = asyncio.run(soak(options.seconds))
    files, memory = report.growth()
    print(
        f"{options.seconds:g} s, {report.started} jobs started, {report.ended} ends told; at rest {files:+d} files "
        f"({report.quiet[-1].files}; {report.most_files} at most), {memory:+.1f} MB "
        f"({report.quiet[-1].memory_mb:.0f}), {report.left} processes left behind"
    )
    return 0 if files <= 0 and memory <= options.memory_mb and not report.left else 1


if __name__ == "__main__":
    sys.exit(main())

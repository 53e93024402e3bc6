"""`make soak`: 64 background jobs at a time, for as long as wished; open files and memory must not grow.

Jobs write, fail, are stopped, and leave children behind. The first quarter of the time is warm-up; after it, the number
of open files may not rise by more than five, nor resident memory by more than the given megabytes, and when the
session is closed no process may be left.
"""

import argparse
import asyncio
import os
import random
import statistics
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
MARK = f"soak-{os.getpid()}"  # of this run: another may go on beside it
COMMANDS = (
    "seq 1 5000",
    "echo failing >&2; exit 3",
    f"read -t 0.3 < <(sleep 1; : {MARK}); echo slow",
    f"(sleep 1; : {MARK}) & echo left a child",
    f"trap '' TERM; read -t 2 < <(sleep 3; : {MARK})",
    "head -c 300000 /dev/zero | tr '\\0' x",
)


@dataclass
class Report:
    """What was seen."""

    started: int = 0
    ended: int = 0
    files: list[int] = field(default_factory=list[int])
    memory_mb: list[float] = field(default_factory=list[float])
    left: int = 0

    def growth(self) -> tuple[float, float]:
        """How files and megabytes rose from the time after the warm-up to the end."""
        return _rise([float(count) for count in self.files]), _rise(self.memory_mb)


def _rise(samples: list[float]) -> float:
    measured = samples[len(samples) // 4 :]
    part = max(1, len(measured) // 4)
    return statistics.median(measured[-part:]) - statistics.median(measured[:part]) if measured else 0.0


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
        self.report.files.append(len(os.listdir("/proc/self/fd")))
        self.report.memory_mb.append(_memory_mb())
        await asyncio.sleep(0.05)


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
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            await run.step()
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
        f"{options.seconds:g} s, {report.started} jobs started, {report.ended} ends told; files {files:+g} "
        f"(now {report.files[-1]}), memory {memory:+.1f} MB (now {report.memory_mb[-1]:.0f}), {report.left} left behind"
    )
    return 0 if files <= 5 and memory <= options.memory_mb and not report.left else 1


if __name__ == "__main__":
    sys.exit(main())

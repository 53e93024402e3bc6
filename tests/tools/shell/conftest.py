"""Turns of real commands through a real executor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

import pytest

from holdfast.contract import SessionFacts
from holdfast.engine import Executor
from holdfast.events import CallFinished, Event
from holdfast.host.ripgrep import Ripgrep
from holdfast.tasks import Places, TaskBoard
from holdfast.testing.run import RunOptions
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell.bash import Bash, BashLimits
from holdfast.tools.shell.sleep import Sleep
from holdfast.tools.tasks.task_output import TaskOutput
from holdfast.tools.tasks.task_stop import TaskStop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


class Desk:
    """One session with the shell tools; each `call` is a turn of its own."""

    def __init__(self, cwd: Path, *, limits: BashLimits | None = None, environment: ShellEnvironment | None = None):
        self.cwd = cwd
        self.events: list[Event] = []
        self.environment = environment or ShellEnvironment(login=False)
        self.board = TaskBoard(Places(), environment=self.environment.base, on_event=self.events.append)
        self.bash = Bash(self.board, limits=limits, environment=self.environment)
        bench = Workbench()
        self.tools = [
            self.bash,
            TaskOutput(self.board, Ripgrep()),
            TaskStop(self.board),
            Sleep(self.board),
            Read(bench.targets),
            Edit(bench),
        ]
        self._count = 0

    def executor(self, **options: Unpack[RunOptions]) -> Executor:
        options.setdefault("permission_mode", "bypassPermissions")
        options.setdefault("session", SessionFacts(project_root=str(self.cwd)))
        self.running = Executor(self.tools, cwd=self.cwd, on_event=self.events.append, **options)  # type: ignore[misc]
        return self.running

    async def call(self, name: str, **raw: Any) -> CallFinished:
        self._count += 1
        self.running.add({"type": "tool_use", "id": f"call-{self._count}", "name": name, "input": raw})
        replies = [event async for event in self.running.results() if isinstance(event, CallFinished)]
        self.running.end_turn()
        return replies[-1]

    async def sh(self, command: str, **raw: Any) -> CallFinished:
        return await self.call("Bash", command=command, **raw)

    def run(self, work: Callable[[], Awaitable[Any]], **options: Unpack[RunOptions]) -> Any:
        async def whole() -> Any:
            async with self.executor(**options):
                return await work()

        return asyncio.run(whole())

    def one(self, command: str, **raw: Any) -> CallFinished:
        """A single command in a session of its own."""
        return self.run(lambda: self.sh(command, **raw))


def text(reply: CallFinished) -> str:
    """What the model reads of a reply, without its pictures."""
    if isinstance(reply.content, str):
        return reply.content
    return "\n".join(block.get("text", "") for block in reply.content)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    def make(**options: Any) -> Desk:
        return Desk(tmp_path, **options)

    return make

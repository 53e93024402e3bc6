"""TaskOutput and TaskStop, by their present and older names."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.tasks import TaskBoard
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell.bash import Bash
from holdfast.tools.shell.sleep import Sleep
from holdfast.tools.tasks.task_output import TaskOutput
from holdfast.tools.tasks.task_stop import TaskStop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LONG = "read -t 30 < <(sleep 30)"


class Session:
    def __init__(self, executor: Executor, board: TaskBoard) -> None:
        self.executor = executor
        self.board = board
        self._count = 0

    async def call(self, name: str, **raw: Any) -> CallFinished:
        self._count += 1
        self.executor.add({"type": "tool_use", "id": f"c{self._count}", "name": name, "input": raw})
        replies = [event async for event in self.executor.results() if isinstance(event, CallFinished)]
        self.executor.end_turn()
        return replies[-1]

    async def start(self, command: str) -> str:
        reply = await self.call("Bash", command=command, run_in_background=True)
        assert reply.data["backgroundTaskId"] in reply.content
        return reply.data["backgroundTaskId"]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Session], Awaitable[Any]]], Any]:
    async def whole(work: Callable[[Session], Awaitable[Any]]) -> Any:
        environment = ShellEnvironment(login=False)
        board = TaskBoard(environment=environment.base)
        tools = [Bash(board, environment=environment), TaskOutput(board), TaskStop(board), Sleep(board)]
        async with Executor(tools, cwd=tmp_path, permission_mode="bypassPermissions") as executor:
            async with asyncio.timeout(60):
                return await work(Session(executor, board))

    return lambda work: asyncio.run(whole(work))


def test_output_waits_for_the_end_and_tells_it(play: Any) -> None:
    async def work(session: Session) -> tuple[CallFinished, int]:
        task = await session.start("read -t 0.2 < <(sleep 1); echo done; exit 3")
        reply = await session.call("TaskOutput", task_id=task)
        return reply, len(session.board.take_notices())

    reply, news = play(work)
    assert reply.data["retrieval_status"] == "success"
    task = reply.data["task"]
    assert (task["status"], task["exitCode"], task["output"]) == ("failed", 3, "done\n")
    assert (task["task_type"], reply.is_error, news) == ("local_bash", False, 0)
    assert "failed, exit code 3\ndone" in reply.content


def test_output_answers_at_once_or_after_its_time(play: Any) -> None:
    async def work(session: Session) -> list[str]:
        task = await session.start(LONG)
        return [
            (await session.call("TaskOutput", task_id=task, block=False)).data["retrieval_status"],
            (await session.call("TaskOutput", task_id=task, timeout=50)).data["retrieval_status"],
            (await session.call("BashOutput", bash_id=task)).data["retrieval_status"],
            (await session.call("AgentOutput", task_id=task, block="false")).data["retrieval_status"],
            (await session.call("BashOutputTool", shell_id=task, timeout=1)).data["retrieval_status"],
            (await session.call("AgentOutputTool", task_id=task, timeout=0)).data["retrieval_status"],
        ]

    assert play(work) == ["not_ready", "timeout", "not_ready", "not_ready", "timeout", "timeout"]


def test_a_filter_shows_matching_lines_in_linear_time(play: Any) -> None:
    async def work(session: Session) -> tuple[CallFinished, CallFinished, CallFinished, CallFinished]:
        task = await session.start("seq 1 50; printf 'a%.0s' {1..30000}; echo")
        wait = await session.call("TaskOutput", task_id=task)
        assert wait.data["retrieval_status"] == "success"
        return (
            await session.call("TaskOutput", task_id=task, filter="^4[0-2]$"),
            await session.call("TaskOutput", task_id=task, filter="(a+)+$b"),
            await session.call("TaskOutput", task_id=task, filter="nothing like it"),
            await session.call("TaskOutput", task_id=task, filter="("),
        )

    some, evil, none, broken = play(work)
    assert some.data["task"]["output"] == "40\n41\n42\n"
    assert evil.data["task"]["output"] == ""
    assert "matches the filter" in none.content
    assert broken.outcome == "invalid"


def test_long_output_is_shortened_with_its_file(play: Any) -> None:
    async def work(session: Session) -> tuple[CallFinished, int]:
        task = await session.start("seq 1 100000")
        reply = await session.call("TaskOutput", task_id=task)
        return reply, len(Path(reply.data["persistedOutputPath"]).read_text(encoding="utf-8").splitlines())

    reply, lines = play(work)
    assert len(reply.content) <= 30_000
    assert lines == 100_000


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
def test_an_unknown_task_is_said(play: Any, name: str) -> None:
    async def work(session: Session) -> CallFinished:
        return await session.call(name, task_id="b00000000")

    assert play(work).is_error


@pytest.mark.parametrize(("name", "key"), [("TaskStop", "task_id"), ("KillShell", "shell_id")])
def test_stop_ends_a_task_and_its_end_is_no_news(play: Any, name: str, key: str) -> None:
    async def work(session: Session) -> tuple[CallFinished, CallFinished, int, int]:
        task = await session.start(LONG)
        stopped = await session.call(name, **{key: task})
        again = await session.call(name, **{key: task})
        return stopped, again, len(session.board.take_notices()), len(session.board.processes.running)

    stopped, again, news, running = play(work)
    assert stopped.data["command"] == LONG
    assert stopped.data["task_type"] == "local_bash"
    assert again.is_error
    assert "ended already" in again.content
    assert (news, running) == (0, 0)


def test_a_task_that_ends_between_turns_is_told_once(play: Any) -> None:
    async def work(session: Session) -> tuple[list[str], int]:
        task = await session.start("echo hi")
        await session.board.wait(task, 20)
        notices = session.board.take_notices()
        return [notice.text for notice in notices], len(session.board.take_notices())

    (told,), again = play(work)
    assert "has completed with exit code 0" in told
    assert again == 0


# Sleep.


def test_sleep_ends_with_its_time_or_with_a_task(play: Any) -> None:
    async def work(session: Session) -> tuple[CallFinished, CallFinished]:
        short = await session.call("Sleep", duration_seconds=0.05, reason="a pause")
        await session.start("read -t 0.1 < <(sleep 1); true")
        return short, await session.call("Sleep", duration_seconds=3600)

    short, woken = play(work)
    assert short.data["woken_by"] == "time"
    assert woken.data["woken_by"] == "task"
    assert woken.data["slept_seconds"] < 60


def test_sleep_is_cut_short_by_a_message_of_the_user(play: Any) -> None:
    async def work(session: Session) -> str:
        session.executor.add({"type": "tool_use", "id": "s", "name": "Sleep", "input": {"duration_seconds": 3600}})
        await asyncio.sleep(0)
        session.executor.user_message()
        return [event async for event in session.executor.results()][-1].outcome  # type: ignore[union-attr]

    assert play(work) == "cancelled"


def test_sleep_holds_no_process_and_takes_no_nonsense(play: Any) -> None:
    async def work(session: Session) -> tuple[bool, str, str]:
        await session.call("Sleep", duration_seconds=0)
        none = session.board._processes is None
        replies = [await session.call("Sleep", duration_seconds=value) for value in (-1, 1e9)]
        return none, replies[0].outcome, replies[1].outcome

    assert play(work) == (True, "invalid", "invalid")


def test_the_tools_say_how_they_behave() -> None:
    output, stop, sleep = TaskOutput(), TaskStop(), Sleep()
    assert output.read_only
    assert stop.should_defer
    assert all(tool.concurrency_safe and tool.session_state for tool in (output, stop, sleep))
    assert output.interrupt_behavior == sleep.interrupt_behavior == "cancel"
    for tool in (output, stop, sleep):
        assert tool.description()

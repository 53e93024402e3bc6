"""Many agents at once: one costs no handle and no thread, its crash is its own, and an interrupt leaves none."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from holdfast import tool
from holdfast.app.options import AgentOptions, Options
from holdfast.app.running import RunningAgent
from holdfast.app.start_agent import start_agent
from holdfast.contract.roles import AgentReport, AgentTask
from holdfast.models import ModelRequest, StreamEvent
from holdfast.testing import ScriptedModel, started

T = TypeVar("T")
MANY = 120
GATES: dict[str, asyncio.Event] = {}
AT_WORK: list[int] = []


def run(scene: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(scene, 60))


@tool(read_only=True, concurrency_safe=True)
async def meet(count: int) -> str:
    """Wait until so many are here."""
    AT_WORK.append(count)
    if len(AT_WORK) >= count:
        GATES["all"].set()
    await asyncio.wait_for(GATES["go"].wait(), 30)
    return "met"


class Crowd(ScriptedModel):
    """Every conversation meets the others once; who is told to crash does it in the middle."""

    def __init__(self) -> None:
        super().__init__([])

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        said = str(request.messages[0]["content"])
        if "crash" in said and len(request.messages) > 1:
            raise RuntimeError("a part of the agent is broken")
        calls = [{"tool": "meet", "input": {"count": MANY}}]
        turn = ScriptedModel([calls if len(request.messages) == 1 else "Done."])
        async for event in turn.stream(request):
            yield event


@contextmanager
def few_handles(more: int) -> Generator[int]:
    """No more handles than these can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + more, hard))
    try:
        yield used
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def session(folder: Path) -> RunningAgent:
    GATES["all"], GATES["go"] = asyncio.Event(), asyncio.Event()
    AT_WORK.clear()
    limits = f'{{"agents": {{"maxRunning": {MANY}}}}}'
    options = Options(cwd=str(folder), own_tools=(meet,), allowed_tools=("meet",), settings=(limits,))
    return await start_agent(options, AgentOptions(model=Crowd()))


def begin(running: RunningAgent, *prompts: str) -> list[asyncio.Task[AgentReport]]:
    found = running.opened.executor.pool.find("Agent")
    assert found is not None
    spawner: Any = vars(found.tool)["spawner"]
    tasks = [AgentTask(text, "meet", "general-purpose", f"toolu_{number}") for number, text in enumerate(prompts)]
    return [asyncio.create_task(spawner.run(task, print)) for task in tasks]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="handles are counted in /proc")
def test_agents_at_work_hold_no_handle_and_no_thread(tmp_path: Path):
    async def scene() -> tuple[int, int, list[str]]:
        async with await session(tmp_path) as running:
            with few_handles(24) as handles:
                threads = threading.active_count()
                group = begin(running, *["Meet them."] * MANY)
                await asyncio.wait_for(GATES["all"].wait(), 30)
                more = len(os.listdir("/proc/self/fd")) - handles
                more_threads = threading.active_count() - threads
                assert running.opened.shell.board.agents.working == MANY
                GATES["go"].set()
                reports = await asyncio.wait_for(asyncio.gather(*group), 30)
            assert running.opened.shell.board.agents.working == 0
            return more, more_threads, [report.text for report in reports]

    more, more_threads, texts = run(scene())
    assert more <= 2  # git and the flusher come and go; the number of agents is not in it
    assert more_threads <= 1
    assert texts == ["Done."] * MANY


def test_a_crash_of_one_agent_is_its_own(tmp_path: Path):
    async def scene() -> list[AgentReport | BaseException]:
        async with await session(tmp_path) as running:
            prompts = ["Meet them."] * MANY
            prompts[7] = prompts[70] = "Meet them, then crash."
            group = begin(running, *prompts)
            await asyncio.wait_for(GATES["all"].wait(), 30)
            GATES["go"].set()
            return await asyncio.wait_for(asyncio.gather(*group, return_exceptions=True), 30)

    ended = run(scene())
    broken = [number for number, one in enumerate(ended) if isinstance(one, BaseException)]
    assert broken == [7, 70]
    assert "crashed (RuntimeError)" in str(ended[7])
    assert all(one.text == "Done." for one in ended if isinstance(one, AgentReport))


def test_an_interrupt_of_many_agents_leaves_nothing(tmp_path: Path):
    async def scene() -> tuple[int, int, int]:
        async with await session(tmp_path) as running:
            before = len(asyncio.all_tasks())
            group = begin(running, *["Meet them."] * MANY)
            await asyncio.wait_for(GATES["all"].wait(), 30)
            during = len(asyncio.all_tasks())
            for one in group:
                one.cancel()
            await asyncio.wait(group, timeout=30)
            assert all(one.cancelled() for one in group)
            return during - before, len(asyncio.all_tasks()) - before, running.opened.shell.board.agents.working

    at_work, left, working = run(scene())
    assert at_work >= MANY
    assert (left, working) == (0, 0)


BUSY = 50
MARK = "4242.5"


def test_nothing_is_left_of_many_agents_when_the_session_is_killed(tmp_path: Path):
    (tmp_path / "work").mkdir()
    start = {"tool": "Agent", "input": {"description": "d", "prompt": "Wait.", "run_in_background": True}}
    wait = {"tool": "Bash", "input": {"command": f"setsid sleep {MARK} & sleep {MARK}"}}
    turns: list[Any] = [[start] * BUSY, [{"tool": "Sleep", "input": {"duration_seconds": 300}}], *[[wait]] * BUSY]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps({"blocks": blocks}) + "\n" for blocks in turns))
    words = ("-p", "Go.", "--model", f"scripted:{script}", "--permission-mode", "bypassPermissions")
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    argv = [sys.executable, "-m", "holdfast", *words]
    with started(argv, cwd=tmp_path / "work", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        until(lambda: len(sleepers()) >= 2 * BUSY)
        process.kill()
    until(lambda: not sleepers())


def sleepers() -> list[int]:
    """The processes of the agents of this test."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            if Path(f"/proc/{int(name)}/cmdline").read_bytes().startswith(f"sleep\0{MARK}".encode()):
                found.append(int(name))
    return found


def until(holds: Callable[[], bool]) -> None:
    """Other processes make it true, so somebody has to look again and again."""
    end_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.05)

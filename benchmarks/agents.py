"""Agents that a session starts: what one more costs beside a bare loop, in time, processor time and memory.

Each take is a process of its own, so that memory is that of the take, with the garbage collector as our command line
has it. The model is one object without a memory of its own: it counts the answers in the conversation that it is asked
with.
"""

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast import tool
from holdfast.agent import Loop, LoopParts
from holdfast.app.options import AgentOptions, Options
from holdfast.app.running import RunningAgent
from holdfast.app.start_agent import start_agent
from holdfast.contract.roles import AgentTask
from holdfast.engine import Executor
from holdfast.events import RunEnded
from holdfast.lib.collector import hold_off
from holdfast.models import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.interface import BlockEnded, StreamEnded, StreamStarted, TextDelta, ToolInputDelta, ToolUseStarted
from measure import Row, row

CALLS = 20
FEW, MANY, WAVE = 200, 1_000, 50
ROUNDS = int(os.environ.get("BENCH_AGENT_ROUNDS", "3"))
RULES = 2_000
_USED = Usage(100, 10)
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where transcripts go, so that what a file costs on this machine's disk is not in it (20 to 130 µs were seen)."""
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


class Counting:
    """Calls `look` as often as the prompt says, then says that it is done."""

    wire: Wire = "anthropic"
    name = "scripted:counting"
    context_window = 200_000

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        said = sum(message["role"] == "assistant" for message in request.messages)
        wanted = int(str(_text(request.messages[0])).split()[-1])
        yield StreamStarted(f"msg_{said}", self.name, _USED)
        await asyncio.sleep(0)
        if said < wanted:
            given = {"number": said}
            yield ToolUseStarted(0, f"call_{said}", "look")
            yield ToolInputDelta(0, f'{{"number": {said}}}')
            yield BlockEnded(0, {"type": "tool_use", "id": f"call_{said}", "name": "look", "input": given})
            yield StreamEnded("tool_use", _USED)
            return
        yield TextDelta(0, "Done.")
        yield BlockEnded(0, {"type": "text", "text": "Done."})
        yield StreamEnded("end_turn", _USED)

    async def count_tokens(self, request: ModelRequest) -> int:
        return len(request.messages) * 100

    def cost_usd(self, usage: Usage) -> float:
        del usage
        return 0.0

    async def close(self) -> None:
        pass


def _text(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[-1]["text"]


class Gate:
    """Where every agent waits at its last call, so that all are at work at the same time."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.missing = 0
        self.full = asyncio.Event()
        self.open = asyncio.Event()

    def close_at(self, number: int, count: int) -> None:
        """Hold so many agents at this call."""
        self.at, self.missing = number, count


GATE: list[Gate] = []


@tool(read_only=True, concurrency_safe=True)
async def look(number: int) -> str:
    """Look at something.

    Args:
        number: Which.
    """
    gate = GATE[-1]
    if number == gate.at:
        gate.missing -= 1
        if not gate.missing:
            gate.full.set()
        await gate.open.wait()
    return f"{number} is fine"


def _rss_kb() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_KB


def _handles() -> int:
    return len(os.listdir("/proc/self/fd"))


async def _session(place: str, *, rules: int = 0) -> RunningAgent:
    GATE.append(Gate())
    denied = [f"Read(private/{number}/**)" for number in range(rules)]
    options = Options(
        cwd=place,
        own_tools=(look,),
        allowed_tools=("look",),
        disallowed_tools=tuple(denied),
        setting_sources="",
        settings=(json.dumps({"agents": {"maxRunning": MANY}}),),
    )
    return await start_agent(options, AgentOptions(model=Counting()), on_event=_unheard)


def _task(number: int, calls: int) -> AgentTask:
    return AgentTask(f"Look {calls}", "look around", "general-purpose", f"toolu_{number}")


def _spawner(running: RunningAgent) -> Any:
    found = running.opened.executor.pool.find("Agent")
    assert found is not None
    spawner: Any = vars(found.tool)["spawner"]
    return spawner


async def _start(running: RunningAgent, count: int, calls: int, *, first: int = 0) -> list["asyncio.Task[Any]"]:
    spawner = _spawner(running)
    group = [asyncio.create_task(spawner.run(_task(first + number, calls), _unheard)) for number in range(count)]
    await asyncio.sleep(0)
    return group


async def _bare(running: RunningAgent, calls: int, count: int) -> None:
    """The same conversations on bare loops and executors, side by side, too."""
    group = [asyncio.create_task(_bare_one(running, calls)) for _ in range(count)]
    for one in group:
        await one


async def _bare_one(running: RunningAgent, calls: int) -> None:
    above, loop = running.opened.executor, running.loop
    executor = Executor(above.pool, permissions=above.state.permissions, cwd=above.state.cwd, resources=())
    async with executor:
        bare = Loop(executor, loop.model, LoopParts(system=loop.state.system))
        async for _ in bare.run(f"Look {calls}"):
            pass
        await bare.close()


async def _ours(running: RunningAgent, calls: int, count: int, first: int) -> None:
    for one in await _start(running, count, calls, first=first):
        await one


def _unheard(_: Any) -> None:
    """Somebody hears, and does nothing."""


async def _taken(job: Any) -> float:
    gc.collect()
    began = time.process_time()
    await job
    return time.process_time() - began


async def lives(place: str, rules: int) -> dict[str, float]:
    """Processor seconds of agents that only begin and end, and of bare loops that do."""
    running = await _session(place, rules=rules)
    async with running:
        ours: list[float] = []
        bare: list[float] = []
        for round_ in range(ROUNDS * 3):
            ours.append(await _taken(_ours(running, 0, 100, round_ * 100)))
            bare.append(await _taken(_bare(running, 0, 100)))
        return {"ours": min(ours) / 100, "bare": min(bare) / 100}


async def calls(place: str, count: int, rules: int) -> dict[str, float]:
    """Processor seconds of so many agents with their calls, and of the session's own loop with as many."""
    running = await _session(place, rules=rules)
    async with running:
        await _ours(running, CALLS, 5, 0)
        ours = await _taken(_ours(running, CALLS, count, 10))
        own = await _taken(_one_loop(running, count))
        bare = await _taken(_bare(running, CALLS, count))
        return {"ours": ours / count, "own": own / count, "bare": bare / count}


async def _one_loop(running: RunningAgent, count: int) -> None:
    """The same calls by the session's own loop; what was said is forgotten between, as after `/clear`."""
    loop = running.loop
    for _ in range(count):
        async for event in running.run(f"Look {CALLS}"):
            if type(event) is RunEnded:
                assert event.outcome == "success", event
        loop.rewind(0)


async def memory(place: str, count: int) -> dict[str, float]:
    """What so many agents hold while all of them work."""
    running = await _session(place)
    async with running:
        await _ours(running, CALLS, 20, 0)
        gate = GATE[-1]
        gate.close_at(CALLS - 1, count)
        group = await _start(running, count, CALLS, first=100)
        await gate.full.wait()
        at_work, handles, threads = _rss_kb(), _handles(), threading.active_count()
        gate.open.set()
        await asyncio.wait(group)
        assert all(one.result().text == "Done." for one in group)
        del group
        return {"rss_kb": at_work, "handles": handles, "threads": threads}


async def idle(place: str, count: int) -> dict[str, float]:
    """What so many agents hold that have ended, and can be gone on with; 50 work at a time."""
    running = await _session(place)
    async with running:
        for first in range(0, count, WAVE):
            await _ours(running, CALLS, WAVE, first)
        return {"rss_kb": _rss_kb()}


async def interrupt(place: str, count: int) -> dict[str, float]:
    """Seconds until nothing of so many agents is left, from the moment that whoever waits is cancelled."""
    running = await _session(place)
    async with running:
        gate = GATE[-1]
        gate.close_at(CALLS - 1, count)
        group = await _start(running, count, CALLS)
        await gate.full.wait()
        alive = len(asyncio.all_tasks())
        began, worked = time.perf_counter(), time.process_time()
        for one in group:
            one.cancel()
        await asyncio.wait(group)
        took, worked = time.perf_counter() - began, time.process_time() - worked
        assert running.opened.shell.board.agents.working == 0
        return {"took": took, "cpu": worked, "alive": alive, "left": len(asyncio.all_tasks())}


TAKES: dict[str, Any] = {"lives": lives, "calls": calls, "memory": memory, "idle": idle, "interrupt": interrupt}


def _take(name: str, *arguments: int) -> dict[str, float]:
    """One take in a process of its own, with a home of its own and few handles."""
    with TemporaryDirectory(dir=MEMORY) as home:
        environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": f"{home}/state"}
        argv = [sys.executable, __file__, name, *map(str, arguments)]
        done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"{argv} failed: {done.stderr[-2000:]}")
        return json.loads(done.stdout)


def _slope(name: str, takes: tuple[dict[str, float], dict[str, float]], limit_kb: float) -> Row:
    few, many = takes
    each = (many["rss_kb"] - few["rss_kb"]) / (MANY - FEW)
    what = f"one more agent {name}, {FEW} to {MANY:,}"
    return row(what, each, limit_kb, unit="KB", limit=1.0, against=f"{limit_kb:g} KB each")


def _work_rows(rules: int, words: str) -> list[Row]:
    life = _take("lives", rules)
    made = [_take("calls", count, rules) for count in (50, MANY)]
    rows = [
        row(
            f"an agent begins and ends{words}",
            life["ours"] * 1e3,
            life["bare"] * 1e3,
            unit="ms",
            limit=2.5,
            against="a bare loop and executor, without transcript and events (processor time)",
        )
    ]
    for count, take in zip((50, MANY), made, strict=True):
        rows.append(
            row(
                f"{count:,} agents, {CALLS} calls each{words}",
                take["ours"] * 1e3,
                take["own"] * 1e3,
                unit="ms",
                limit=1.3,
                against="the same calls by the session's own loop (processor time of one agent)",
            )
        )
    return rows


def rows() -> list[Row]:
    """Time against a bare loop and against one loop with the same calls; memory, handles and the end of all."""
    found = [*_work_rows(0, ""), *_work_rows(RULES, f", {RULES:,} rules")]
    at_work = _take("memory", FEW), _take("memory", MANY)
    few, many = at_work
    stopped = _take("interrupt", MANY)
    if stopped["left"] > 1:
        raise RuntimeError(f"{stopped['left'] - 1} tasks are left after the interrupt")
    return [
        *found,
        _slope("at work", at_work, 150.0),
        _slope("that has ended", (_take("idle", FEW), _take("idle", MANY)), 40.0),
        row("handles of 1,000 agents", many["handles"], few["handles"], unit="", limit=1.0, against="of 200 (of 256)"),
        row("threads of 1,000 agents", many["threads"], few["threads"], unit="", limit=1.0, against="of 200"),
        row("interrupt of 1,000 agents", stopped["took"], 1.0, unit="s", limit=1.0, against="one second"),
    ]


if __name__ == "__main__":
    hold_off()
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with TemporaryDirectory(dir=MEMORY) as place:
        print(json.dumps(asyncio.run(TAKES[sys.argv[1]](place, *map(int, sys.argv[2:])))))

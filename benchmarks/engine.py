"""The engine: what a call costs, how calls overlap, how early they start."""

import asyncio
import time
from typing import Any

from pydantic import BaseModel

from holdfast import Executor, tool
from holdfast.events import CallFinished, CallStarted, Event
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.permissions import PermissionContext, Rule
from measure import Row, interleaved_async, row

TURN = 100
SLEEP_S = 0.05


class FloorArgs(BaseModel):
    a: int


async def _work(a: int) -> int:
    return a


async def _floor_call(raw: dict[str, int]) -> int:
    """The least that any engine must do: validate and await, in a task of its own."""
    return await _work(FloorArgs.model_validate(raw).a)


async def _floor_turn(calls: int) -> list[int]:
    tasks = [asyncio.create_task(_floor_call({"a": number})) for number in range(calls)]
    return [await task for task in tasks]


@tool(read_only=True, concurrency_safe=True)
async def trivial(a: int) -> int:
    """Give back the number."""
    return a


@tool(read_only=True, concurrency_safe=True)
async def safe_sleep(n: int) -> int:
    """Sleep beside others."""
    await asyncio.sleep(SLEEP_S)
    return n


@tool(read_only=True)
async def alone_sleep(n: int) -> int:
    """Sleep alone."""
    await asyncio.sleep(SLEEP_S)
    return n


async def _no_word(call: HookCall) -> HookAnswer | None:
    del call
    return None


def loaded_executor() -> Executor:
    """1,000 rules, one hook matcher that does not fit, a deadline; no journal."""
    rules = [Rule.parse("allow", f"Bash(tool{number} *)") for number in range(999)]
    permissions = PermissionContext("default", [*rules, Rule.parse("allow", "trivial")])
    hooks = [Hook("PreToolUse", _no_word, "Bash")]
    return Executor([trivial, safe_sleep, alone_sleep], permissions=permissions, hooks=hooks, timeout_s=60.0)


async def _turn(executor: Executor, calls: list[tuple[str, dict[str, Any]]]) -> list[CallFinished]:
    for number, (name, arguments) in enumerate(calls):
        executor.add({"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments})
    replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
    executor.end_turn()
    return replies


async def marginal_cost() -> Row:
    """Microseconds per further call in a turn of 100, against the bare floor."""
    executor = loaded_executor()
    one = [("trivial", {"a": 1})]
    many = [("trivial", {"a": number}) for number in range(TURN)]
    floor_1, floor_n, ours_1, ours_n = await interleaved_async(
        lambda: _floor_turn(1),
        lambda: _floor_turn(TURN),
        lambda: _turn(executor, one),
        lambda: _turn(executor, many),
        rounds=300,
    )
    await executor.close()
    per_call = 1e6 / (TURN - 1)
    return row(
        "one more call, turn of 100",
        (ours_n - ours_1) * per_call,
        (floor_n - floor_1) * per_call,
        unit="µs",
        limit=4.0,
        against="task + pydantic + await",
    )


async def overlap() -> list[Row]:
    """Ten safe calls side by side; safe, safe, unsafe, safe in three steps."""
    executor = loaded_executor()
    ten = [("safe_sleep", {"n": number}) for number in range(10)]
    mix = [(name, {"n": 1}) for name in ("safe_sleep", "safe_sleep", "alone_sleep", "safe_sleep")]
    sleep, ten_s, mix_s = await interleaved_async(
        lambda: asyncio.sleep(SLEEP_S), lambda: _turn(executor, ten), lambda: _turn(executor, mix), rounds=8
    )
    await executor.close()
    return [
        row("10 safe calls of 50 ms", ten_s * 1e3, sleep * 1e3, unit="ms", limit=1.3, against="one sleep of 50 ms"),
        row("safe, safe, unsafe, safe", mix_s * 1e3, 3 * sleep * 1e3, unit="ms", limit=1.1, against="three sleeps"),
    ]


async def early_start() -> Row:
    """How long after its block is complete a call starts, while the stream goes on."""
    waits: list[float] = []
    added = 0.0

    def note(event: Event) -> None:
        if isinstance(event, CallStarted):
            waits.append(time.perf_counter() - added)

    executor = Executor([trivial], permission_mode="default", on_event=note)
    for number in range(5):
        added = time.perf_counter()
        executor.add({"type": "tool_use", "id": f"t{number}", "name": "trivial", "input": {"a": 1}})
        for _ in range(20):  # the stream goes on: fragments of the next block
            await asyncio.sleep(0.01)
        async for _ in executor.results():
            pass
    await executor.close()
    return row("start after block end", max(waits) * 1e3, 5.0, unit="ms", limit=1.0, against="5 ms, stream still open")


def rows() -> list[Row]:
    """All measurements of the engine."""

    async def measure() -> list[Row]:
        return [await marginal_cost(), *await overlap(), await early_start()]

    return asyncio.run(measure())

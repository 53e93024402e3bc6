"""What the journal adds to a call: the engine's measurement, with a session's journal listening."""

import asyncio
import os
import tempfile
from typing import Any

from pydantic import BaseModel

from holdfast import Executor, tool
from holdfast.events import CallFinished
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.permissions import PermissionContext, Rule
from holdfast.session import Journal, SessionStore
from measure import Row, interleaved_async, row

TURN = 100
ROUNDS = 200


class FloorArgs(BaseModel):
    a: int


async def _work(a: int) -> int:
    return a


async def _floor_call(raw: dict[str, int]) -> int:
    """The least that any engine must do: validate and await, in a task of its own."""
    return await _work(FloorArgs.model_validate(raw).a)


async def _floor_turn(calls: int) -> None:
    for task in [asyncio.create_task(_floor_call({"a": number})) for number in range(calls)]:
        await task


async def _writing_turn(calls: int, handle: int, begun: bytes, ended: bytes) -> None:
    """The least for a change that must be on record before it acts: a task alone, and two bare writes."""
    for number in range(calls):
        os.write(handle, begun)
        await asyncio.create_task(_floor_call({"a": number}))
        os.write(handle, ended)


@tool(read_only=True, concurrency_safe=True)
async def look(a: int) -> int:
    """Give back the number."""
    return a


@tool
async def change(a: int) -> int:
    """Give back the number, as if something had changed."""
    return a


async def _no_word(call: HookCall) -> HookAnswer | None:
    del call
    return None


def _executor(journal: Journal) -> Executor:
    """1,000 rules, one hook matcher that does not fit, a deadline, the journal."""
    rules = [Rule.parse("allow", f"Bash(tool{number} *)") for number in range(998)]
    permissions = PermissionContext("default", [*rules, Rule.parse("allow", "look"), Rule.parse("allow", "change")])
    hooks = [Hook("PreToolUse", _no_word, "Bash")]
    return Executor([look, change], permissions=permissions, hooks=hooks, timeout_s=60.0, on_event=journal)


async def _turn(executor: Executor, calls: list[tuple[str, dict[str, Any]]]) -> None:
    for number, (name, arguments) in enumerate(calls):
        executor.add({"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments})
    async for event in executor.results():
        assert isinstance(event, CallFinished)
    executor.end_turn()


def _calls(count: int, change_every: int | None) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("change" if change_every and number % change_every == change_every - 1 else "look", {"a": number})
        for number in range(count)
    ]


async def _against_floor(journal: Journal, name: str, change_every: int | None) -> Row:
    executor = _executor(journal)
    one, many = _calls(1, None), _calls(TURN, change_every)
    floor_1, floor_n, ours_1, ours_n = await interleaved_async(
        lambda: _floor_turn(1),
        lambda: _floor_turn(TURN),
        lambda: _turn(executor, one),
        lambda: _turn(executor, many),
        rounds=ROUNDS,
    )
    await executor.close()
    per_call = 1e6 / (TURN - 1)
    ours, floor = (ours_n - ours_1) * per_call, (floor_n - floor_1) * per_call
    return row(name, ours, floor, unit="µs", limit=6.0, against="task + pydantic + await")


async def _against_writes(journal: Journal, handle: int) -> Row:
    """Every call changes something, so each is on record twice before the next begins."""
    executor = _executor(journal)
    line = b"x" * 250 + b"\n"
    calls = _calls(TURN, 1)
    least, ours = await interleaved_async(
        lambda: _writing_turn(TURN, handle, line * 3, line), lambda: _turn(executor, calls), rounds=ROUNDS
    )
    await executor.close()
    return row(
        "a state-changing call",
        ours / TURN * 1e6,
        least / TURN * 1e6,
        unit="µs",
        limit=6.0,
        against="the same alone + two os.write",
    )


def rows() -> list[Row]:
    """All measurements of the journal."""

    async def measure(journal: Journal, handle: int) -> list[Row]:
        return [
            await _against_floor(journal, "one more call, journal on", None),
            await _against_floor(journal, "the same, one change in ten", 10),
            await _against_writes(journal, handle),
        ]

    with tempfile.TemporaryDirectory() as place, SessionStore(os.path.join(place, "sessions")).create(place) as session:
        handle = os.open(os.path.join(place, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return asyncio.run(measure(session.journal, handle))
        finally:
            os.close(handle)

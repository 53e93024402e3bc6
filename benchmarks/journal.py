"""What the journal costs a call, in multiples of the least any asyncio program pays: a task, a parse, an await.

Run alone (`python benchmarks/journal.py`) or through `make bench`. Both sides run in the same process, in turns.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from holdfast import Executor, tool
from holdfast.events import Event
from holdfast.session import SessionStore

CALLS = 400
TURN = 20
ROUNDS = 40
LIMIT = 6.0


class _Args(BaseModel):
    n: int
    name: str = "x"


@tool(name="Look", read_only=True, concurrency_safe=True)
async def look(n: int, name: str = "x") -> str:
    """Look at something."""
    return name


@tool(name="Change")
async def change(n: int, name: str = "x") -> str:
    """Change something."""
    return name


async def _floor() -> None:
    async def body(raw: dict[str, Any]) -> str:
        return _Args.model_validate(raw).name

    for turn in range(CALLS // TURN):
        tasks = [asyncio.create_task(body({"n": turn + n, "name": "x"})) for n in range(TURN)]
        for task in tasks:
            await task


async def _engine(on_event: Callable[[Event], None] | None, name_of: Callable[[int], str]) -> None:
    async with Executor([look, change], permission_mode="bypassPermissions", on_event=on_event) as executor:
        for turn in range(CALLS // TURN):
            for n in range(TURN):
                block = {"id": f"t{turn}-{n}", "name": name_of(n), "input": {"n": turn + n, "name": "x"}}
                executor.add(block)
            async for _ in executor.results():
                pass
            executor.end_turn()


def _mixes() -> dict[str, Callable[[int], str]]:
    return {
        "read-only calls": lambda _: "Look",
        "one change in five": lambda n: "Change" if n % 5 == 4 else "Look",
        "state-changing calls": lambda _: "Change",
    }


def _us_per_call(run: Callable[[], Awaitable[None]]) -> float:
    async def main() -> float:
        began = time.perf_counter()
        await run()
        return time.perf_counter() - began

    return asyncio.run(main()) / CALLS * 1e6


def rows() -> list[dict[str, Any]]:
    """One row per mix of calls: microseconds per call with the journal, of the floor, and their ratio."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place, SessionStore(os.path.join(place, "s")).create(place) as session:
        for name, mix in _mixes().items():
            floor: list[float] = []
            bare: list[float] = []
            ours: list[float] = []
            for _ in range(ROUNDS):
                floor.append(_us_per_call(_floor))
                bare.append(_us_per_call(lambda mix=mix: _engine(None, mix)))
                ours.append(_us_per_call(lambda mix=mix: _engine(session.journal, mix)))
            base = min(floor)
            mine = min(ours)
            found.append(
                {
                    "name": f"journal: {name}, us per call",
                    "ours": round(mine, 2),
                    "reference": round(base, 2),
                    "ratio": round(mine / base, 2),
                    "limit": LIMIT,
                    "without_journal": round(min(bare) / base, 2),
                }
            )
    return found


if __name__ == "__main__":
    for row in rows():
        print(row)

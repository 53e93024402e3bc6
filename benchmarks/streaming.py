"""Calls that begin while the answer still streams: real HTTP, both wires, a provider that takes two seconds."""

import asyncio
import os
import time
from tempfile import TemporaryDirectory
from typing import Any

from holdfast import Agent, tool
from holdfast.models import open_model
from holdfast.testing import FakeProvider, FakeTurn, Gate, Pause
from measure import Row, row

START_LIMIT_MS = 10.0
TURN_LIMIT_S = 2.3
WIRES = ("anthropic", "openai")


class Stamp(Gate):
    """Lets everybody through and notes when."""

    passed_s: float = 0.0

    async def wait(self) -> None:
        self.passed_s = time.perf_counter()


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _use(number: int, seconds: float) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "work",
        "input": {"number": number, "seconds": seconds},
    }


def _slow_turn(wire: str, stamps: list[Stamp]) -> FakeTurn:
    """Two seconds with three calls of a second each in their first half.

    A block of the Messages API says that it ends; a call of chat.completions ends where the next thing begins.
    """
    blocks: list[Any] = []
    for number, stamp in enumerate(stamps):
        waits = [stamp, Pause(0.3)] if wire == "anthropic" else [Pause(0.3), stamp]
        blocks += [_use(number, 1.0), *waits]
    return FakeTurn(blocks=[*blocks, _text("On it."), Pause(1.1), _text("Wait.")])


async def _measure(wire: str, place: str) -> tuple[float, float]:
    """The longest way from a block's end to its call's start, and the whole turn; both in seconds."""
    stamps = [Stamp() for _ in range(3)]
    begun: dict[int, float] = {}

    @tool(read_only=True, concurrency_safe=True)
    async def work(number: int, seconds: float) -> str:
        """Take so long."""
        begun[number] = time.perf_counter()
        await asyncio.sleep(seconds)
        return "done"

    done = FakeTurn(blocks=[_text("Done.")])
    turns = [FakeTurn(blocks=[_use(9, 0.0)]), done, _slow_turn(wire, stamps), done]
    async with FakeProvider(turns) as provider:
        addresses = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
        model = open_model(f"{wire}:fake-model", environ=addresses)
        async with Agent(model, [work], cwd=place, allowed_tools=["work"], setting_sources="") as agent:
            await agent.run("warm up")
            began = time.perf_counter()
            await agent.run("go")
            took = time.perf_counter() - began
        await model.close()
    return max(begun[number] - stamp.passed_s for number, stamp in enumerate(stamps)), took


def rows() -> list[Row]:
    """The figures we promise, by the clock, because both the tools and the stream are nothing but waiting."""
    found: list[Row] = []
    with TemporaryDirectory() as place:
        os.environ.setdefault("XDG_STATE_HOME", os.path.join(place, "state"))
        for wire in WIRES:
            start_s, turn_s = asyncio.run(_measure(wire, place))
            found += [
                _promise(f"block's end to call, {wire}", start_s * 1e3, START_LIMIT_MS, unit="ms"),
                _promise(f"3 calls of 1 s in 2 s, {wire}", turn_s, TURN_LIMIT_S, unit="s"),
            ]
    return found


def _promise(name: str, ours: float, limit: float, *, unit: str) -> Row:
    return row(name, ours, limit, unit=unit, limit=1.0, against="the limit we set")

"""Calls begin while the answer that asks for them still streams, over real HTTP on both wires."""

import asyncio

import pytest

from holdfast import Executor, tool
from holdfast.agent import Loop
from holdfast.contract import Tool
from holdfast.events import ResultsSent, RunEnded
from holdfast.models import open_model
from holdfast.testing import FakeProvider, FakeTurn, Gate
from holdfast.testing.loops import read_run


def use(number: int) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "knock", "input": {"number": number}}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def opener(gate: Gate, *, calls: int) -> Tool:
    """A tool that lets the provider go on once so many calls have begun."""
    begun: set[int] = set()

    @tool(read_only=True, concurrency_safe=True)
    async def knock(number: int) -> int:
        """Open the gate."""
        begun.add(number)
        if len(begun) == calls:
            gate.open()
        return number

    return knock


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_calls_begin_before_the_stream_ends(wire: str) -> None:
    """The provider stands still until both calls have begun: a loop that waits for the end would wait for ever."""

    async def scene() -> tuple[str, int, int]:
        gate = Gate()
        turns = [
            FakeTurn(blocks=[use(1), use(2), text("Both are"), gate, text(" on their way.")]),
            FakeTurn(blocks=[text("Done.")]),
        ]
        async with FakeProvider(turns) as provider, Executor([opener(gate, calls=2)]) as executor:
            addresses = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
            model = open_model(f"{wire}:fake-model", environ=addresses)
            events = await read_run(Loop(executor, model))
            await model.close()
        ended = events[-1]
        assert isinstance(ended, RunEnded)
        return ended.outcome, gate.arrived, sum(isinstance(event, ResultsSent) for event in events)

    assert asyncio.run(asyncio.wait_for(scene(), 30)) == ("success", 1, 1)

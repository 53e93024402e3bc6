"""The registry with 1,000 tools: registering is lazy, a second turn joins bytes that are already there."""

from holdfast.contract import Tool, tool
from holdfast.registry import assemble
from measure import Row, interleaved, row

COUNT = 1_000


def _make_tools() -> list[Tool]:
    async def work(a: int) -> int:
        """Give back the number."""
        return a

    return [tool(name=f"tool_{number:04}")(work) for number in range(COUNT)]


def rows() -> list[Row]:
    """A first and a second turn."""
    tools = _make_tools()
    assemble((), own_tools=tools).to_bytes()
    second, register = interleaved(
        lambda: assemble((), own_tools=tools).to_bytes(), lambda: assemble((), own_tools=_make_tools()), rounds=20
    )
    return [
        row("1,000 tools, second turn", second * 1e3, 1.0, unit="ms", limit=1.0, against="1 ms"),
        row("1,000 tools, register", register * 1e3, 20.0, unit="ms", limit=1.0, against="20 ms"),
    ]

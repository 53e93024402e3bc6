"""The registry with 1,000 tools: registering is lazy, a second turn joins bytes that are already there."""

import inspect

from holdfast.contract import Tool, tool
from holdfast.registry import assemble
from holdfast.registry.projection import project_bytes
from measure import Row, interleaved, row

COUNT = 1_000


def _make_tools() -> list[Tool]:
    async def work(a: int) -> int:
        """Give back the number."""
        return a

    return [tool(name=f"tool_{number:04}")(work) for number in range(COUNT)]


def _by_hand(tools: list[Tool], rendered: list[bytes]) -> bytes:
    """What nobody can leave out: find each by its name, put them in order, join the bytes."""
    by_name = {tool.name: entry for tool, entry in zip(tools, rendered, strict=True)}
    return b"[%b]" % b",".join([by_name[name] for name in sorted(by_name)])


def _signatures() -> None:
    for _ in range(COUNT):

        async def work(a: int) -> int:
            return a

        inspect.signature(work)


def rows() -> list[Row]:
    """A first and a second turn."""
    tools = _make_tools()
    assemble((), own_tools=tools).to_bytes()
    rendered = [project_bytes(tool) for tool in tools]
    second, by_hand, register, signatures = interleaved(
        lambda: assemble((), own_tools=tools).to_bytes(),
        lambda: _by_hand(tools, rendered),
        lambda: assemble((), own_tools=_make_tools()),
        _signatures,
        rounds=20,
    )
    return [
        row("1,000 tools, second turn", second * 1e3, by_hand * 1e3, unit="ms", limit=4.0, against="sort and join"),
        row("1,000 tools, register", register * 1e3, signatures * 1e3, unit="ms", limit=2.0, against="signatures"),
    ]

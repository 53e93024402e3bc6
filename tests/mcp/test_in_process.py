"""Servers given in Python: configurations, and objects of the SDK that live in the program itself."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import Form, FormAnswer, UsageError
from holdfast.events import CallFinished
from holdfast.models.scripted import ScriptedModel

pytest.importorskip("mcp", reason="the SDK is part of the development set: run `make setup`")

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def calculator() -> Any:
    from mcp.server import MCPServer  # noqa: PLC0415 - heavy
    from mcp.server.mcpserver import Context  # noqa: PLC0415 - heavy
    from pydantic import BaseModel  # noqa: PLC0415 - heavy

    class Wanted(BaseModel):
        number: int

    server = MCPServer("calculator")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def ask(ctx: Context) -> str:
        """Ask for a number."""
        answer = await ctx.elicit("Which number?", schema=Wanted)
        return f"{answer.action}: {answer.data.number if answer.action == 'accept' else ''}"

    ask.__annotations__["ctx"] = Context  # the class stands in this function only
    server.tool()(ask)
    return server


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"tool": name, "input": given}


def replies(place: Path, servers: Any, *steps: Any, **options: Any) -> list[CallFinished]:
    found: list[CallFinished] = []

    async def run() -> None:
        options.setdefault("allowed_tools", ["mcp__calc", "mcp__scene"])
        agent = Agent(ScriptedModel([*steps, "done"]), cwd=str(place), persist=False, mcp_servers=servers, **options)
        async with agent:
            async with asyncio.timeout(60):
                found.extend([event async for event in agent.stream("go") if isinstance(event, CallFinished)])

    asyncio.run(run())
    return found


def test_a_server_in_the_program_is_called_like_any_other_and_through_the_rules(place: Path) -> None:
    servers = {"calc": calculator()}
    (reply,) = replies(place, servers, call("mcp__calc__add", a=2, b=3))
    assert (reply.is_error, reply.content) == (False, "5")
    (reply,) = replies(place, servers, call("mcp__calc__add", a=2, b=3), allowed_tools=[])
    assert reply.outcome == "denied"
    (reply,) = replies(place, {"calc": {"type": "sdk", "instance": calculator()}}, call("mcp__calc__add", a=1, b=1))
    assert reply.content == "2"


def test_a_server_in_the_program_can_ask_the_user(place: Path) -> None:
    def fill(form: Form) -> FormAnswer:
        assert form.source == "calc"
        return FormAnswer("accept", {"number": 7})

    (reply,) = replies(place, {"calc": calculator()}, call("mcp__calc__ask"), on_form=fill)
    assert reply.content == "accept: 7"


def test_configurations_and_servers_stand_beside_each_other(place: Path) -> None:
    servers = {"calc": calculator(), "scene": {"command": sys.executable, "args": [SCENE, "plain"]}}
    found = replies(place, servers, call("mcp__calc__add", a=2, b=2), call("mcp__scene__echo", text="hi"))
    assert [reply.content for reply in found] == ["4", "hi"]


@pytest.mark.parametrize("wrong", ["npx", 5, {}, object()])
def test_what_is_no_server_is_told_at_once(place: Path, wrong: Any) -> None:
    with pytest.raises(UsageError, match="mcp_servers"):
        Agent(ScriptedModel([]), cwd=str(place), mcp_servers={"x": wrong})

"""Servers that come late, or go and come back: nobody waits for them, and the model learns of them once."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options
from holdfast.app.options import AgentOptions
from holdfast.app.running import RunningAgent
from holdfast.app.start_agent import start_agent
from holdfast.engine import Executor
from holdfast.mcp import retrying
from holdfast.models.scripted import ScriptedModel

ECHO = {"text": "x"}
SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


async def started(place: Path, model: ScriptedModel, *scene: str) -> RunningAgent:
    config = json.dumps({"mcpServers": {"late": {"command": sys.executable, "args": [SCENE, *scene]}}})
    options = Options(cwd=str(place), mcp_config=(config,))
    return await start_agent(options, AgentOptions(model=model), waits=False)


async def said(agent: RunningAgent, prompt: str) -> None:
    async with asyncio.timeout(60):
        async for _ in agent.run(prompt):
            pass


def told(model: ScriptedModel, request: int) -> str:
    return json.dumps(model.requests[request].messages[-1]["content"])


async def test_a_session_that_does_not_wait_tells_a_late_servers_tools_once_and_leaves_the_prefix_alone(
    kit: Any, place: Path
) -> None:
    model = ScriptedModel(["one", "two", "three"])
    gate = place / "gate"
    agent = await started(place, model, "waits", str(gate))
    async with agent:
        notices: list[str] = []
        agent.tell_of_servers(notices.append)
        await said(agent, "first")
        assert agent.server_states == [{"name": "late", "status": "pending", "source": "dynamic"}]
        gate.touch()
        await kit.until(lambda: agent.server_states[0]["status"] == "connected")
        await said(agent, "second")
        await said(agent, "third")
    assert "mcp__late__echo" not in json.dumps(model.requests[0].messages)
    assert told(model, 1).count("mcp__late__echo") == 1
    assert "Use echo" in told(model, 1)
    assert "mcp__late__echo" not in told(model, 2)
    assert model.requests[0].tools == model.requests[1].tools
    assert model.requests[0].system == model.requests[1].system


@pytest.mark.parametrize(("wanted", "wait_s"), [({}, 5), ({"waitMs": 50}, 0.05), ({"waitMs": "x"}, 5)])
async def test_a_setting_says_how_long_others_wait(place: Path, wanted: dict[str, Any], wait_s: float) -> None:
    scene = {"command": sys.executable, "args": [SCENE, "waits", str(place / "gate")]}
    config, settings = json.dumps({"mcpServers": {"s": scene}}), json.dumps({"mcp": wanted})
    options = Options(cwd=str(place), mcp_config=(config,), settings=(settings,))
    async with await start_agent(options, AgentOptions(model=ScriptedModel([])), waits=False) as agent:
        assert agent.servers is not None
        assert agent.servers.choices.wait_s == wait_s


async def test_a_server_that_dies_at_once_is_not_started_for_ever(
    kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "_BACKOFF_S", (0.01, 0.01, 0.01))
    starts = tmp_path / "starts"
    async with kit.hub(kit.entry("flaps", str(starts))) as hub:
        hub.start()
        await kit.until(lambda: any("too often" in notice for notice in kit.notices))
        assert hub.servers["scene"].state == "failed"
        assert len(starts.read_text()) == 4
        reply = await kit.call(Executor(hub.tools(), permission_mode="bypassPermissions"), "mcp__scene__echo", ECHO)
        assert reply.is_error
        assert len(starts.read_text()) == 5  # a call tries once more

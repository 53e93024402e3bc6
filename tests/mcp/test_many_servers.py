"""Twenty servers with fifty tools each: there at once when they are known, none waits for another, none outlives us."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.testing import started

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")
SERVERS = 20


async def test_known_servers_are_ready_for_the_first_turn_without_the_slowest(kit: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    names = [f"s{number}" for number in range(SERVERS)]
    entries = [kit.entry("many-later", str(gate), name=name) for name in names]
    async with kit.hub(*entries) as hub:
        hub.start()
        await asyncio.wait_for(hub.settle(60), 90)
        assert len(hub.tools()) == SERVERS * 50
    Path(f"{gate}.holds").touch()  # from now on none of them comes up
    async with kit.hub(*entries) as hub:
        assert len(hub.tools()) == SERVERS * 50
        hub.start()
        await asyncio.wait_for(hub.settle(), 60)  # they come up only behind the gate
        assert len(hub.pending) == SERVERS
        gate.touch()
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__s19__tool_49", {"text": "here"})
        assert reply.content == "here"


def test_killing_the_agent_leaves_none_of_its_servers_running(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    script = f"exec 3>{tmp_path}/alive; echo up >&3; exec {sys.executable} {SCENE} many"
    servers = {f"s{number}": {"command": "/bin/sh", "args": ["-c", script]} for number in range(SERVERS)}
    argv = [sys.executable, "-m", "holdfast", "mcp", "serve", "--cwd", str(tmp_path), "--strict-mcp-config"]
    argv += ["--mcp-config", json.dumps({"mcpServers": servers})]
    pipe = subprocess.PIPE
    nowhere = subprocess.DEVNULL
    with started(argv, stdin=pipe, stdout=nowhere, stderr=nowhere) as agent, open(tmp_path / "alive", "rb") as alive:
        assert [alive.readline() for _ in range(SERVERS)] == [b"up\n"] * SERVERS
        agent.send_signal(signal.SIGKILL)
        assert alive.read() == b""  # the pipe ends with the last process that holds it

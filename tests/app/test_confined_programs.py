"""Hooks and servers in the sandbox: a folder's unless its approval says otherwise, the user's own by setting."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import Options, load_rights, open_session
from holdfast.app.begin import SessionChoice
from holdfast.app.servers import join_servers
from holdfast.cli.main import run
from holdfast.events import CallFinished
from holdfast.models.scripted import ScriptedModel

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

SCENE = Path(__file__).parents[1] / "data" / "mcp" / "scene.py"
WRITES = "echo x > ../outside; echo x > inside; true"
ON = {"enabled": True}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = Path(os.path.realpath(tmp_path)) / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    monkeypatch.chdir(project)
    return project


def hook(command: str, event: str = "UserPromptSubmit") -> dict[str, Any]:
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}


def wrote(place: Path) -> tuple[bool, bool]:
    """Inside, and outside."""
    return (place / "inside").exists(), (place.parent / "outside").exists()


def prompt(place: Path, settings: dict[str, Any]) -> None:
    async def go() -> None:
        model = ScriptedModel([{"blocks": [{"text": "done"}]}])
        async with Agent(model, cwd=place, settings=json.dumps(settings), persist=False) as agent:
            await asyncio.wait_for(agent.run("hello"), 60)

    asyncio.run(go())


def brought(place: Path, settings: dict[str, Any]) -> None:
    (place / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    assert run(["trust", "--yes"]) == 0


def test_a_folders_hook_runs_in_the_sandbox_unless_its_approval_says_otherwise(place: Path) -> None:
    brought(place, hook(WRITES))
    prompt(place, {"sandbox": ON})
    assert wrote(place) == (True, False)
    assert run(["trust", "--yes", "--outside-sandbox"]) == 0
    prompt(place, {"sandbox": ON})
    assert wrote(place) == (True, True)


def test_the_variables_that_a_confined_hook_leaves_are_read_behind_the_wall_and_steer_nothing(place: Path) -> None:
    left = "touch ../outside inside; export GREETING=hi LD_PRELOAD=/evil.so GIT_SSH=evil"
    brought(place, hook(f"echo '{left}' >> \"$CLAUDE_ENV_FILE\"", "SessionStart"))
    shown = 'echo "$GREETING/$LD_PRELOAD/$GIT_SSH" > seen'
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": shown}}

    async def go() -> None:
        model = ScriptedModel([{"blocks": [call]}, "done"])
        settings = json.dumps({"sandbox": ON})
        async with Agent(model, cwd=place, settings=settings, permission_mode="bypassPermissions") as agent:
            await asyncio.wait_for(agent.run("hello"), 60)

    asyncio.run(go())
    assert (place / "seen").read_text() == "hi//\n"
    assert wrote(place) == (True, False)


def test_a_hook_that_changes_after_its_approval_does_not_run_outside(place: Path) -> None:
    (place / "check.sh").write_text(WRITES, encoding="utf-8")
    brought(place, hook("sh ./check.sh"))
    assert run(["trust", "--yes", "--outside-sandbox"]) == 0
    (place / "check.sh").write_text(f"{WRITES}; true", encoding="utf-8")
    prompt(place, {"sandbox": ON})
    assert wrote(place) == (False, False), "it is not what was approved, so that it does not run at all"
    assert run(["trust", "--yes"]) == 0
    prompt(place, {"sandbox": ON})
    assert wrote(place) == (True, False)


@pytest.mark.parametrize(("also", "outside"), [([], True), (["servers"], True), (["hooks"], False)])
def test_the_users_own_hook_runs_in_the_sandbox_only_by_setting(place: Path, also: list[str], outside: bool) -> None:
    prompt(place, {"sandbox": {**ON, "alsoConfine": also}, **hook(WRITES)})
    assert wrote(place) == (True, outside)


def test_without_the_sandbox_a_folders_hook_runs_as_ever(place: Path) -> None:
    brought(place, hook(WRITES))
    prompt(place, {})
    assert wrote(place) == (True, True)


def test_a_confined_gate_where_no_sandbox_can_start_counts_as_one_that_failed(place: Path) -> None:
    brought(place, hook("true", "PreToolUse"))
    script: list[Any] = [{"blocks": [{"tool": "Glob", "input": {"pattern": "*"}}]}, {"blocks": [{"text": "done"}]}]

    async def go() -> str:
        settings = json.dumps({"sandbox": {**ON, "bwrapPath": "/nonexistent/bwrap"}})
        async with Agent(ScriptedModel(script), cwd=place, settings=settings, persist=False) as agent:
            events = [event async for event in agent.stream("hello")]
        return str(events)

    told = asyncio.run(asyncio.wait_for(go(), 60))
    assert "The sandbox is switched on and cannot start, so hook PreToolUse is not started" in told


def test_a_session_start_hook_in_the_sandbox_still_leaves_variables(place: Path) -> None:
    brought(place, hook('echo export GREETING=hello >> "$CLAUDE_ENV_FILE"', "SessionStart"))
    script: list[Any] = [
        {"blocks": [{"tool": "Bash", "input": {"command": "echo $GREETING"}}]},
        {"blocks": [{"text": "x"}]},
    ]

    async def go() -> list[Any]:
        async with Agent(ScriptedModel(script), cwd=place, settings=json.dumps({"sandbox": ON})) as agent:
            return [event async for event in agent.stream("hello") if isinstance(event, CallFinished)]

    (reply,) = asyncio.run(asyncio.wait_for(go(), 60))
    assert reply.content == "hello"


def test_hooks_test_runs_a_hook_as_a_session_would(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brought(place, hook(WRITES))
    capsys.readouterr()
    settings = json.dumps({"sandbox": ON})
    assert run(["hooks", "test", "UserPromptSubmit", '{"prompt": "x"}', "--settings", settings]) == 0
    assert wrote(place) == (True, False)


def server() -> dict[str, Any]:
    # The names are put together, for files that a server names are part of what was approved.
    words = f"n=side; echo x > ../out$n; echo x > in$n; exec {sys.executable} {SCENE} plain"
    return {"command": "/bin/sh", "args": ["-c", words]}


def connected(place: Path, options: Options) -> dict[str, str]:
    async def go() -> dict[str, str]:
        async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
            hub = await join_servers(opened, options, waits=False)
            assert hub is not None
            await asyncio.gather(*(server.ensure() for server in hub.servers.values()), return_exceptions=True)
            return {one.config.name: f"{one.state} {one.detail}" for one in hub.servers.values()}

    return asyncio.run(asyncio.wait_for(go(), 60))


def test_a_folders_server_runs_in_the_sandbox_unless_its_approval_says_otherwise(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server()}}), encoding="utf-8")
    options = Options(cwd=str(place), settings=(json.dumps({"sandbox": ON}),))
    assert run(["trust", "--yes"]) == 0
    assert run(["mcp", "approve", "x", "--yes"]) == 0
    assert connected(place, options)["x"].startswith("connected")
    assert wrote(place) == (True, False)
    assert run(["mcp", "list", "--check", "--settings", json.dumps({"sandbox": ON})]) == 0
    assert "connected" in capsys.readouterr().out
    assert wrote(place) == (True, False)
    assert run(["mcp", "approve", "x", "--yes", "--outside-sandbox"]) == 0
    assert connected(place, options)["x"].startswith("connected")
    assert wrote(place) == (True, True)


@pytest.mark.parametrize(("also", "outside"), [([], True), (["servers"], False)])
def test_the_users_own_server_runs_in_the_sandbox_only_by_setting(place: Path, also: list[str], outside: bool) -> None:
    given = json.dumps({"mcpServers": {"x": server()}})
    settings = json.dumps({"sandbox": {**ON, "alsoConfine": also}})
    options = Options(cwd=str(place), settings=(settings,), mcp_config=(given,))
    assert connected(place, options)["x"].startswith("connected")
    assert wrote(place) == (True, outside)


def test_a_folder_cannot_let_its_own_programs_out(place: Path) -> None:
    given: dict[str, Any] = {"sandbox": {"alsoConfine": []}, **hook(WRITES)}
    brought(place, given)
    rights = load_rights(Options(cwd=str(place), settings=(json.dumps({"sandbox": {**ON, "alsoConfine": ["hooks"]}}),)))
    assert rights.settings.sandbox["alsoConfine"] == ("hooks",)
    prompt(place, {"sandbox": ON})
    assert wrote(place) == (True, False)

"""Where bubblewrap cannot start: refused, unless the user chose the weaker wall, which then says what it is."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options, build_executor, load_rights
from holdfast.app.sandbox import SandboxKit
from holdfast.cli.main import run
from holdfast.contract import ToolContext, UsageError
from holdfast.engine import Executor
from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.sandbox import NotAvailable, Policy, look_for_landlock
from holdfast.host.sandbox.alone import LoneWall
from holdfast.host.sandbox.wall import Entered
from holdfast.testing import ScriptedAsker

BROKEN = """#!/bin/sh
case "$1" in
--version) echo "bubblewrap 0.8.0" ;;
--help) echo "--disable-userns" ;;
*) echo "bwrap: No permissions to create new namespace" >&2; exit 1 ;;
esac
"""


@pytest.fixture(autouse=True)
def landlock() -> None:
    try:
        look_for_landlock()
    except NotAvailable as problem:
        pytest.skip(str(problem))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = Path(os.path.realpath(tmp_path)) / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    broken = tmp_path / "bwrap"
    broken.write_text(BROKEN, encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.chdir(project)
    return project


def wanted(place: Path, **more: Any) -> str:
    return json.dumps({"sandbox": {"enabled": True, "bwrapPath": str(place.parent / "bwrap"), **more}})


def session(place: Path, asker: Any = None, **more: Any) -> Executor:
    return build_executor(Options(cwd=str(place), settings=(wanted(place, **more),)), asker=asker)


WEAK = {"enableWeakerLandlockSandbox": True}


def test_without_that_choice_every_command_is_refused_with_reason_and_ways_out(place: Path) -> None:
    reply = session(place).call("Bash", {"command": "echo hi"})
    assert reply.is_error
    for words in ("No permissions to create new namespace", "enableWeakerLandlockSandbox", "sandbox.enabled to false"):
        assert words in reply.content


def test_the_weaker_wall_confines_and_every_command_is_asked_about(place: Path) -> None:
    asker = ScriptedAsker(["allow"])
    executor = session(place, asker, **WEAK)
    script = "echo x > made; echo x > ../outside; python3 -c 'import socket; socket.socket()'; echo $TMPDIR > $TMPDIR/x"
    reply = executor.call("Bash", {"command": script})
    assert len(asker.questions) == 1, "auto-allow does not count"
    assert "../outside: Permission denied" in reply.content
    assert "Operation not permitted" in reply.content
    assert (place / "made").exists()
    assert not (place.parent / "outside").exists()


def test_what_governs_the_agent_is_looked_at_afterwards(place: Path) -> None:
    executor = session(place, ScriptedAsker(["allow", "allow"]), **WEAK)
    script = "echo '#!/bin/sh' > .git/hooks/pre-commit; mkdir .claude; echo {} > .claude/settings.json"
    reply = executor.call("Bash", {"command": script})
    assert "pre-commit" in reply.content
    assert ".claude" in reply.content
    assert "the user should look at it" in reply.content
    assert "look at it" not in executor.call("Bash", {"command": "touch plain"}).content


@pytest.mark.parametrize("key", ["failIfUnavailable"])
def test_where_the_whole_sandbox_must_hold_the_weaker_one_is_not_enough(place: Path, key: str) -> None:
    with pytest.raises(UsageError, match="No permissions to create new namespace"):
        session(place, **WEAK, **{key: True})


def test_the_weaker_promise_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rights = load_rights(Options(cwd=str(place), settings=(wanted(place, **WEAK),)))
    assert any("the sandbox is Landlock alone" in line for line in rights.warnings())
    assert run(["sandbox", "status", "--settings", wanted(place, **WEAK)]) == 0
    told = capsys.readouterr().out
    assert "alone, which is weaker" in told
    assert "no     what governs the agent cannot be changed or made" in told
    assert run(["sandbox", "run", "--settings", wanted(place, **WEAK), "--", "true"]) == 0
    assert "Landlock alone" in capsys.readouterr().err
    assert run(["sandbox", "status", "--settings", wanted(place)]) == 1


def test_a_folder_cannot_choose_the_weaker_wall(place: Path) -> None:
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text(wanted(place, **WEAK), encoding="utf-8")
    assert run(["trust", "--yes"]) == 0
    given = load_rights(Options(cwd=str(place))).settings.sandbox
    assert "enableWeakerLandlockSandbox" not in given
    assert "bwrapPath" not in given


@pytest.mark.parametrize(("mode", "writes"), [("plan", False), ("default", True)])
def test_in_plan_mode_a_command_can_write_nothing_also_without_a_sandbox(place: Path, mode: str, writes: bool) -> None:
    rights = load_rights(Options(cwd=str(place), permission_mode=mode))
    temporary = place.parent / "tmp"
    temporary.mkdir()
    kit = SandboxKit(lambda: rights.settings, lambda: rights.permissions, temporary=lambda: str(temporary))
    script = "echo x > made; echo x > ../out; ps -e | wc -l; [ -z $TMPDIR ] || echo x > $TMPDIR/x; cat /dev/null"
    plain = Command(argv=["/bin/bash", "-c", script], cwd=str(place))

    async def go() -> str:
        async with Processes() as processes:
            held = kit.without_writes(plain, ToolContext(str(place), tool_use_id="c1"))
            return (await processes.run(held)).output.stderr.text()

    told = asyncio.run(asyncio.wait_for(go(), 60))
    assert ((place / "made").exists(), (place.parent / "out").exists()) == (writes, writes)
    assert ("Permission denied" in told) is not writes
    assert (temporary / "x").exists() is not writes


def test_bash_in_plan_mode_goes_that_way(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[Command] = []
    enter = LoneWall.enter

    def noted(wall: LoneWall, command: Command, policy: Policy) -> Entered:
        entered.append(command)
        return enter(wall, command, policy)

    monkeypatch.setattr(LoneWall, "enter", noted)
    (place / "notes").write_text("remember", encoding="utf-8")
    executor = build_executor(Options(cwd=str(place), permission_mode="plan"))
    assert executor.call("Bash", {"command": "cat notes"}).content == "remember"
    assert len(entered) == 1

"""`holdfast permissions backtest` on sessions that `holdfast exec` wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.contract import CwdChanged, ModeChanged
from holdfast.events import CallQueued, ContextChanged, PermissionDecided
from holdfast.session import user_store

from .conftest import StartExec


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def session(start_exec: StartExec) -> None:
    process = start_exec("--allowed-tools", "Bash(touch *)")
    process.send(
        {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "touch x"}},
        {"type": "end_turn"},
        {"type": "tool_use", "id": "3", "name": "Read", "input": {"file_path": "/etc/hostname"}},
        {"type": "tool_use", "id": "4", "name": "NoSuchTool", "input": {}},
    )
    code, _, errors = process.finish()
    assert code == 0, errors


def new_settings(**permissions: Any) -> str:
    Path("new.json").write_text(json.dumps({"permissions": permissions}, indent=1), encoding="utf-8")
    return "new.json"


@pytest.mark.usefixtures("session")
def test_it_shows_what_would_change_with_rule_file_and_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    new = new_settings(allow=["Read(//etc/**)"], deny=["Bash(touch *)"])
    place = tmp_path / "elsewhere" / "new.json"
    assert run(["permissions", "backtest", "latest", "--settings", new]) == 0
    assert capfd.readouterr().out.splitlines() == [
        'allow → deny  Bash {"command":"touch x"}',
        "    was  Bash(touch *)   (command_line)",
        f"    now  the rule Bash(touch *) denies it   ({place}:7)",
        'ask (answered: deny) → allow  Read {"file_path":"/etc/hostname"}',
        f"    now  the rule Read(//etc/**) allows it   ({place}:4)",
        "3 calls, 2 would change, 1 allow to deny, 1 ask to allow",
        "1 question then, 0 now",
    ]


@pytest.mark.usefixtures("session")
def test_as_json_every_call_has_a_line_and_the_sums_come_last(capfd: pytest.CaptureFixture[str]) -> None:
    new = new_settings(deny=["Bash"])
    assert run(["permissions", "backtest", "latest", "--settings", new, "--json", "--fail-on-change"]) == 1
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(line["type"], line.get("changed")) for line in lines] == [
        ("call", True),
        ("call", True),
        ("call", False),
        ("summary", 2),
    ]
    assert lines[-1] == {
        "type": "summary",
        "calls": 3,
        "changed": 2,
        "by": {"allow to deny": 2},
        "questions": {"old": 1, "new": 1},
    }


@pytest.mark.usefixtures("session")
def test_without_a_change_the_exit_code_is_zero(capfd: pytest.CaptureFixture[str]) -> None:
    same = ["--allowed-tools", "Bash(touch *)", "--fail-on-change"]
    assert run(["permissions", "backtest", "latest", *same]) == 0
    assert capfd.readouterr().out == "3 calls, 0 would change\n1 question then, 1 now\n"
    assert run(["permissions", "backtest", "latest", "--all", *same]) == 0
    assert capfd.readouterr().out.count("→") == 3


def test_a_session_that_does_not_exist_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "backtest", "nope"]) == 2
    assert "'nope'" in capfd.readouterr().err


def test_directory_and_mode_are_those_the_call_had_and_text_is_escaped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a project that is gone by now: nothing is read from disk."""
    gone = str(tmp_path / "gone")
    steps: list[Any] = []
    for number in range(3):
        raw: Any = {"file_path": "a\x1b[2J"} if number else '{"file_path": "a"}'
        steps += [CallQueued(str(number), "Read", raw), PermissionDecided(str(number), "Read", "allow", None)]
        steps += [ContextChanged(str(number), "CwdChanged", CwdChanged("/elsewhere")._asdict())] if number else []
    steps += [CallQueued("4", "Edit", {"file_path": f"{gone}/a"}), PermissionDecided("4", "Edit", "ask", None)]
    steps += [ContextChanged("4", "ModeChanged", ModeChanged("plan")._asdict())]
    steps += [CallQueued("5", "Edit", {"file_path": f"{gone}/a"}), PermissionDecided("5", "Edit", "ask", None)]
    steps += [CallQueued("6", "Edit", "{broken"), PermissionDecided("6", "Edit", "deny", None)]
    with user_store().create(gone) as session:
        for step in steps:
            session.journal(step)
    assert run(["permissions", "backtest", "latest", "--all"]) == 0
    out, err = capfd.readouterr()
    assert "is gone" in err
    verdicts = [line.split("  ")[0] for line in out.splitlines() if "→" in line]
    assert verdicts == ["allow → allow", "allow → allow", "allow → ask", "ask → ask", "ask → deny", "deny → deny"]
    assert "\x1b" not in out
    assert run(["permissions", "backtest", "latest", "--permission-mode", "acceptEdits"]) == 0
    assert "2 ask to allow" in capfd.readouterr().out

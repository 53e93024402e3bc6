"""`holdfast permissions learn` on sessions that `holdfast exec` wrote, and how often people are asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.main import run

from .conftest import StartExec


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


def test_questions_with_a_yes_become_rules_in_order_of_what_they_spare(
    start_exec: StartExec, capfd: pytest.CaptureFixture[str]
) -> None:
    process = start_exec("--ask", "stdio")
    commands = ["cargo test a", "touch x", "cargo test b", "touch y"]
    for number, command in enumerate(commands):
        process.send({"type": "tool_use", "id": str(number), "name": "Bash", "input": {"command": command}})
        while (line := process.read())["type"] != "tool_result":
            behavior = "deny" if "touch y" in json.dumps(line) else "allow"
            answer = {"type": "permission_response", "request_id": line["request_id"], "behavior": behavior}
            process.send({**answer, "message": "no"} if behavior == "deny" else answer)
        process.send({"type": "end_turn"})  # there may be no cargo here, and a failure ends what follows in its turn
    assert process.finish()[0] == 0
    assert run(["permissions", "learn", "latest", "--json"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["spares"] for line in lines] == [2, 1]
    assert lines[0]["seen"] == ["cargo test a", "cargo test b"]
    assert run(["permissions", "learn", "latest"]) == 0
    assert "3 questions with a yes; these rules would have spared 3" in capfd.readouterr().out
    assert run(["permissions", "learn", "latest", "--apply"]) == 2  # nobody is there to say yes
    assert "nobody is at the terminal" in capfd.readouterr().err


def test_every_offered_rule_of_our_sessions_covers_its_call() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "friction.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("default"))
    assert float(row[7].rstrip("%")) <= 10
    assert int(row[-1]) == 0

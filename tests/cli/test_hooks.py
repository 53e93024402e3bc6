"""`holdfast hooks`, and the examples, as a user runs them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "hooks"


def holdfast(*words: str, cwd: Path, stdin: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The examples as a user's own settings."""
    if shutil.which("jq") is None:
        pytest.skip("the examples need jq")
    place = tmp_path / "project"
    shutil.copytree(EXAMPLES, place)
    return place


def test_hooks_are_listed_with_their_place(project: Path):
    done = holdfast("hooks", "list", "--settings", "settings.json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "PreToolUse(Bash)" in done.stdout
    assert "deny.sh" in done.stdout
    assert f"{project}/settings.json:" in done.stdout
    rows = [
        json.loads(line)
        for line in holdfast("hooks", "list", "--json", "--settings", "settings.json", cwd=project).stdout.splitlines()
    ]
    assert {row["event"] for row in rows} == {"PreToolUse", "PostToolUse", "SessionStart", "Stop"}
    assert "No hooks" in holdfast("hooks", "list", cwd=project).stdout


def rehearse(project: Path, event: str, fixture: dict[str, Any], **env: str) -> tuple[int, dict[str, Any]]:
    words = ("hooks", "test", event, json.dumps(fixture), "--json", "--settings", "settings.json")
    done = holdfast(*words, cwd=project, **env)
    return done.returncode, json.loads(done.stdout)


def test_each_example_does_what_it_says(project: Path, tmp_path: Path):
    code, said = rehearse(
        project, "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}}
    )
    assert (code, said["decision"]) == (2, "deny")
    assert "pull request" in said["reason"]
    code, said = rehearse(project, "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}})
    assert (code, said["updated_input"]) == (0, {"command": "pytest -q", "timeout": 300_000})
    code, said = rehearse(project, "PreToolUse", {"tool_name": "Write", "tool_input": {}})
    assert (code, said["decision"]) == (2, "deny")  # it crashes, and says what that means
    code, said = rehearse(project, "SessionStart", {"source": "startup"})
    assert "branch" in said["additional_context"][0]
    (project / "x.json").write_text('{"a":1}')
    written = {"tool_name": "Write", "tool_input": {"file_path": str(project / "x.json")}, "tool_response": {}}
    assert rehearse(project, "PostToolUse", written)[0] == 0
    assert (project / "x.json").read_text() == '{\n  "a": 1\n}\n'
    rehearse(project, "Stop", {"last_assistant_message": "done"}, HOOK_LOG=str(tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "test: done\n"


def test_wrong_use_is_told(project: Path):
    done = holdfast("hooks", "test", "PreToolUze", "{}", cwd=project)
    assert done.returncode == 2
    assert "there is no event" in done.stderr
    for fixture, told in (
        ("{", "JSON"),
        ("nowhere.json", "neither JSON nor a file"),
        ('{"tool_use_id": "x"}', "tool_name"),
    ):
        done = holdfast("hooks", "test", "PreToolUse", fixture, cwd=project)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert "No hook fits" in holdfast("hooks", "test", "Stop", "-", cwd=project, stdin="{}").stdout


def scripted(path: Path, *turns: object) -> str:
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return f"scripted:{path}"


def test_hooks_of_the_users_settings_hold_in_a_whole_run(project: Path, tmp_path: Path, isolated_home: Path):
    settings = json.loads((project / "settings.json").read_text())
    (isolated_home / ".claude").mkdir()
    (isolated_home / ".claude" / "settings.json").write_text(json.dumps(settings))
    push = {"blocks": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "git push origin main"}}]}
    model = scripted(tmp_path / "m.jsonl", push, "Understood.")
    words = (
        "-p",
        "push it",
        "--model",
        model,
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "bypassPermissions",
    )
    done = holdfast(*words, cwd=project, HOOK_LOG=str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    assert "open a pull request" in done.stdout
    assert "Understood" in (tmp_path / "log").read_text()


def test_a_deferred_call_ends_the_run_and_is_made_when_the_session_is_resumed(isolated_home: Path, tmp_path: Path):
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}
    command = f"test -e {tmp_path}/decided || echo '{json.dumps(said)}'"
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    (isolated_home / ".claude").mkdir()
    (isolated_home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "touch made"}}
    ask = scripted(tmp_path / "m.jsonl", {"blocks": [call]}, "never asked")
    options = ("--output-format", "json", "--permission-mode", "bypassPermissions")
    first = holdfast("-p", "make it", "--model", ask, *options, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    ended = json.loads(first.stdout)
    assert (ended["stop_reason"], ended["is_error"]) == ("tool_deferred", False)
    assert ended["deferred_tool_use"] == {"id": "t1", "name": "Bash", "input": {"command": "touch made"}}
    assert not (tmp_path / "made").exists()
    (tmp_path / "decided").touch()
    then = scripted(tmp_path / "n.jsonl", "It is made.")
    second = holdfast("-p", "go on", "--resume", ended["session_id"], "--model", then, *options, cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["result"] == "It is made."
    assert (tmp_path / "made").exists()


def user_settings(home: Path, **events: str) -> None:
    (home / ".claude").mkdir()
    hooks = {name: [{"hooks": [{"type": "command", "command": one}]}] for name, one in events.items()}
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def test_setup_hooks_prepare_the_project_before_the_session(isolated_home: Path, tmp_path: Path):
    say = f'tee -a {tmp_path}/heard | grep -o \'SessionStart\\|"trigger":"[a-z]*"\' >> {tmp_path}/order; echo'
    leave = 'echo export PREPARED=yes >> "$CLAUDE_ENV_FILE"'
    user_settings(isolated_home, Setup=f"{say}; {leave}; echo broken >&2; exit 1", SessionStart=say)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo $PREPARED > out"}}
    model = scripted(tmp_path / "m.jsonl", {"blocks": [call]}, "Done.")
    words = ("-p", "go", "--init", "--maintenance", "--model", model, "--permission-mode", "bypassPermissions")
    done = holdfast(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "order").read_text().split() == ['"trigger":"init"', '"trigger":"maintenance"', "SessionStart"]
    assert (tmp_path / "out").read_text() == "yes\n"
    assert "Setup hook" in done.stderr
    assert "broken" in done.stderr


def test_only_set_up_needs_no_model_and_ends(isolated_home: Path, tmp_path: Path):
    user_settings(
        isolated_home, Setup="touch ready", SessionStart="touch begun", Stop="touch never", SessionEnd="touch end"
    )
    done = holdfast("--init-only", cwd=tmp_path, HOLDFAST_MODEL="anthropic:claude-x", ANTHROPIC_API_KEY="")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "end", "ready"]


def test_hooks_hear_how_a_session_at_the_terminal_begins_and_ends(isolated_home: Path, tmp_path: Path):
    note = f"jq -r '.hook_event_name + \" \" + (.source // .reason)' >> {tmp_path}/heard"
    user_settings(isolated_home, SessionStart=note, SessionEnd=note)
    model = scripted(tmp_path / "m.jsonl", "One.")
    done = holdfast("--model", model, cwd=tmp_path, stdin="hi\n/clear\nhi again\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "heard").read_text().splitlines() == [
        "SessionStart startup",
        "SessionEnd clear",
        "SessionStart clear",
        "SessionEnd prompt_input_exit",
    ]


def test_a_gate_that_cannot_run_is_listed_as_one_that_failed(tmp_path: Path):
    broken = {"matcher": "Bash", "hooks": [{"type": "telepathy"}]}
    fine = {"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]}

    def states(**more: str) -> list[str]:
        settings = json.dumps({"hooks": {"PreToolUse": [broken, fine], **more}})
        done = holdfast("hooks", "list", "--json", "--settings", settings, cwd=tmp_path)
        return [json.loads(line)["state"] for line in done.stdout.splitlines()]

    reason = "the handler's type is 'telepathy'; command, http, prompt, agent, mcp_tool are known"
    assert states() == [f"failed gate, its calls are asked about: {reason}", "in force"]
    assert states(onGateFailure="deny") == [f"failed gate, its calls are refused: {reason}", "in force"]
    assert states(onGateFailure="ignore") == [f"failed gate, its calls are let through: {reason}", "in force"]


def test_a_hook_that_would_not_start_is_listed_as_such_and_said(tmp_path: Path):
    (tmp_path / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    handlers = [{"type": "command", "command": command} for command in ("./check.sh", "bash ./gone.sh")]
    settings = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": handlers}]}})
    done = holdfast("hooks", "list", "--settings", settings, cwd=tmp_path)
    assert "[cannot start: './check.sh' may not be executed; `chmod +x` it]" in done.stdout
    assert "[cannot start: './gone.sh' is not there]" in done.stdout
    assert "PreToolUse: it cannot start as things are: './gone.sh' is not there" in done.stderr


def test_a_gate_that_changed_since_it_was_approved_is_listed_as_one_that_failed(tmp_path: Path):
    (tmp_path / ".claude").mkdir()
    settings = tmp_path / ".claude" / "settings.json"

    def configure(command: str) -> None:
        gate = {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}
        settings.write_text(json.dumps({"hooks": {"PreToolUse": [gate]}}))

    configure("true")
    assert holdfast("trust", "--yes", cwd=tmp_path).returncode == 0
    configure("false")
    shown = holdfast("hooks", "list", cwd=tmp_path).stdout
    assert "in force" not in shown
    assert "PreToolUse(Bash)" in shown
    assert "[failed gate, its calls are asked about: it is not what was approved here" in shown

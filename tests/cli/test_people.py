"""permissions, trust, undo and doctor, in process."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.main import run
from holdfast.session import user_store

SETTINGS = '{\n "permissions": {\n  "allow": ["Bash(make *)"],\n  "deny": ["Bash(rm *)"]\n }\n}\n'
COMMAND = '{"command":"git log --oneline -5 | head && rm -rf build"}'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_explain_names_layer_rule_file_and_line(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "explain", "Bash", COMMAND]) == 0
    out = capfd.readouterr().out
    assert f"{project}/.claude/settings.json:4" in out
    assert "rm -rf build" in out
    assert run(["permissions", "explain", "Bash", COMMAND, "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert (answer["verdict"], answer["rule"], answer["read_only"]) == ("deny", "Bash(rm *)", False)
    assert [part["read_only"] for part in answer["subcommands"]] == [True, True, False]


def test_list_shows_every_rule_in_force(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "list", "--json", "--allowed-tools", "Read Edit"]) == 0
    listed = [json.loads(line)["rule"] for line in capfd.readouterr().out.splitlines()]
    assert sorted(listed) == ["Bash(rm *)", "Edit", "Read"]


def test_lint_finds_what_is_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "lint", "--disallowed-tools", "Bash Bash(rm -rf *) Write(a)"]) == 1
    assert "Write(a)" in capfd.readouterr().out


def test_the_bundled_policy_tests_pass_and_a_wrong_expectation_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (Path.cwd() / ".claude" / "settings.json").unlink()
    examples = Path(__file__).parents[2] / "examples" / "policy-tests.jsonl"
    assert run(["permissions", "test", str(examples)]) == 0
    assert capfd.readouterr().out.endswith("15 passed, 0 failed\n")
    (tmp_path / "t.jsonl").write_text(
        '{"command":"ls","expect":"deny"}\nnonsense\n{"command":"ls"}\n', encoding="utf-8"
    )
    assert run(["permissions", "test", str(tmp_path / "t.jsonl"), "--json"]) == 1
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert lines[0] == {"verdict": "allow", "layer": lines[0]["layer"], "rule": None, "read_only": True, "ok": False}
    assert lines[1]["ok"] is False
    assert "ok" not in lines[2]


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_a_file_without_a_case_is_no_passed_policy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, options: list[str]
) -> None:
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    assert run(["permissions", "test", str(tmp_path / "t.jsonl"), *options]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "t.jsonl' holds no case" in err
    assert '{"command": "git status", "expect": "allow"}' in err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/dev/zero", "'/dev/zero': it is neither a file nor a pipe"),
        ("endless", "'endless', line 1 has more than"),
        ("pipe", "'pipe': it is a pipe that nobody writes to"),
        (".", "'.': Is a directory"),
        ("none", "'none': No such file"),
    ],
)
def test_what_is_no_file_with_an_end_is_no_policy_test(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with open("endless", "wb") as endless:
        endless.truncate(1 << 40)
    assert run(["permissions", "test", name]) == 2
    assert reason in capfd.readouterr().err


def test_policy_tests_may_come_by_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"command": "git status", "expect": "allow"}\n')
    os.close(writing)
    assert run(["permissions", "test", f"/dev/fd/{reading}"]) == 0
    os.close(reading)
    assert capfd.readouterr().out == "1 passed, 0 failed\n"


def test_trust_shows_what_the_folder_brings_and_can_be_taken_back(capfd: pytest.CaptureFixture[str]) -> None:
    explain = ["permissions", "explain", "Bash", '{"command":"make all"}', "--json"]

    def verdict() -> str:
        assert run(explain) == 0
        return json.loads(capfd.readouterr().out)["verdict"]

    assert verdict() == "ask"
    assert run(["trust", "--yes"]) == 0
    assert "Bash(make *)" in capfd.readouterr().out
    assert verdict() == "allow"
    assert run(["trust", "--revoke"]) == 0
    capfd.readouterr()
    assert verdict() == "ask"


def test_undo_takes_back_a_change_and_never_anothers(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = project / "a.txt"
    assert run(["undo"]) == 1
    lines = [
        {"type": "tool_use", "id": "w", "name": "Write", "input": {"file_path": "a.txt", "content": "one\n"}},
        {
            "type": "tool_use",
            "id": "e",
            "name": "Edit",
            "input": {"file_path": "a.txt", "old_string": "one", "new_string": "two"},
        },
    ]

    subprocess.run(
        [sys.executable, "-m", "holdfast", "exec", "--permission-mode", "acceptEdits"],
        input="\n".join(map(json.dumps, lines)).encode(),
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert file.read_text("utf-8") == "two\n"
    capfd.readouterr()
    assert run(["undo", "--list", "--json"]) == 0
    assert [json.loads(line)["call"] for line in capfd.readouterr().out.splitlines()] == ["w", "e"]
    assert run(["undo"]) == 0
    assert file.read_text("utf-8") == "one\n"
    session = os.path.basename(user_store().find("latest", project=str(project)))
    monkeypatch.chdir(project.parent)
    assert run(["undo", "--list", "--session", session]) == 0
    monkeypatch.chdir(project)
    file.write_text("mine\n", encoding="utf-8")
    assert run(["undo"]) == 1
    assert file.read_text("utf-8") == "mine\n"


@pytest.mark.parametrize(("asked", "has_colour"), [("", True), ("1", False)])
def test_no_color_counts_on_a_terminal(asked: str, *, has_colour: bool) -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "holdfast", "permissions", "explain", "Bash", COMMAND],
            env={**os.environ, "TERM": "xterm", "NO_COLOR": asked},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            timeout=60,
            check=True,
        )
        shown = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"denied: the rule Bash(rm *) denies it" in shown
    assert (b"\x1b[" in shown) is has_colour


def test_doctor_says_what_holds_here(capfd: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {row["area"] for row in rows} == {
        *(
            "model",
            "extras",
            "mcp",
            "log",
            "versions",
            "programs",
            "processes",
            "sandbox",
            "settings",
            "sessions",
            "web",
        )
    }
    assert all(row["ok"] for row in rows if row["area"] in ("versions", "programs", "settings"))


def test_doctor_ends_well_when_nothing_is_broken_and_tells_first_what_people_look_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "HOLDFAST_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert run(["doctor", "--json"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert list(dict.fromkeys(row["area"] for row in rows))[:4] == ["model", "extras", "log", "programs"]
    assert [row["name"] for row in rows if row["area"] in ("model", "programs")][:3] == ["model", "key", "ripgrep"]
    assert (rows[0]["level"], rows[0]["ok"]) == ("warn", False)
    assert "ANTHROPIC_API_KEY" in rows[0]["detail"]
    assert "fail" not in {row["level"] for row in rows}
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert run(["doctor"]) == 0
    assert "ok    model      key: OPENAI_API_KEY" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("sonnet", "warn  model      key: none found"),
        ("claude-opus-5-5", "warn  model      key: none found"),
        ("gpt-6-sol", "ok    model      key: OPENAI_API_KEY"),
        ("ollama:qwen3", "ok    model      key: none needed"),
        ("gtp-6", "warn  model      model: 'gtp-6' names no model; write it as provider:name"),
    ],
)
def test_doctor_knows_whose_key_a_model_needs_however_it_is_named(
    model: str, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("HOLDFAST_MODEL", model)
    assert run(["doctor"]) == 0
    assert said in capfd.readouterr().out


def test_doctor_fails_when_something_is_broken(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / ".claude" / "settings.json").write_text("{", encoding="utf-8")
    assert run(["doctor"]) == 1
    assert "fail  settings" in capfd.readouterr().out


def test_what_the_tools_cost_is_told_with_its_sum(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "--cost", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["total"] == told["system_prompt"] + sum(told["tools"].values())
    assert told["tools"]["Bash"] > told["tools"]["Glob"] > 0
    assert "WebFetch" in told["by_name_only"]
    assert "WebFetch" not in told["tools"]
    assert run(["tools", "--cost", "--tools", "Read"]) == 0
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["prompt", "Read", "total"]

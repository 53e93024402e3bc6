"""Typos, refusals and plain text: what a person is told, and how to go on."""

import json
from pathlib import Path

import pytest

from holdfast.cli.main import run


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ({"comand": "ls", "expect": "allow"}, "'comand' is not a key of a case. Did you mean 'command'?"),
        ({"command": "ls", "foo": 1}, "'foo' is not a key of a case"),
        ({"command": "ls", "expect": "alow"}, "'expect' is 'alow'; write allow, ask or deny. Did you mean 'allow'?"),
        ({"command": "ls", "rules": {"denny": ["Bash"]}}, "'rules' has no list 'denny'. Did you mean 'deny'?"),
        ({"command": "ls", "read_only": "yes"}, "'read_only' is 'yes'"),
        ({"tool": "Raed", "input": {"file_path": "a"}}, "there is no tool named 'Raed'. Did you mean 'Read'?"),
        ({"tool": "bash", "command": "ls"}, "Did you mean 'Bash'?"),
        ({"tool": "Read", "input": {"filepath": "a"}}, "Read has no argument 'filepath'. Did you mean 'file_path'?"),
        ({"tool": "Read", "input": {}}, "Read needs 'file_path', and the input has nothing"),
        ({"tool": "WebFetch", "input": {"prompt": "x"}}, "WebFetch needs 'url'"),
        ({"expect": "allow"}, "Bash needs 'command'"),
        ({"tool": "Bash", "input": {"command": ["ls"]}}, "'command' of Bash is ['ls']; write a string"),
        ({"tool": "Read", "input": {"file_path": "a", "limit": "many"}}, "the input does not fit Read: 'limit'"),
        ({"command": "ls", "mode": "yolo"}, "yolo"),
    ],
)
def test_a_mistake_in_a_policy_test_is_an_error_of_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], case: dict[str, object], told: str
) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps(case) + '\n{"command": "ls", "expect": "allow"}\n', encoding="utf-8")
    assert run(["permissions", "test", str(tmp_path / "t.jsonl")]) == 1
    out = capfd.readouterr().out
    assert told in out
    assert out.endswith("1 passed, 1 failed\n")


def test_what_does_not_decide_may_be_left_out_and_notes_mean_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = [
        {"tool": "Edit", "input": {"file_path": "a"}, "expect": "ask", "comment": "no text needed"},
        {"tool": "Write", "input": {"file_path": "a"}, "expect": "ask", "id": 7},
        {"tool": "Bash", "input": {"command": "make", "run_in_background": True}, "expect": "ask"},
        {"tool": "mcp__shop__buy", "input": {"anything": 1}, "expect": "ask"},
        {"tool": "Task", "input": {"prompt": "x"}, "expect": "allow"},
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    code = run(["permissions", "test", str(tmp_path / "t.jsonl")])
    assert (code, capfd.readouterr().out) == (0, "5 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("tool", "text", "told"),
    [
        ("Raed", "{}", "Did you mean 'Read'?"),
        ("Raed", "a.txt", "Did you mean 'Read'?"),
        ("Bash", "{}", "Bash needs 'command'"),
        ("Bash", '{"comand": "ls"}', "Did you mean 'command'?"),
        ("Bash", '{"command"', "this is not valid JSON"),
        ("TodoWrite", "plain", "this is not valid JSON"),
    ],
)
def test_explain_says_what_is_wrong_with_the_call(
    capfd: pytest.CaptureFixture[str], tool: str, text: str, told: str
) -> None:
    assert run(["permissions", "explain", tool, text]) == 2
    assert told in capfd.readouterr().err


@pytest.mark.parametrize(
    ("tool", "text", "verdict"),
    [("Bash", "git status", "allow"), ("Read", "/etc/passwd", "ask"), ("Edit", "a.py", "ask"), ("Grep", "x", "allow")],
)
def test_explain_takes_plain_text(capfd: pytest.CaptureFixture[str], tool: str, text: str, verdict: str) -> None:
    assert run(["permissions", "explain", tool, text, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["verdict"] == verdict


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["Bash", "make all"], "--allowed-tools 'Bash(make all *)'"),
        (["Bash", "make all", "--permission-mode", "plan"], "--permission-mode default --allowed-tools"),
        (["Edit", ".git/config"], "--permission-mode bypassPermissions"),
        (["Bash", "rm -rf /"], "not possible: rm would remove the whole file system"),
        (["Bash", "rm x", "--disallowed-tools", "Bash(rm *)"], "not possible: the rule Bash(rm *) denies it"),
    ],
)
def test_explain_names_what_would_allow_the_call(capfd: pytest.CaptureFixture[str], words: list[str], way: str) -> None:
    assert run(["permissions", "explain", *words]) == 0
    assert way in capfd.readouterr().out


def test_the_rule_that_explain_names_does_allow_the_call(capfd: pytest.CaptureFixture[str]) -> None:
    call = ["permissions", "explain", "Bash", "make all && touch x", "--json"]
    assert run(call) == 0
    rules = json.loads(capfd.readouterr().out)["allow_with"]["rules"]
    assert run([*call, "--allowed-tools", " ".join(rules)]) == 0
    assert json.loads(capfd.readouterr().out)["verdict"] == "allow"


def test_list_lint_and_explain_speak_of_rules_that_wait_for_trust(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / ".claude").mkdir()
    rules = {"permissions": {"allow": ["Bash(make *)"], "alow": ["x"]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(rules), encoding="utf-8")
    assert run(["permissions", "list"]) == 0
    assert "waits  Bash(make *)" in capfd.readouterr().out
    assert run(["permissions", "lint"]) == 1
    out, err = capfd.readouterr()
    assert 'did you mean "allow"' in out
    assert "waiting for trust: 1" in err
    assert run(["permissions", "explain", "Bash", "make x"]) == 0
    assert "1 allow rule of this folder waits for `holdfast trust`" in capfd.readouterr().err


def test_a_call_that_is_refused_names_the_flag_and_speaks_to_people(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Bash", '{"command": "make"}']) == 1
    out, err = capfd.readouterr()
    assert "tool_use_error" not in out + err
    assert "get around" not in err
    assert "1 call was refused (Bash); allow it with --allowed-tools 'Bash(make)'" in err


def test_a_tool_that_is_none_is_answered_with_the_one_that_was_meant(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Raed", "{}"]) == 1
    assert "Did you mean 'Read'?" in capfd.readouterr().err
    assert run(["tools", "show", "Raed"]) == 1
    assert "Did you mean 'Read'?" in capfd.readouterr().err


def test_refusals_of_a_prompt_are_one_line_for_people(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls = [
        {"tool": "Bash", "input": {"command": "make"}},
        {"tool": "Write", "input": {"file_path": "a.txt", "content": "x"}},
        {"tool": "Bash", "input": {"command": "rm b"}},
    ]
    script = project / "script.json"
    script.write_text(json.dumps({"turns": [calls, "Done."]}), encoding="utf-8")
    words = ["-p", "go", "--model", f"scripted:{script}", "--disallowed-tools", "Bash(rm *)"]
    assert run(words) == 0
    out, err = capfd.readouterr()
    assert out == "Done.\n"
    [line] = [line for line in err.splitlines() if "refused" in line]
    assert line.startswith("holdfast: 3 calls were refused (Bash, Write); allow them with --allowed-tools 'Bash(make) ")
    assert f"Edit(/{project}/a.txt)" in line
    assert "the rule Bash(rm *) denies it" in line
    assert "tool_use_error" not in err

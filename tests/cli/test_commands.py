"""The other commands, in process."""

import json
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.cli.main import run


def test_version_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capfd.readouterr().out == f"holdfast {__version__}\n"


def test_help_names_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capfd.readouterr().out
    for name in ("call", "demo", "exec", "tools"):
        assert f"\n  {name} " in out


def test_an_unknown_command_is_wrong_use(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["dance"]) == 2
    assert "dance" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hi"], 'write `holdfast -p "hi"`'),
        (["explain", "this;", "--model", "x"], "write `holdfast -p 'explain this;'`"),
        (["session"], "Did you mean `holdfast sessions`?"),
    ],
)
def test_a_command_that_is_none_hints_at_a_prompt(
    capfd: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(words) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["sessions", "show", "nope"],
        ["sessions", "export", "nope"],
        ["sessions", "replay", "nope"],
        ["permissions", "backtest", "nope"],
        ["undo", "--session", "nope"],
        ["-p", "hi", "--resume", "nope", "--model", "scripted:SCRIPT"],
        ["-p", "hi", "--resume", "nope", "--fork-session", "--model", "scripted:SCRIPT"],
        ["-p", "hi", "--resume", "nope", "--no-session-persistence", "--model", "scripted:SCRIPT"],
    ],
)
def test_a_session_that_is_not_there_is_wrong_use_in_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SCRIPT").write_text('"hello"\n', encoding="utf-8")
    assert run(words) == 2
    out, err = capfd.readouterr()
    assert (out, "there is no session 'nope'" in err) == ("", True)


def test_call_prints_the_result_and_exits_0(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    assert run(["call", "Read", '{"file_path":"a.txt"}', "--cwd", str(tmp_path)]) == 0
    assert capfd.readouterr().out == "     1\tone\n"


def test_call_prints_a_failure_to_standard_error_and_exits_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Read", '{"file_path":"none"}', "--cwd", str(tmp_path)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "there is no file" in captured.err


def test_call_with_broken_json_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Read", "{broken", "--cwd", str(tmp_path)]) == 1
    assert "not valid JSON" in capfd.readouterr().err


def test_call_gives_the_whole_reply_as_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    assert run(["call", "Glob", '{"pattern":"*"}', "--json", "--cwd", str(tmp_path)]) == 0
    assert json.loads(capfd.readouterr().out)["content"] == "a.txt"


def test_a_directory_that_does_not_exist_is_wrong_use(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Glob", '{"pattern":"*"}', "--cwd", "does/not/exist"]) == 2
    assert "does/not/exist" in capfd.readouterr().err


def test_tools_lists_names_with_what_they_do(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools"]) == 0
    assert "Grep" in capfd.readouterr().out


def test_tools_list_as_json_is_what_a_provider_gets(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "list", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)
    assert [tool["name"] for tool in listed] == sorted(tool["name"] for tool in listed)
    assert all(set(tool) >= {"name", "description", "input_schema"} for tool in listed)


def test_tools_show_tells_everything_about_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "show", "Grep"]) == 0
    assert "pattern (required)" in capfd.readouterr().out
    assert run(["tools", "show", "Grep", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["concurrency_safe"] is True
    assert run(["tools", "show", "Nope"]) == 1
    assert "Nope" in capfd.readouterr().err


def test_simple_mode_offers_only_the_three_simple_tools(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    assert run(["tools", "list", "--json"]) == 0
    assert {tool["name"] for tool in json.loads(capfd.readouterr().out)} <= {"Bash", "Read", "Edit"}


def test_an_explanation_wants_the_input_as_json_and_shows_how(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "explain", "Bash", "git push"]) == 2
    assert """such as '{"command": "git status"}'""" in capfd.readouterr().err

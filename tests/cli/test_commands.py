"""The other commands, in process."""

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast import __version__
from holdfast.cli.group import cli
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


def test_an_explanation_of_broken_json_shows_how_to_write_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["permissions", "explain", "Bash", '{"command": git']) == 2
    assert """such as '{"command": "…"}'""" in capfd.readouterr().err


@pytest.mark.parametrize("group", ["tools", "sessions", "tasks"])
def test_a_group_without_a_command_lists_with_the_same_options(group: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([group, "list", "--json"]) == 0
    listed = capfd.readouterr()
    assert run([group, "--json"]) == 0
    assert capfd.readouterr() == listed
    assert run([group, "--help"]) == 0
    assert "Commands:" in capfd.readouterr().out


def every_command(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            assert found is not None
            yield from every_command(found, (*words, name))


@pytest.mark.parametrize("words", [*every_command(cli), ("-p",)], ids=" ".join)
def test_every_help_is_whole(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*words, "--help"]) == 0
    out = capfd.readouterr().out
    assert "\\b" not in out
    assert "..." not in out.replace("[ARGS]...", ""), "a line about a command was cut; give it a short_help"
    for line in out.partition("Options:")[2].splitlines():
        assert len(line) <= 80 or "[default|plan" in line


def test_a_terminal_does_not_obey_what_rules_and_results_hold(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("one\x1b]52;c;eA==\x07\n", encoding="utf-8")
    rules = ["Bash(make \x1b]0;x\x07*)", "Bash(make *)", "B\x1b[31m(", "Write(\x1b[31m)"]
    settings = ["--settings", json.dumps({"permissions": {"deny": rules}})]
    for words in (
        ["call", "Read", '{"file_path": "bad.txt"}'],
        ["permissions", "list", *settings],
        ["permissions", "lint", *settings],
        ["permissions", "explain", "Bash", '{"command": "make x"}', *settings],
    ):
        ours, theirs = os.openpty()
        subprocess.run(
            [sys.executable, "-m", "holdfast", *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            timeout=60,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        shown = os.read(ours, 1 << 16)
        os.close(ours)
        os.close(theirs)
        assert shown
        assert b"\x1b" not in shown
        assert b"\x07" not in shown


def test_an_interrupt_while_it_still_starts_is_quiet() -> None:
    code = "import holdfast.__main__ as start\ndef stop(): raise KeyboardInterrupt\nstart._run = stop\nstart.main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_a_terminal_gets_descriptions_that_fit_and_a_pipe_one_line_each(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    clean = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    subprocess.run(
        [sys.executable, "-m", "holdfast", "tools"],
        stdout=theirs,
        cwd=tmp_path,
        check=True,
        timeout=60,
        env={**clean, "NO_COLOR": "1"},
    )
    shown = os.read(ours, 1 << 16).decode().splitlines()
    os.close(ours)
    os.close(theirs)
    assert len(shown) > 10
    assert max(map(len, shown)) <= 60


def test_tools_are_listed_as_this_session_would_offer_them(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def bash() -> dict[str, Any]:
        assert run(["tools", "show", "Bash", "--json"]) == 0
        shown = json.loads(capfd.readouterr().out)
        assert run(["tools", "--json"]) == 0
        listed = next(tool for tool in json.loads(capfd.readouterr().out) if tool["name"] == "Bash")
        assert shown["description"] == listed["description"]
        return listed["input_schema"]["properties"]

    def names() -> set[str]:
        assert run(["tools", "--json"]) == 0
        return {tool["name"] for tool in json.loads(capfd.readouterr().out)}

    assert "run_in_background" in bash()
    everything = names()
    monkeypatch.setenv("HOLDFAST_DISABLE_BACKGROUND_TASKS", "1")
    assert "run_in_background" not in bash()
    assert everything - names() == {"TaskOutput", "TaskStop"}

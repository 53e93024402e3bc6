"""What is read without the command-line library is what that library reads."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.exec import command as exec_command
from holdfast.cli.plain_words import read_exec, read_prompt
from holdfast.cli.print import command as print_command

USUAL: tuple[list[str], ...] = (
    [],
    ["-p", "go"],
    ["--print", "go"],
    ["-p", "go", "--model", "anthropic:x", "--permission-mode", "bypassPermissions"],
    ["-p", "--model", "openai:y", "go on, and then stop"],
    ["-c", "-p", "and now"],
    ["--resume", "abc", "-p", "more", "--output-format", "json"],
    ["-p", "x", "--allowed-tools", "Bash(git *)", "--disallowedTools", "Write", "--allowedTools", "Read", "Edit"],
    ["-p", "x", "--tools", "Read,Grep", "--add-dir", "/tmp", "--add-dir", "/", "--settings", "{}"],
    ["-p", "x", "--effort", "high", "--append-system-prompt", "Be brief.", "--verbose"],
    ["--dangerously-skip-permissions", "--plain", "--no-session-persistence", "--mcp-config", "a.json"],
    ["-p", "größer"],
)
OTHERS = (
    ["go"],
    ["exec"],
    ["-p", "a", "b"],
    ["-p", ""],
    ["-p", "x", "--model"],
    ["-p", "x", "--model", "--verbose"],
    ["-p", "x", "--model", "a", "--model", "b"],
    ["-p", "x", "--model=a"],
    ["-p", "x", "--permission-mode", "bypass"],
    ["-p", "x", "--output-format", "stream-json"],
    ["-p", "what is stream-json"],
    ["-p", "--", "-x"],
    ["-p", "x", "--modle", "a"],
    ["-p", "x", "--max-turns", "3"],
    ["--help"],
    ["-v"],
    ["-pc"],
    ["-p", "x", "-"],
)
WORDS = sorted({word for words in (*USUAL, *OTHERS) for word in words} - {"--help", "exec"})


def by_the_library(command: click.Command, words: list[str]) -> dict[str, Any]:
    with command.make_context(command.name, list(words)) as context:
        return context.params


@pytest.mark.parametrize("words", USUAL, ids=" ".join)
def test_the_usual_words_are_read_as_the_library_reads_them(words: list[str]) -> None:
    assert read_prompt(words) == by_the_library(print_command, words)


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_all_other_words_are_left_to_the_library(words: list[str]) -> None:
    assert read_prompt(words) is None


@given(st.lists(st.sampled_from(WORDS), max_size=7))
def test_whatever_is_read_is_what_the_library_reads(words: list[str]) -> None:
    found = read_prompt(words)
    if found is not None:
        assert found == by_the_library(print_command, words)


def test_exec_without_options_is_read_as_the_library_reads_it() -> None:
    assert read_exec(["exec"]) == by_the_library(exec_command, [])
    assert read_exec(["exec", "--events"]) is None
    assert read_exec([]) is None


def test_a_shell_that_completes_words_is_answered_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HOLDFAST_COMPLETE", "bash_complete")
    assert read_prompt(["-p", "go"]) is None
    assert read_exec(["exec"]) is None


@pytest.mark.parametrize("words", [["-p", "hi", "--model", "scripted:no such file"], ["exec"]], ids=" ".join)
def test_the_usual_commands_never_load_the_library(words: list[str], tmp_path: Path) -> None:
    code = "import sys; from holdfast.cli.main import run; run(sys.argv[1:]); print('click' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"

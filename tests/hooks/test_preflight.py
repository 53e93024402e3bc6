"""A command that cannot start is said when it is read, and a gate with one waves nothing through."""

import json
from pathlib import Path

import pytest

from holdfast.hooks.preflight import why_not_started

from .conftest import Play, entry


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "ok.sh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "ok.sh").chmod(0o755)
    (tmp_path / "plain.sh").write_text("exit 0\n")
    (tmp_path / "plain.sh").chmod(0o755)
    (tmp_path / "a b.sh").write_text("#!/usr/bin/env bash\nexit 0\n")
    (tmp_path / "a b.sh").chmod(0o755)
    (tmp_path / "no-bit.sh").write_text("#!/bin/sh\n")
    (tmp_path / "dos.sh").write_bytes(b"#!/bin/sh\r\nexit 0\r\n")
    (tmp_path / "dos.sh").chmod(0o755)
    (tmp_path / "lost.py").write_text("#!/opt/nowhere/python\n")
    (tmp_path / "lost.py").chmod(0o755)
    (tmp_path / "lost.rb").write_text("#!/usr/bin/env nosuchinterpreter\n")
    (tmp_path / "lost.rb").chmod(0o755)
    (tmp_path / "folder").mkdir()
    return tmp_path


FINE = [
    "true", "exit 2", "./ok.sh", "./plain.sh", "$CLAUDE_PROJECT_DIR/ok.sh", '"$CLAUDE_PROJECT_DIR"/ok.sh --fast',
    '"${CLAUDE_PROJECT_DIR}/a b.sh"', "${CLAUDE_PROJECT_DIR:-.}/ok.sh", "bash no-bit.sh", "sh ./no-bit.sh x",
    "A=1 B=2 ./ok.sh",
    "cat >/dev/null; ./missing.sh", "cd folder && ./x.sh", "[ -f x ] && ./missing.sh", "if true; then ./missing; fi",
    "$UNKNOWN_VARIABLE/x.sh", "`which x`", "$(git rev-parse --show-toplevel)/x.sh", "./*.sh", "bash -c './missing.sh'",
    "python3 -m json.tool", "read -r x", "(./missing.sh)", "{ ./missing.sh; }", "! ./ok.sh", "echo 'unbalanced", "",
    "~nobody/x",
    "env ./missing.sh", "cat < missing", "> out ./missing.sh", "true && uv run x.py",
]  # fmt: skip


@pytest.mark.parametrize("command", FINE)
def test_what_may_start_or_cannot_be_told_passes(place: Path, command: str):
    assert why_not_started(command, None, {"CLAUDE_PROJECT_DIR": str(place)}, str(place)) == ""


BROKEN = [
    ("./missing.sh", "is not there"),
    ("./missing.sh | cat", "is not there"),
    ("./missing.sh || true", "is not there"),
    ("$CLAUDE_PROJECT_DIR/missing.sh arg", "is not there"),
    ('"${CLAUDE_PROJECT_DIR:-x}"/missing.sh', "is not there"),
    ("X=1 ./missing.sh", "is not there"),
    ("ok.sh/x", "is not there"),
    ("bash missing.sh", "is not there"),
    ("bash missing.sh 2>/dev/null", ""),
    ("python3 ./missing.py --flag", "is not there"),
    ("~/surely/not/here.sh", "is not there"),
    ("./no-bit.sh", "chmod +x"),
    ("./folder", "is a directory"),
    ("./dos.sh", "carriage return"),
    ("./lost.py", "'/opt/nowhere/python'"),
    ("./lost.rb", "'nosuchinterpreter'"),
    ("nosuchprogramanywhere --fast", "not on the PATH"),
]


@pytest.mark.parametrize(("command", "says"), BROKEN)
def test_what_cannot_start_is_said(place: Path, command: str, says: str):
    found = why_not_started(command, None, {"CLAUDE_PROJECT_DIR": str(place)}, str(place))
    assert says in found
    assert bool(says) is bool(found)


def test_without_a_shell_a_text_needs_an_interpreter_of_its_own(place: Path):
    def found(command: str, *args: str) -> str:
        return why_not_started(command, args, {"CLAUDE_PROJECT_DIR": str(place)}, str(place))

    assert found("./ok.sh", "a;b") == ""
    assert found("/bin/sh", "-c", "x") == ""
    assert "begin it with `#!`" in found("./plain.sh")
    assert "is not there" in found("${CLAUDE_PROJECT_DIR}/missing")
    assert "not on the PATH" in found("exit", "2")


def test_a_gate_that_cannot_start_is_said_and_waves_nothing_through(play: Play, place: Path):
    for command in ("bash missing.sh", "sh ./missing.sh", "./no-bit.sh", "./dos.sh", "./lost.py"):
        played = play(entry("PreToolUse", command), cwd=str(place))
        assert "/settings.json:3: PreToolUse: it cannot start as things are" in played.warnings[0]
        assert played.reply.outcome == "denied", command
        assert "cannot" in played.ran[0].reason


def test_a_script_that_fails_by_itself_is_not_taken_for_one_that_is_missing(play: Play, place: Path):
    (place / "fails.sh").write_text("exit 127\n")
    played = play(entry("PreToolUse", "bash fails.sh"), cwd=str(place))
    assert not played.warnings
    assert played.reply.outcome == "completed"
    assert json.dumps(played.said).count("exit code 127") == 1

"""A gate holds whoever asks for the call, and whatever becomes of the settings meanwhile."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.testing import started

from .hook_scene import Scene, command, group, tool, user_settings

BYPASS = ("--permission-mode", "bypassPermissions")
GATE = {"PreToolUse": [group(command("kill -9 $$"), matcher="Bash")]}
"""It fails, and nobody can be asked."""
TOUCH = tool("t1", "Bash", command="touch made")


def holdfast(*words: str, cwd: Path, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words, *BYPASS],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def scripted(place: Path, *turns: Any) -> tuple[str, str]:
    file = place / "model.jsonl"
    file.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return "--model", f"scripted:{file}"


def printed(place: Path) -> str:
    return holdfast("-p", "go", *scripted(place, [TOUCH], "done"), cwd=place)


def streamed(place: Path) -> str:
    prompt = json.dumps({"type": "user", "message": {"role": "user", "content": "go"}}) + "\n"
    forms = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    return holdfast("-p", *forms, *scripted(place, [TOUCH], "done"), cwd=place, stdin=prompt)


def in_an_agent(place: Path) -> str:
    given = {"description": "do", "prompt": "do", "subagent_type": "general-purpose"}
    turns = ([tool("a", "Agent", **given)], [TOUCH], "done", "done")
    return holdfast("-p", "go", *scripted(place, *turns), cwd=place)


def in_a_skill(place: Path) -> str:
    skill = Path(os.environ["HOME"]) / ".claude" / "skills" / "make"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: makes\n---\nIt is made: !`touch made`\n")
    return holdfast("-p", "/make", *scripted(place, "done"), cwd=place)


def at_the_terminal(place: Path) -> str:
    return holdfast(*scripted(place, [TOUCH], "done"), cwd=place, stdin="!touch made\ngo\n")


def called(place: Path) -> str:
    return holdfast("call", "Bash", '{"command": "touch made"}', cwd=place)


def executed(place: Path) -> str:
    return holdfast("exec", cwd=place, stdin=json.dumps(TOUCH) + "\n")


def served(place: Path) -> str:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Bash", "arguments": TOUCH["input"]}},
    ]
    argv = [sys.executable, "-m", "holdfast", "mcp", "serve", *BYPASS]
    pipe = subprocess.PIPE
    with started(argv, limit_s=120, cwd=place, env=os.environ, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        process.stdin.flush()
        answers: Iterator[bytes] = iter(process.stdout)
        return next(line for line in answers if b'"id":2' in line).decode()


@pytest.mark.parametrize("ask", [printed, streamed, in_an_agent, in_a_skill, at_the_terminal, called, executed, served])
def test_a_gate_that_fails_holds_on_every_face(
    ask: Callable[[Path], str], isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "false")
    user_settings(isolated_home, {})
    assert ask(tmp_path)
    assert (tmp_path / "made").exists()  # without the gate it is made
    (tmp_path / "made").unlink()
    user_settings(isolated_home, GATE)
    if ask is in_a_skill:
        (isolated_home / ".claude" / "skills" / "make" / "SKILL.md").unlink()
        (isolated_home / ".claude" / "skills" / "make").rmdir()
    assert ask(tmp_path)
    assert not (tmp_path / "made").exists()


def _is_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _is_a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _is_a_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _is_huge(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(1 << 33)


def _says(text: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.write_text(text, encoding="utf-8")

    return write


@pytest.mark.parametrize(
    "spoil",
    [
        _says("{"), _says("[]"), _says("\0"), _says('{"hooks": []}'), _says('{"hooks": {"PreToolUse": {}}}'),
        _says('{"hooks": {"PreToolUse": [{"hooks": [{"command": "true"}]}]}}'),
        _says('{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}]}}'),
        _is_a_pipe, _is_a_directory, _is_a_loop, _is_huge,
    ],
)  # fmt: skip
def test_settings_that_break_in_a_session_leave_its_gates_standing(
    spoil: Callable[[Path], None], isolated_home: Path, tmp_path: Path
) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse={**command("echo because >&2; exit 2"), "if": "Bash(touch *)"})

    def turn(request: Any) -> Any:
        spoil(scene.settings)
        return [tool("a", "Bash", command="true")]

    scene.run(turn, [tool("t", "Bash", command="touch made")], "done")
    assert "because" in scene.reply()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("file", [".claude/settings.json", ".claude/settings.local.json", ".holdfast/settings.json"])
def test_a_folder_neither_switches_the_users_gates_off_nor_says_what_their_failure_means(
    file: str, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).parent.mkdir()
    off = {"disableAllHooks": True, "allowManagedHooksOnly": True, "hooks.onGateFailure": "ignore"}
    (tmp_path / file).write_text(json.dumps(off))
    monkeypatch.chdir(tmp_path)
    run(["trust", "--yes"])
    scene = Scene(isolated_home, tmp_path, PreToolUse=command("kill -9 $$"))
    assert scene.call().outcome == "denied"

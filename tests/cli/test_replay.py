"""`holdfast sessions replay`: the recorded words again, against tools that really run."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.session import user_store

Replay = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which a session wrote a file and read another."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("milk\n", encoding="utf-8")
    monkeypatch.chdir(project)
    write = {"tool": "Write", "input": {"file_path": str(project / "made.txt"), "content": "x"}}
    script = tmp_path / "script.json"
    turns = [[{"tool": "Read", "input": {"file_path": "notes.txt"}}], "Milk.", [write], "Written."]
    script.write_text(json.dumps(turns), encoding="utf-8")
    words = ["--model", f"scripted:{script}", "--permission-mode", "acceptEdits", "--session-id", "first"]
    assert run(["-p", "read", *words]) == 0
    script.write_text(json.dumps(turns[2:]), encoding="utf-8")
    assert run(["-p", "write", "-r", "first", *words[:4]]) == 0
    (project / "made.txt").unlink()
    return project


@pytest.fixture
def replay(capfd: pytest.CaptureFixture[str]) -> Replay:
    def start(*words: str) -> tuple[int, dict[str, Any]]:
        capfd.readouterr()
        code = run(["sessions", "replay", "first", "--json", *words])
        return code, json.loads(capfd.readouterr().out)

    return start


def test_a_session_happens_again_in_a_copy_and_the_original_is_left_alone(project: Path, replay: Replay) -> None:
    code, told = replay("--permission-mode", "acceptEdits")
    assert (code, told) == (0, {"prompts": 2, "calls": 2, "failed": 0, "divergences": [], "error": ""})
    assert sorted(os.listdir(project)) == ["notes.txt"]
    assert [Path(path).name for path in user_store().paths()] == ["first"]


def test_in_a_given_directory_the_paths_follow(project: Path, replay: Replay, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("eggs\n", encoding="utf-8")
    code, told = replay("--cwd", str(other), "--permission-mode", "acceptEdits")
    assert (code, told["failed"]) == (0, 0)
    assert (other / "made.txt").exists()
    assert not (project / "made.txt").exists()


def test_what_goes_differently_now_is_told(project: Path, replay: Replay) -> None:
    (project / "notes.txt").unlink()
    code, told = replay("--permission-mode", "plan")
    assert (code, told["failed"], len(told["divergences"])) == (1, 2, 2)


def test_a_session_without_a_prompt_or_without_its_directory_cannot_be_replayed(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    user_store().create(str(project), session_id="empty").close()
    assert run(["sessions", "replay", "empty"]) == 2
    os.rename(project, project.parent / "moved")
    os.chdir(project.parent)
    assert run(["sessions", "replay", "first"]) == 2
    assert "--cwd" in capfd.readouterr().err


def test_nothing_in_the_copy_leads_back_to_the_original(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(project / "pipe")
    (project / "inside").mkdir()
    (project / "link").symlink_to(project / "inside")
    (project / "away").symlink_to("/nowhere")
    (project / ".git").write_text("gitdir: /somewhere/.git/worktrees/x\n", encoding="utf-8")
    code = run(["sessions", "replay", "first", "--keep", "--permission-mode", "acceptEdits"])
    kept = Path(capfd.readouterr().err.rpartition("the copy is ")[2].splitlines()[0])
    try:
        assert code == 0
        assert sorted(os.listdir(kept)) == ["away", "inside", "link", "made.txt", "notes.txt"]
        assert os.readlink(kept / "link") == str(kept / "inside")
        assert os.readlink(kept / "away") == "/nowhere"
    finally:
        shutil.rmtree(kept.parent)

"""What a shell offers for the word being typed."""

import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from holdfast.cli.group import cli
from holdfast.cli.main import run
from holdfast.session import user_store
from holdfast.tasks.records import TaskRecords
from holdfast.tasks.states import TaskRecord


def offered(*words: str) -> list[str]:
    """The words for the last one."""
    *before, incomplete = words
    items = ShellComplete(cli, {}, "holdfast", "_HOLDFAST_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in items]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tools_are_offered_where_one_is_named() -> None:
    assert {"Read", "Bash", "Grep"} <= set(offered("call", ""))
    assert offered("call", "Rea") == ["Read"]
    assert offered("tools", "show", "NotebookE") == ["NotebookEdit"]
    assert offered("permissions", "explain", "Ba") == ["Bash"]
    assert offered("-p", "--tools", "Read,Gre") == ["Read,Grep"]


def test_sessions_are_offered_with_those_of_this_directory_first(project: Path) -> None:
    for place, name in (("here", "mine-1"), ("there", "other-2")):
        (project / place).mkdir()
        with user_store().create(str(project / place), session_id=name) as session:
            session.journal.record_message("user", "Fix \x1b[31mthe build")
    os.chdir(project / "here")
    assert offered("sessions", "show", "") == ["latest", "mine-1"]
    assert offered("sessions", "export", "oth") == ["other-2"]
    assert offered("sessions", "replay", "mi") == ["mine-1"]
    assert offered("-p", "--resume", "mi") == ["mine-1"]
    assert offered("undo", "--session", "mi") == ["mine-1"]
    assert offered("permissions", "backtest", "mi") == ["mine-1"]


def test_changes_that_can_be_taken_back_are_offered_the_latest_first(project: Path) -> None:
    for number in (1, 2):
        words = f'{{"file_path": "f{number}.txt", "content": "x"}}'
        assert run(["call", "Write", words, "--permission-mode", "acceptEdits"]) == 0
    found = offered("undo", "--to", "")
    assert len(found) == 2
    assert run(["undo", "--to", found[0]]) == 0
    assert (project / "f1.txt").exists()
    assert not (project / "f2.txt").exists()


def test_tasks_are_offered(project: Path) -> None:
    with user_store().create(str(project), session_id="s-1") as session:
        TaskRecords(str(session.tasks)).write(TaskRecord("b0123abcd", "local_bash", "completed", "make", "x"))
    assert offered("tasks", "output", "b") == ["b0123abcd"]
    assert offered("tasks", "stop", "b01") == ["b0123abcd"]


def test_models_are_offered_by_short_name_by_full_name_and_by_provider() -> None:
    assert offered("-p", "--model", "son") == ["sonnet"]
    assert "ollama:" in offered("-p", "--model", "o")
    assert all(
        name.startswith("anthropic:claude-opus-5") for name in offered("-p", "--model", "anthropic:claude-opus-5")
    )
    assert offered("-p", "--model", "anthropic:claude-opus-5")
    assert offered("-p", "--model", "mistral:") == []


def test_trouble_offers_nothing_and_says_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    state = project / "state"
    state.write_text("a file where a directory should be", "utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert offered("sessions", "show", "x") == []
    assert offered("tasks", "output", "x") == []
    assert offered("undo", "--to", "x") == []
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert offered("undo", "--to", "") == []
    assert offered("sessions", "show", "x") == []
    assert capfd.readouterr() == ("", "")

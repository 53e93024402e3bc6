"""`holdfast tasks`, and what `exec` does with background tasks."""

import asyncio
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.host.command import Command
from holdfast.host.shell import shell_argv
from holdfast.session import Session, user_store
from holdfast.tasks import Places, TaskBoard, TaskRecord
from holdfast.tasks.records import TaskRecords


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Session]:
    monkeypatch.chdir(tmp_path)
    with user_store().create(str(tmp_path)) as opened:
        yield opened


def note(session: Session, **fields: Any) -> None:
    every: dict[str, Any] = {"type": "local_bash", "description": "d", "output_file": "/x", "start_time": 1.0}
    TaskRecords(str(session.tasks)).write(TaskRecord(**(every | fields)))


def test_tasks_are_listed_latest_first(session: Session, capfd: pytest.CaptureFixture[str]) -> None:
    note(session, id="b00000001", status="completed", exit_code=0, description="old \x1b[31m")
    note(session, id="b00000002", status="running", start_time=2.0, pid=1 << 22, start_ticks=5)
    assert run(["tasks", "list"]) == 0
    out = capfd.readouterr().out
    assert [line.split()[:2] for line in out.splitlines()] == [["b00000002", "killed"], ["b00000001", "completed"]]
    assert "\x1b" not in out
    assert run(["tasks", "list", "--running"]) == 0
    assert run(["tasks", "list", "--all", "--json"]) == 0
    listed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(task["id"], task["session"]) for task in listed] == [("b00000002", session.id), ("b00000001", session.id)]


def test_no_tasks_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tasks", "list"]) == 0
    assert "no tasks" in capfd.readouterr().err
    assert run(["tasks", "output", "b1"]) == 1
    assert run(["tasks", "stop", ""]) == 1


def test_output_is_shown_with_controls_made_visible(session: Session, capfd: pytest.CaptureFixture[str]) -> None:
    file = Path(session.tasks, "b00000001.output")
    file.write_bytes(b"one\n\x1b]0;evil\x07two\n")
    note(session, id="b00000001", status="completed", exit_code=0, output_file=str(file))
    assert run(["tasks", "output", "b0"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("one\n")
    assert "\x1b" not in out
    assert run(["tasks", "output", "b00000001", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["outputBytes"] == file.stat().st_size
    assert run(["tasks", "stop", "b00000001"]) == 1


def test_a_task_of_a_running_session_is_stopped_from_outside(
    session: Session, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work() -> TaskRecord:
        board = TaskBoard(Places(session.path))
        text = "trap '' TERM; sleep 88 & wait; sleep 89"
        command = Command(argv=shell_argv(text), cwd=str(tmp_path))
        record = await board.launch(command, description="long", tool_use_id="t", text=text)
        try:
            assert await asyncio.to_thread(run, ["tasks", "stop", record.id, "--json"]) == 0
            ended = await board.wait(record.id, 20)
            assert ended is not None
            return ended
        finally:
            await board.close()

    record = asyncio.run(work())
    assert record.status == "killed"
    assert json.loads(capfd.readouterr().out) == {"task_id": record.id, "stopped": True}
    assert not os.path.exists(f"/proc/{record.pid}/exe")


def test_exec_ends_background_tasks_with_its_input(start_exec: Any, tmp_path: Path) -> None:
    process = start_exec("--permission-mode", "bypassPermissions", "--events")
    command = "echo $$ > pid; while :; do read -t 1 < <(sleep 1); done"
    process.send(
        {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": command, "run_in_background": True}},
        {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "until [ -s pid ]; do :; done; cat pid"}},
    )
    code, lines, _ = process.finish()
    replies = {line["tool_use_id"]: line for line in lines if line["type"] == "tool_result"}
    states = [line["status"] for line in lines if line["type"] == "task_changed"]
    assert code == 0
    assert states == ["running", "killed"]
    assert not os.path.exists(f"/proc/{int(replies['2']['content'])}/exe")


def test_a_finished_task_is_an_event_of_exec(start_exec: Any) -> None:
    process = start_exec("--permission-mode", "bypassPermissions", "--events")
    process.send(
        {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "exit 3", "run_in_background": True}},
    )
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1].get("status") != "failed":
        seen.append(process.read())
    assert seen[-1]["exit_code"] == 3
    assert process.finish()[0] == 0

"""The board of background tasks: states, limits, notices, records."""

from __future__ import annotations

import asyncio
import gc
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.events import Event, TaskChanged
from holdfast.host.command import Command, StartError
from holdfast.host.shell import shell_argv
from holdfast.tasks import Places, TaskBoard, TaskRecord, TooManyTasks, is_terminal, new_task_id
from holdfast.tasks.output import read_output
from holdfast.tasks.records import RECORDS_NAME, TaskRecords, read_records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


def script(text: str, cwd: Path) -> Command:
    return Command(argv=shell_argv(text), cwd=str(cwd), kill_grace_s=0.1)


async def launch(board: TaskBoard, text: str, cwd: Path, **more: Any) -> TaskRecord:
    return await board.launch(script(text, cwd), description=text, tool_use_id="t", text=text, **more)


def on_board(work: Callable[[TaskBoard], Awaitable[Any]], places: Places | None = None, **options: Any) -> Any:
    async def whole() -> Any:
        board = TaskBoard(places, **options)
        try:
            async with asyncio.timeout(30):
                return await work(board)
        finally:
            await board.close()

    return asyncio.run(whole())


def test_ids_have_the_letter_of_their_type_and_eight_characters() -> None:
    assert re.fullmatch(r"b[0-9a-z]{8}", new_task_id("local_bash"))
    letters = ["local_bash", "local_agent", "remote_agent", "in_process_teammate", "local_workflow", "monitor_mcp"]
    assert [new_task_id(kind)[0] for kind in (*letters, "dream")] == list("bartwmd")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("echo hi", "completed", 0),
        ("exit 4", "failed", 4),
        ("kill -TERM $$", "killed", None),
        ("kill -6 $$", "failed", None),
    ],
)
def test_a_task_ends_in_the_state_of_its_command(tmp_path: Path, text: str, status: str, code: int | None) -> None:
    async def work(board: TaskBoard) -> TaskRecord | None:
        record = await launch(board, text, tmp_path)
        assert record.status == "running"
        return await board.wait(record.id, 20)

    record = on_board(work)
    assert (record.status, record.exit_code) == (status, code)
    assert record.end_time >= record.start_time


def test_a_benign_exit_code_is_no_failure(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> Any:
        record = await launch(board, "exit 1", tmp_path, meaning={1: "no matches"}.get)
        return await board.wait(record.id, 20)

    assert on_board(work).status == "completed"


def test_output_streams_to_the_file_while_the_task_runs(
    tmp_path: Path, comes_true: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    os.mkfifo(tmp_path / "go")

    async def work(board: TaskBoard) -> tuple[str, str]:
        record = await launch(board, "echo one; read x < go; echo two >&2", tmp_path)
        await comes_true(lambda: read_output(record.output_file, 100).text)
        early = read_output(record.output_file, 100).text
        await asyncio.to_thread((tmp_path / "go").write_text, "x\n", encoding="utf-8")
        await board.wait(record.id, 20)
        return early, read_output(record.output_file, 100).text

    assert on_board(work) == ("one\n", "one\ntwo\n")


def test_an_end_is_told_exactly_once(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> tuple[list[str], int, bool]:
        records = [await launch(board, "true", tmp_path) for _ in range(3)]
        for record in records:
            await board.wait(record.id, 20)
        shown = board.get(records[1].id)
        assert shown is not None
        board.mark_told(shown)
        told = [notice.record.id for notice in board.take_notices()]
        assert told == [records[0].id, records[2].id]
        return told, len(board.take_notices()), board.has_notices

    _, again, left = on_board(work)
    assert (again, left) == (0, False)


def test_a_state_that_was_shown_before_the_end_does_not_hide_the_end(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> int:
        running = await launch(board, "true", tmp_path)
        await board.wait(running.id, 20)
        board.mark_told(running)  # what the model saw was still running
        return len(board.take_notices())

    assert on_board(work) == 1


def test_a_waiter_wakes_at_the_end_of_any_task(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> tuple[bool, bool, bool]:
        nothing = await board.wait_for_any_end(0.01)
        await launch(board, "true", tmp_path)
        ended = await board.wait_for_any_end(20)
        again = await board.wait_for_any_end(0.01)
        return nothing, ended, again

    assert on_board(work) == (False, True, False)


def test_only_so_many_run_and_the_others_wait_their_turn(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> tuple[list[str], list[str]]:
        records = [await launch(board, f"read -t 0.1 < <(sleep 1); echo {n}", tmp_path) for n in range(5)]
        first = [record.status for record in records]
        return first, [(await board.wait(record.id, 20)).status for record in records]  # type: ignore[union-attr]

    first, last = on_board(work, max_running=2)
    assert first == ["running", "running", "pending", "pending", "pending"]
    assert last == ["completed"] * 5


def test_a_waiting_task_can_be_stopped_before_it_runs(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> tuple[str, bool]:
        first = await launch(board, "read -t 9 < <(sleep 9)", tmp_path)
        second = await launch(board, "touch ran", tmp_path)
        stopped = await board.stop(second.id)
        await board.stop(first.id)
        assert stopped is not None
        return stopped.status, (tmp_path / "ran").exists()

    assert on_board(work, max_running=1) == ("killed", False)


def test_too_many_tasks_are_refused_with_advice(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> None:
        for _ in range(2):
            await launch(board, "read -t 9 < <(sleep 9)", tmp_path)
        with pytest.raises(TooManyTasks, match="TaskStop"):
            await launch(board, "true", tmp_path)

    on_board(work, max_tasks=2)


def test_a_task_that_cannot_start_leaves_no_trace(tmp_path: Path) -> None:
    async def work(board: TaskBoard) -> int:
        with pytest.raises(StartError):
            await launch(board, "true", tmp_path / "missing")
        return len(board.all())

    assert on_board(work) == 0


def test_stopping_ends_the_whole_tree(
    tmp_path: Path, comes_true: Callable[[Callable[[], object]], Awaitable[None]]
) -> None:
    async def work(board: TaskBoard) -> tuple[str, list[int]]:
        record = await launch(board, "sleep 77 & echo $!; (trap '' TERM; sleep 78) & echo $!; wait", tmp_path)
        await comes_true(lambda: len(read_output(record.output_file, 100).text.split()) == 2)
        stopped = await board.stop(record.id)
        assert stopped is not None
        pids = [int(word) for word in read_output(record.output_file, 100).text.split()]
        return stopped.status, [pid for pid in pids if os.path.exists(f"/proc/{pid}/exe")]

    assert on_board(work) == ("killed", [])


def test_changes_are_told_as_events(tmp_path: Path) -> None:
    events: list[Event] = []

    async def work(board: TaskBoard) -> None:
        record = await launch(board, "true", tmp_path)
        await board.wait(record.id, 20)

    on_board(work, on_event=events.append)
    assert [event.status for event in events if isinstance(event, TaskChanged)] == ["running", "completed"]


def test_the_end_of_the_loop_ends_tasks_and_another_loop_may_go_on(tmp_path: Path) -> None:
    board = TaskBoard()

    async def first() -> str:
        record = await launch(board, "read -t 30 < <(sleep 30)", tmp_path)
        await board.leave_loop()
        return record.id

    async def second() -> str:
        record = await launch(board, "true", tmp_path)
        ended = await board.wait(record.id, 20)
        await board.close()
        assert ended is not None
        return ended.status

    killed = board.get(asyncio.run(first()))
    assert killed is not None
    assert (killed.status, killed.error) == ("killed", "the session ended")
    assert asyncio.run(second()) == "completed"
    assert not os.path.exists(board.places.root)


def test_temporary_files_go_with_their_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    places = Places()
    assert places.result_file("a/../b") != places.result_file("a/../b")
    root = places.root
    assert (os.path.dirname(root), os.stat(root).st_mode & 0o777) == (str(tmp_path), 0o700)
    del places
    gc.collect()
    assert not os.path.exists(root)


def test_a_directory_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "session").mkdir()
    (tmp_path / "session" / "tasks").symlink_to(tmp_path / "elsewhere")
    places = Places(str(tmp_path / "session"))
    with pytest.raises(OSError, match="not a directory of Holdfast"):
        places.task_file("b00000001")


# Records.


def test_records_survive_a_crash_and_what_ran_is_shown_as_killed_and_told_once(tmp_path: Path) -> None:
    session = tmp_path / "session"
    session.mkdir(mode=0o700)
    places = Places(str(session))
    places.make(places.tasks)
    records = TaskRecords(places.tasks)
    done = TaskRecord("b00000001", "local_bash", "completed", "done", "/x", exit_code=0, notified=True)
    ran = TaskRecord("b00000002", "local_bash", "running", "ran", "/y", pid=1)
    for record in (ran, done):
        records.write(record)
    with open(session / "tasks" / RECORDS_NAME, "ab") as file:
        file.write(b'{"id":"b00000003","type":"loc')

    async def work(board: TaskBoard) -> tuple[list[str], list[str]]:
        states = [record.status for record in board.all()]
        return states, [notice.record.id for notice in board.take_notices()]

    assert on_board(work, Places(str(session))) == (["killed", "completed"], ["b00000002"])
    assert on_board(work, Places(str(session))) == (["killed", "completed"], [])


def test_records_are_private_and_only_ids_count(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    TaskRecords(str(tmp_path)).write(TaskRecord("../evil", "local_bash", "running", "d", "/x"))
    assert (tmp_path / RECORDS_NAME).stat().st_mode & 0o777 == 0o600
    assert read_records(str(tmp_path)) == {}
    assert read_records(str(tmp_path / "missing")) == {}


def test_a_running_session_writes_its_tasks_down(tmp_path: Path) -> None:
    session = tmp_path / "session"
    session.mkdir(mode=0o700)

    async def work(board: TaskBoard) -> dict[str, TaskRecord]:
        record = await launch(board, "echo hi", tmp_path)
        await board.wait(record.id, 20)
        return read_records(board.places.tasks)

    (record,) = on_board(work, Places(str(session))).values()
    assert (record.status, record.command) == ("completed", "echo hi")
    assert (session / "tasks" / f"{record.id}.output").read_text(encoding="utf-8") == "hi\n"
    assert is_terminal(record.status)


def test_output_keeps_both_ends(tmp_path: Path) -> None:
    (tmp_path / "o").write_bytes(b"a" * 500 + "é".encode() * 500 + b"z" * 500)
    found = read_output(str(tmp_path / "o"), 200)
    assert found.text.startswith("a" * 100 + "\n")
    assert found.text.endswith("\n" + "z" * 100)
    assert (found.total_bytes, found.left_out_bytes) == (2000, 1800)
    assert read_output(str(tmp_path / "missing"), 10).text == ""
    os.mkfifo(tmp_path / "pipe")
    assert read_output(str(tmp_path / "pipe"), 10).text == ""

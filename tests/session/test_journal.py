import asyncio
import errno
import logging
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.events import CallFinished, CallProgressed, CallQueued, CallStarted, Event, TurnEnded
from holdfast.session import Journal, Trouble
from holdfast.session.records import JournalGap, MessageRecorded, NoteRecorded, OutputStored
from holdfast.session.redact import Redactor
from holdfast.session.transcript import load_transcript


def opened(path: Path, **choices: Any) -> Journal:
    return Journal(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), **choices)


def written(path: Path) -> list[Event]:
    return [record for _, record in load_transcript(path).entries]


QUEUED = CallQueued("1", "Read", {"file_path": "a"})
READING = CallStarted("1", "Read", read_only=True)
WRITING = CallStarted("2", "Write", read_only=False)


def test_lines_of_read_only_calls_wait_for_the_end_of_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "j"

    async def run() -> None:
        journal = opened(path)
        done = CallFinished("1", "Read", "text")
        for event in (QUEUED, READING, done):
            journal(event)
        assert written(path) == []
        journal(TurnEnded(0))
        assert written(path) == [QUEUED, READING, done, TurnEnded(0)]
        journal.close()

    asyncio.run(run())


def test_a_change_is_on_record_before_it_acts_with_everything_before_it(tmp_path: Path) -> None:
    path = tmp_path / "j"

    async def run() -> None:
        journal = opened(path)
        for event in (QUEUED, READING, CallQueued("2", "Write", {}), WRITING):
            journal(event)
        assert written(path) == [QUEUED, READING, CallQueued("2", "Write", {}), WRITING]
        reply = CallFinished("2", "Write", "done")
        journal(reply)
        assert written(path)[-1] == reply
        journal.close()

    asyncio.run(run())


def test_waiting_lines_are_written_after_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    real = os.write

    async def run() -> None:
        reached = asyncio.Event()

        def write(handle: int, data: Any) -> int:
            if bytes(data).startswith(b'{"type":"at"'):
                reached.set()
            return real(handle, data)

        monkeypatch.setattr(os, "write", write)
        journal = opened(path, max_age_s=0.01)
        journal(QUEUED)
        async with asyncio.timeout(10):
            await reached.wait()
        assert written(path) == [QUEUED]
        journal.close()

    asyncio.run(run())


def test_large_replies_are_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "j"

    async def run() -> None:
        journal = opened(path)
        journal(CallFinished("1", "Read", "x" * 70_000))
        assert len(written(path)) == 1
        journal.close()

    asyncio.run(run())


def test_messages_notes_and_references_are_written_at_once_and_progress_never(tmp_path: Path) -> None:
    path = tmp_path / "j"

    async def run() -> None:
        journal = opened(path)
        journal(CallProgressed("1", "Read", "half"))
        journal.record_message("user", "Hello", meta={"model": "m"})
        journal.record_note("title", "A greeting")
        journal.record_output("task", "tasks/b1.txt", owner="b1", size_bytes=3)
        assert written(path) == [
            MessageRecorded("user", "Hello", {"model": "m"}),
            NoteRecorded("title", "A greeting"),
            OutputStored("task", "tasks/b1.txt", "b1", 3),
        ]
        journal.close()

    asyncio.run(run())


def test_sync_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)

    async def run() -> None:
        journal = opened(tmp_path / "j")
        journal.record_message("user", "Hello")
        assert synced == []
        assert await journal.sync()
        assert len(synced) == 1
        journal(TurnEnded(0))
        journal.close()
        assert len(synced) >= 2

    asyncio.run(run())


def test_durability_call_waits_for_the_disk_before_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)

    async def run() -> None:
        journal = opened(tmp_path / "j", durability="call")
        journal(READING)
        assert synced == []
        journal(WRITING)
        assert len(synced) == 1
        journal.close()

    asyncio.run(run())


def test_a_full_disk_is_told_once_and_the_lines_are_written_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Trouble | None] = []
    real = os.write
    full = True

    def write(handle: int, data: Any) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    async def run() -> None:
        nonlocal full
        journal = opened(tmp_path / "j", on_trouble=told.append)
        monkeypatch.setattr(os, "write", write)
        for number in range(3):
            journal.record_message("user", f"message {number}")
        assert [trouble is not None for trouble in told] == [True]
        assert journal.trouble is not None
        assert "No space left" in journal.trouble.reason
        assert journal.trouble.lines_waiting >= 3
        assert not await journal.sync()
        full = False
        journal.record_message("user", "message 3")
        assert journal.trouble is None
        assert told[1:] == [None]
        journal.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert written(tmp_path / "j") == [MessageRecorded("user", f"message {number}") for number in range(4)]


def test_what_is_too_much_to_keep_in_memory_is_counted_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    full = True

    def write(handle: int, data: Any) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    journal = opened(tmp_path / "j")
    monkeypatch.setattr(os, "write", write)
    for _ in range(12):
        journal.record_message("user", "x" * 1_000_000)
    assert journal.trouble is not None
    lost = journal.trouble.lines_lost
    assert lost > 0
    full = False
    journal.record_message("user", "last")
    journal.close()
    records = written(tmp_path / "j")
    assert isinstance(records[0], JournalGap)
    assert records[0].lines == lost
    assert records[-1] == MessageRecorded("user", "last")


def test_a_disk_that_does_not_confirm_is_told_and_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def run() -> None:
        journal = opened(tmp_path / "j")
        monkeypatch.setattr(os, "fdatasync", refuse)
        journal.record_message("user", "Hello")
        assert not await journal.sync()
        monkeypatch.undo()
        journal.record_message("user", "again")
        assert not await journal.sync()
        assert journal.trouble is not None
        assert "did not confirm" in journal.trouble.reason
        journal.close()

    asyncio.run(run())


class _Unspeakable:
    def to_wire(self) -> Any:
        raise ValueError("no words")


class _Data(msgspec.Struct):
    n: int


def test_data_without_a_json_form_costs_neither_the_reply_nor_its_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = opened(path)
    journal(CallFinished("1", "T", "text", data=_Unspeakable()))
    journal(CallFinished("2", "T", "other", data=_Data(1)))
    journal(CallFinished("3", "T", "name \udcff", data={"deep": [{1, 2}]}))
    journal.close()
    replies = [record for record in written(path) if isinstance(record, CallFinished)]
    assert [reply.content for reply in replies] == ["text", "other", "name \\udcff"]
    assert replies[1].data == {"n": 1}


def test_large_data_is_left_out_but_the_models_text_stays(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = opened(path)
    journal(CallFinished("1", "T", "text", data="x" * 300_000))
    journal.close()
    assert written(path) == [CallFinished("1", "T", "text")]


def test_secrets_are_taken_out_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = opened(path, redact=Redactor(['pass"word\n1']).line)
    journal.record_message("user", 'it is pass"word\n1 indeed')
    journal(CallFinished("1", "T", 'pass"word\n1', data=_Unspeakable()))
    journal.close()
    assert b"word" not in path.read_bytes()
    assert written(path)[0] == MessageRecorded("user", "it is [redacted] indeed")
    assert len(written(path)) == 2


def test_events_after_the_end_are_ignored(tmp_path: Path) -> None:
    journal = opened(tmp_path / "j")
    journal.close()
    journal.close()
    journal(TurnEnded(0))
    journal.record_message("user", "late")
    assert not journal.flush()
    assert written(tmp_path / "j") == []


@pytest.mark.parametrize("tail", [b'{"type":"turn_en', b"\0" * 5000, b"x" * 200_000])
def test_a_torn_tail_is_removed_when_the_file_is_opened_again(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "j"
    journal = opened(path)
    journal.record_message("user", "one")
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert load_transcript(path).torn_tail
    again = opened(path)
    assert again.size_bytes == len(whole)
    again.record_message("user", "two")
    again.close()
    assert path.read_bytes().startswith(whole)
    assert [record.content for record in written(path) if isinstance(record, MessageRecorded)] == ["one", "two"]
    assert load_transcript(path).damaged_lines == 0

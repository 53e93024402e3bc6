import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.contract import FileStamp
from holdfast.events import CallDiscarded, CallFinished, CallQueued, CallStarted, ContextChanged, TurnEnded
from holdfast.session import Journal
from holdfast.session.records import JOURNAL_VERSION, SessionClosed, SessionOpened, SessionResumed
from holdfast.session.repair import repair
from holdfast.session.transcript import read_transcript
from holdfast.session.validity import message_problems


@pytest.fixture(scope="module")
def journal_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("j") / "j"
    journal = Journal(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    journal.record(SessionOpened(JOURNAL_VERSION, "id", 1.0, "/project"))
    journal.record_message("user", "Grüße")
    for turn in range(2):
        for number in range(2):
            id_ = f"t{turn}-{number}"
            journal(CallQueued(id_, "Read", {"n": number}))
            journal(CallStarted(id_, "Read", read_only=number == 0))
        blocks = [{"type": "tool_use", "id": f"t{turn}-{n}", "name": "Read", "input": {"n": n}} for n in range(2)]
        journal.record_message("assistant", blocks)
        for number in range(2):
            journal(CallFinished(f"t{turn}-{number}", "Read", f"text {number}"))
        journal(TurnEnded(turn))
    journal.record(SessionClosed())
    journal.close()
    return path.read_bytes()


def test_any_prefix_of_a_journal_loads_and_repairs(journal_bytes: bytes) -> None:
    whole = len(read_transcript(journal_bytes).entries)
    seen: set[int] = set()
    for length in range(len(journal_bytes) + 1):
        transcript = read_transcript(journal_bytes[:length])
        assert message_problems(repair(transcript).messages) == []
        assert transcript.damaged_lines == 0
        seen.add(len(transcript.entries))
    assert seen == set(range(whole + 1))


def test_any_damaged_byte_costs_at_most_its_own_lines(journal_bytes: bytes) -> None:
    whole = len(read_transcript(journal_bytes).entries)
    for position in range(0, len(journal_bytes), 7):
        damaged = bytearray(journal_bytes)
        damaged[position] ^= 0x15
        transcript = read_transcript(bytes(damaged))
        assert len(transcript.entries) >= whole - 2
        assert message_problems(repair(transcript).messages) == []


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_make_loading_fail(noise: bytes) -> None:
    transcript = read_transcript(noise)
    assert message_problems(repair(transcript).messages) == []


def test_deep_nesting_is_a_damaged_line() -> None:
    line = b'{"type":"call_queued","tool_use_id":"1","name":"T","input":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    assert read_transcript(line).damaged_lines == 1


def test_kinds_of_a_later_version_are_counted_and_passed_over() -> None:
    data = b'{"type":"session","version":99,"session_id":"s","created_at":1,"new_field":2}\n{"type":"hologram"}\n'
    transcript = read_transcript(data)
    assert transcript.is_newer
    assert transcript.unknown_lines == 1
    assert transcript.damaged_lines == 0


def test_recorded_exec_traffic_is_read_as_version_zero() -> None:
    data = (
        b'{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"a"}}\n'
        b'{"type":"end_turn"}\n'
        b'{"type":"tool_result","tool_use_id":"1","content":"text","is_error":false,"duration_ms":1.5}\n'
    )
    transcript = read_transcript(data)
    assert transcript.version == 0
    assert [(call.id, call.name, call.state) for call in transcript.calls] == [("1", "Read", "finished")]
    assert transcript.turns == 1
    assert message_problems(repair(transcript).messages) == []


def test_the_directory_and_the_files_seen_come_back() -> None:
    stamp = FileStamp(1, 2, 3, 4, "abc", whole=True)
    transcript = read_transcript(b"")
    transcript.take(SessionOpened(1, "s", 1.0, "/project"))
    transcript.take(ContextChanged("1", "CwdChanged", {"path": "/project/sub"}))
    transcript.take(ContextChanged("1", "FileRead", {"path": "/project/a", "stamp": list(stamp)}))
    transcript.take(ContextChanged("1", "FileRead", {"path": "/project/b", "stamp": [1]}))
    assert transcript.cwd == "/project/sub"
    assert transcript.file_reads == {"/project/a": stamp}


def test_a_discarded_call_takes_all_of_its_id_in_that_turn_and_none_of_others() -> None:
    transcript = read_transcript(b"")
    for record in (
        CallQueued("x", "Read", {}),
        CallFinished("x", "Read", "old turn"),
        TurnEnded(0),
        CallQueued("x", "Read", {}),
        CallFinished("x", "Read", "first try"),
        CallQueued("x", "Read", {}),
        CallDiscarded("x", "Read"),
        CallQueued("x", "Read", {}),
        CallFinished("x", "Read", "second try"),
    ):
        transcript.take(record)
    assert [call.state for call in transcript.calls] == ["finished", "discarded", "discarded", "finished"]


def test_after_a_restart_an_old_call_is_not_answered_by_a_new_one() -> None:
    transcript = read_transcript(b"")
    for record in (
        CallQueued("x", "Write", {}),
        CallStarted("x", "Write", read_only=False),
        SessionResumed(),
        CallQueued("x", "Write", {}),
        CallStarted("x", "Write", read_only=False),
        CallFinished("x", "Write", "done"),
    ):
        transcript.take(record)
    assert [call.state for call in transcript.calls] == ["outcome unknown", "finished"]


def test_times_come_from_the_marks(journal_bytes: bytes) -> None:
    transcript = read_transcript(journal_bytes)
    assert all(at is not None and at > 1_600_000_000 for at, _ in transcript.entries)


def test_ten_thousand_calls_load_in_a_number_of_steps_that_grows_with_them(tmp_path: Path) -> None:
    def load(calls: int) -> int:
        path = tmp_path / str(calls)
        journal = Journal(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), durability="never")
        for number in range(calls):
            id_ = f"call_{number % 10}"  # models that count from zero in every turn
            journal(CallQueued(id_, "Read", {"n": number}))
            journal(CallStarted(id_, "Read", read_only=True))
            journal(CallFinished(id_, "Read", "text"))
            if number % 10 == 9:
                journal(TurnEnded(number))
        journal.close()
        steps = 0

        def count(*_: object) -> None:
            nonlocal steps
            steps += 1

        import sys  # noqa: PLC0415 - loaded only where it is used

        sys.setprofile(count)
        try:
            messages = repair(read_transcript(path.read_bytes())).messages
        finally:
            sys.setprofile(None)
        assert message_problems(messages) == []
        return steps

    small, large = load(1_000), load(10_000)
    assert large < 11 * small


def test_replies_to_an_id_used_twice_in_a_turn_come_in_the_order_of_the_calls() -> None:
    transcript = read_transcript(b"")
    for record in (
        CallQueued("x", "Read", {"n": 1}),
        CallQueued("x", "Read", {"n": 2}),
        CallStarted("x", "Read", read_only=True),
        CallFinished("x", "Read", "first"),
        CallFinished("x", "Read", "id already used", is_error=True, outcome="invalid"),
    ):
        transcript.take(record)
    assert [(call.input["n"], call.started, call.reply and call.reply.content) for call in transcript.calls] == [
        (1, True, "first"),
        (2, False, "id already used"),
    ]

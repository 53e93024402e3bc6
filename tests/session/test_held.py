"""A session read from its journal when it is used says what one that is wholly in memory says."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.events import CallDiscarded, CallFinished, CallQueued, CallStarted, PermissionDecided, TurnEnded
from holdfast.session import Session, SessionError, SessionStore
from holdfast.session.export import json_parts, markdown_parts, to_json, to_markdown
from holdfast.session.held import HeldTranscript
from holdfast.session.records import COMPACTION

TEXT = [{"type": "text", "text": "told"}]


def conversation(session: Session) -> None:
    journal = session.journal
    journal.record_message("user", "Look, please")
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "a"}}
    for _ in range(3):
        journal.record_message("assistant", [{"type": "text", "text": "Looking."}, use, {**use, "id": "2"}])
        for event in (
            CallQueued("1", "Read", {"file_path": "a"}),
            PermissionDecided("1", "Read", "allow", {"layer": "mode"}),
            CallStarted("1", "Read", read_only=True),
            CallQueued("2", "Read", {}),
            CallFinished("1", "Read", "first", duration_ms=1.5, data={"content": "first"}),
            CallFinished("2", "Read", [{"type": "text", "text": "no"}, {"type": "text", "text": " "}], is_error=True),
            TurnEnded(0),
        ):
            journal(event)
        journal.record_message("user", [{"type": "tool_result", "tool_use_id": "1", "content": "seen"}])
    journal.record_note(COMPACTION, {"messages": [{"role": "user", "content": "short"}]})
    journal.record_note("title", "A title")


def calls_alone(session: Session) -> None:
    for event in (
        CallQueued("a", "Bash", {"command": "ls"}),
        CallFinished("a", "Bash", "out", new_messages=({"role": "user", "content": TEXT},)),
        CallQueued("b", "Write", {}),
        CallStarted("b", "Write", read_only=False),
        CallQueued("c", "Write", {}),
        CallDiscarded("c", "Write"),
        TurnEnded(0),
    ):
        session.journal(event)


def damaged(session: Session) -> None:
    conversation(session)
    session.journal.close()
    with open(Path(session.path, "journal.jsonl"), "ab") as file:
        file.write(b'garbage\n{"type":"from_tomorrow"}\n{"type":"message","role":"user","content":"cut')


def of_version_0(session: Session) -> None:
    session.journal.close()
    Path(session.path, "journal.jsonl").write_text(
        '{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"a"}}\n'
        '{"type":"tool_result","tool_use_id":"1","content":"x","is_error":false,"duration_ms":1}\n{"type":"end_turn"}\n'
    )


def without_a_journal(session: Session) -> None:
    session.journal.close()
    os.unlink(Path(session.path, "journal.jsonl"))


@pytest.mark.parametrize("fill", [conversation, calls_alone, damaged, of_version_0, without_a_journal])
def test_it_says_the_same(store: SessionStore, project: str, fill: Callable[[Session], None]) -> None:
    with store.create(project, session_id="s") as session:
        fill(session)
    whole = store.load("s")
    with store.reading("s", HeldTranscript) as held:
        assert b"".join(json_parts(held)).decode() == to_json(whole)
        assert "".join(markdown_parts(held)) == to_markdown(whole)


def test_memory_is_for_the_number_of_records_not_for_what_they_hold(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="s") as session:
        for number in range(300):
            use: dict[str, object] = {"type": "tool_use", "id": f"{number}", "name": "Read", "input": {}}
            session.journal.record_message("user", "word " * 10_000)
            session.journal.record_message("assistant", [use])
            session.journal(CallQueued(f"{number}", "Read", {"file_path": "a" * 10_000}))
            session.journal(CallFinished(f"{number}", "Read", "line\n" * 4_000, data={"content": "line\n" * 4_000}))
            session.journal.record_note(COMPACTION, {"messages": [{"role": "user", "content": "word " * 1_000}]})
            session.journal(TurnEnded(0))
        written = session.journal.size_bytes
    assert written > 20_000_000
    tracemalloc.start()
    try:
        with store.reading("s", HeldTranscript) as held:
            said = sum(map(len, json_parts(held))) + sum(map(len, markdown_parts(held)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said > 20_000_000
    assert peak < 3_000_000


def test_a_journal_that_was_changed_under_it_is_told(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="s") as session:
        conversation(session)
    with store.reading("s", HeldTranscript) as held:
        Path(store.find("s"), "journal.jsonl").write_bytes(b"")
        with pytest.raises(SessionError, match="changed while it was read"):
            list(json_parts(held))

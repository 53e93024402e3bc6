"""The loop against chaos: no crash, no hang, one reply for each call, a conversation that can always go on."""

from pathlib import Path

import pytest

from holdfast.session import load_transcript
from holdfast.session.directory import JournalChoices, SessionStore
from holdfast.session.repair import repair
from holdfast.session.validity import message_problems
from holdfast.testing import run_virtual
from holdfast.testing.chaos_session import chaos_session


@pytest.mark.parametrize("seed", range(10))
def test_fifty_random_answers_leave_every_promise_kept(seed: int) -> None:
    session = run_virtual(chaos_session(seed, requests=50))
    assert session.problems == []
    assert session.requests >= 50
    assert session.calls > 10


def test_a_window_that_is_too_small_for_chaos_breaks_no_promise_either() -> None:
    session = run_virtual(chaos_session(1, requests=40, context_window=3_000))
    assert session.problems == []


@pytest.mark.parametrize("seed", [100, 101])
def test_what_the_journal_keeps_of_chaos_can_be_resumed(tmp_path: Path, seed: int) -> None:
    session = SessionStore(tmp_path).create("/project", choices=JournalChoices(durability="never"))
    result = run_virtual(chaos_session(seed, requests=40, journal=session.journal))
    session.close()
    repaired = repair(load_transcript(Path(session.path, "journal.jsonl")))
    assert result.problems == []
    assert repaired.interrupted == ()
    assert message_problems(repaired.messages) == []

import os
import shutil
from pathlib import Path

import pytest

from holdfast.session import SessionStore
from holdfast.session.retention import Retention, prune
from holdfast.session.summaries import list_sessions

DAY_S = 86_400
NOW = 1_800_000_000.0


@pytest.fixture
def aged(store: SessionStore, project: str) -> SessionStore:
    """Five sessions, used 1, 2, 3, 40 and 50 days ago."""
    for days in (1, 2, 3, 40, 50):
        with store.create(project, session_id=f"d{days:02}") as session:
            (session.tool_results / "big.txt").write_bytes(b"x" * 10_000)
        age(store, f"d{days:02}", days)
    return store


def age(store: SessionStore, name: str, days: float) -> None:
    moment = NOW - days * DAY_S
    os.utime(os.path.join(store.find(name), "journal.jsonl"), (moment, moment))


def left(store: SessionStore) -> list[str]:
    return [summary.id for summary in list_sessions(store)]


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(), ["d01", "d02", "d03"]),
        (Retention(keep_days=None), ["d01", "d02", "d03", "d40", "d50"]),
        (Retention(keep_days=None, keep_count=2), ["d01", "d02"]),
        (Retention(keep_days=None, max_bytes=25_000), ["d01", "d02"]),
        (Retention(keep_days=2.5, keep_count=4), ["d01", "d02"]),
        (Retention(keep_days=0), []),
    ],
)
def test_what_is_beyond_a_limit_goes_the_longest_unused_first(
    aged: SessionStore, retention: Retention, kept: list[str]
) -> None:
    before = left(aged)
    would = prune(aged, retention, now=NOW, dry_run=True)
    assert left(aged) == before
    done = prune(aged, retention, now=NOW)
    assert left(aged) == kept
    assert [summary.id for summary in done.removed] == [id_ for id_ in reversed(before) if id_ not in kept]
    assert [summary.id for summary in would.removed] == [summary.id for summary in done.removed]
    assert done.failed == ()


def test_a_live_session_stays_whatever_its_age(aged: SessionStore) -> None:
    session, _ = aged.resume("d50")
    age(aged, "d50", 50)
    prune(aged, Retention(keep_days=0, keep_count=0, max_bytes=0), now=NOW)
    assert left(aged) == ["d50"]
    session.journal.record_message("user", "still here")
    session.close()
    assert [message.content for message in aged.load("d50").messages] == ["still here"]


def test_a_session_that_is_just_being_made_stays(store: SessionStore, project: str) -> None:
    store.create(project, session_id="x").close()
    forming = os.path.join(os.path.dirname(store.find("x")), "forming")
    os.mkdir(forming, 0o700)
    prune(store, Retention(keep_days=0), now=NOW + DAY_S)
    assert left(store) == ["forming"]
    os.utime(forming, (NOW - DAY_S, NOW - DAY_S))
    prune(store, Retention(keep_days=0), now=NOW)
    assert left(store) == []


def test_removal_follows_no_link_and_finishes_what_was_cut_short(
    aged: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep me")
    os.symlink(precious, os.path.join(aged.find("d50"), "tool-results", "link"))
    real = shutil.rmtree

    def cut_short(*args: object, **kwargs: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(shutil, "rmtree", cut_short)
    done = prune(aged, Retention(keep_days=45), now=NOW)
    assert [summary.id for summary, _ in done.failed] == ["d50"]
    assert left(aged) == ["d01", "d02", "d03", "d40"]
    monkeypatch.setattr(shutil, "rmtree", real)
    prune(aged, Retention(keep_days=45), now=NOW)
    assert not [name for _, names, _ in os.walk(aged.root) for name in names if name.startswith(".")]
    assert (precious / "file").read_text() == "keep me"


def test_a_directory_that_was_removed_under_its_session_is_not_live(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="gone") as session:
        shutil.rmtree(session.path)
        assert list_sessions(store) == []
        os.makedirs(os.path.join(session.path, "tool-results"), mode=0o700)  # as a late result of that process does
        assert [summary.live for summary in list_sessions(store)] == [False]


def test_only_the_projects_own_sessions_go(aged: SessionStore, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    aged.create(str(other), session_id="elsewhere").close()
    prune(aged, Retention(keep_days=0), project=str(other), now=NOW * 2)
    assert "elsewhere" not in left(aged)
    assert len(left(aged)) == 5


def test_lists_show_titles_sizes_and_leave_out_what_is_unsafe(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="one") as session:
        session.journal.record_message("user", "Fix the\x1b[31m  build\nplease " + "very " * 50)
        summary = list_sessions(store, project)[0]
        assert summary.live
        assert summary.project == project
        assert summary.title.startswith("Fix the\\x1b[31m build please very")
        assert summary.title.endswith("…")
        session.journal.record_note("title", "The build")
    assert [(summary.title, summary.live) for summary in list_sessions(store)] == [("The build", False)]
    os.chmod(store.find("one"), 0o777)
    assert list_sessions(store) == []


def test_what_the_program_says_beside_the_user_is_no_title(store: SessionStore, project: str) -> None:
    session = store.create(project, session_id="planned")
    told = [{"type": "text", "text": "<system-reminder>\nPlan mode is on: …\n</system-reminder>"}]
    session.journal.record_message("user", [*told, {"type": "text", "text": "Plan the move"}])
    session.close()
    assert [summary.title for summary in list_sessions(store)] == ["Plan the move"]

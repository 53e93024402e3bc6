import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.session import (
    SessionBusy,
    SessionError,
    SessionNotFound,
    SessionStore,
    SessionTooNew,
    SessionUnsafe,
    user_store,
)
from holdfast.session.names import new_session_id, project_slug
from holdfast.session.records import MessageRecorded
from holdfast.session.repair import repair
from holdfast.testing import started


def test_everything_is_private(store: SessionStore, project: str) -> None:
    old = os.umask(0)
    try:
        with store.create(project) as session:
            session.journal.record_message("user", "Hello")
    finally:
        os.umask(old)
    for folder, _, names in os.walk(store.root):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600
    assert {"journal.jsonl", "lock", "tool-results", "tasks", "blobs"} == set(os.listdir(session.path))


def test_ids_sort_by_time_and_projects_of_one_name_are_told_apart(tmp_path: Path) -> None:
    ids = [new_session_id() for _ in range(2_000)]
    assert ids == sorted(set(ids))
    for place in ("a/app", "b/app", "c/.. evil\n"):
        (tmp_path / place).mkdir(parents=True)
    slugs = [project_slug(str(tmp_path / place)) for place in ("a/app", "b/app", "c/.. evil\n")]
    assert len(set(slugs)) == 3
    assert all(slug.replace("-", "").isalnum() for slug in slugs)
    assert project_slug("/").startswith("root-")


@pytest.mark.parametrize("bad", ["", "../x", "a/b", ".hidden", "x" * 65, "a\n", "-x"])
def test_ids_that_are_no_plain_file_names_are_refused(store: SessionStore, project: str, bad: str) -> None:
    with pytest.raises(SessionError):
        store.create(project, session_id=bad)
    assert not os.path.exists(store.root)


def test_a_taken_id_is_not_used_again(store: SessionStore, project: str) -> None:
    store.create(project, session_id="mine").close()
    with pytest.raises(SessionError, match="taken"):
        store.create(project, session_id="mine")


def test_a_session_is_resumed_with_what_it_remembers(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="mine") as session:
        session.journal.record_message("user", "Hello")
    session, transcript = store.resume("mine")
    with session:
        assert [message.content for message in transcript.messages] == ["Hello"]
        assert transcript.header is not None
        assert transcript.header.cwd == project
        session.journal.record_message("assistant", "Hi")
    assert repair(store.load("mine")).messages == [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
    ]


def test_a_fork_remembers_the_same_and_leaves_the_other_alone(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="mine") as session:
        session.journal.record_message("user", "Hello")
        before = Path(session.path, "journal.jsonl").read_bytes()
        fork, transcript = store.fork("mine", project, new_id="other")
        with fork:
            fork.journal.record_message("user", "Differently")
        assert Path(session.path, "journal.jsonl").read_bytes() == before
    loaded = store.load("other")
    assert [message.content for message in transcript.messages] == ["Hello"]
    assert [message.content for message in loaded.messages] == ["Hello", "Differently"]
    assert loaded.header is not None
    assert loaded.header.parent == "mine"
    assert loaded.messages[0].at == store.load("mine").messages[0].at


def test_a_second_writer_is_told_who_is_first(store: SessionStore, project: str) -> None:
    with store.create(project, session_id="mine"), pytest.raises(SessionBusy, match=f"process {os.getpid()}"):
        store.resume("mine")
    store.resume("mine")[0].close()


def test_a_writer_in_another_process_is_busy_until_it_dies(store: SessionStore, project: str) -> None:
    code = (
        "import sys; from holdfast.session import SessionStore\n"
        "s = SessionStore(sys.argv[1]).create(sys.argv[2], session_id='mine')\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code, store.root, project]
    with started(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(SessionBusy, match=f"process {other.pid}"):
            store.resume("mine")
        assert store.load("mine").header is not None
    store.resume("mine")[0].close()


def test_sessions_are_found_by_id_by_its_beginning_and_as_the_latest(store: SessionStore, project: str) -> None:
    for name in ("abc-1", "abc-2", "xyz"):
        store.create(project, session_id=name).close()
    for name, age_s in (("abc-1", 0), ("abc-2", 50), ("xyz", 100)):
        journal = os.path.join(store.find(name), "journal.jsonl")
        os.utime(journal, (1_700_000_000 - age_s, 1_700_000_000 - age_s))
    assert os.path.basename(store.find("x")) == "xyz"
    assert os.path.basename(store.find("latest")) == "abc-1"
    with pytest.raises(SessionNotFound, match="2 sessions"):
        store.find("abc")
    for missing in ("nope", "", "../x"):
        with pytest.raises(SessionNotFound):
            store.find(missing)
    with pytest.raises(SessionNotFound):
        store.find("xyz", project=os.path.dirname(project))


def test_a_session_of_a_newer_holdfast_is_shown_but_not_written_to(store: SessionStore, project: str) -> None:
    store.create(project, session_id="mine").close()
    journal = Path(store.find("mine"), "journal.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"version":1', b'"version":99'))
    before = journal.read_bytes()
    assert store.load("mine").is_newer
    with pytest.raises(SessionTooNew):
        store.resume("mine")
    with pytest.raises(SessionTooNew):
        store.fork("mine", project)
    assert journal.read_bytes() == before


@pytest.mark.parametrize("part", ["journal.jsonl", "lock", "tool-results", ""])
def test_a_planted_link_is_refused_and_its_target_untouched(
    store: SessionStore, project: str, tmp_path: Path, part: str
) -> None:
    store.create(project, session_id="mine").close()
    path = os.path.join(store.find("mine"), part).rstrip("/")
    target = tmp_path / "target"
    os.rename(path, target)
    before = {name: os.stat(target).st_mtime_ns for name in [target]}
    os.symlink(target, path)
    with pytest.raises((SessionUnsafe, SessionNotFound)):
        store.resume("mine")
    assert {name: os.stat(target).st_mtime_ns for name in [target]} == before


def test_a_second_name_or_a_pipe_for_the_journal_is_refused(store: SessionStore, project: str, tmp_path: Path) -> None:
    for name in ("linked", "pipe"):
        store.create(project, session_id=name).close()
    os.link(os.path.join(store.find("linked"), "journal.jsonl"), tmp_path / "second")
    with pytest.raises(SessionUnsafe, match="hard link"):
        store.resume("linked")
    pipe = os.path.join(store.find("pipe"), "journal.jsonl")
    os.unlink(pipe)
    os.mkfifo(pipe)
    with pytest.raises(SessionUnsafe):
        store.resume("pipe")
    with pytest.raises(SessionUnsafe):
        store.load("pipe")


@pytest.mark.parametrize("level", ["root", "project", "session", "journal"])
def test_what_others_may_write_is_refused_and_what_they_may_read_is_narrowed(
    store: SessionStore, project: str, level: str
) -> None:
    store.create(project, session_id="mine").close()
    session = store.find("mine")
    path = {
        "root": store.root,
        "project": os.path.dirname(session),
        "session": session,
        "journal": os.path.join(session, "journal.jsonl"),
    }[level]
    os.chmod(path, 0o755)
    store.resume("mine")[0].close()
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0
    os.chmod(path, 0o777)
    with pytest.raises(SessionUnsafe, match="other users may write"):
        store.resume("mine")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("part", ["", "journal.jsonl", "lock"])
def test_what_belongs_to_another_user_is_refused(store: SessionStore, project: str, part: str) -> None:
    store.create(project, session_id="mine").close()
    os.chown(os.path.join(store.find("mine"), part), 12345, 12345)
    with pytest.raises(SessionUnsafe, match="12345"):
        store.resume("mine")


def test_a_root_that_is_a_link_is_refused(tmp_path: Path, project: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "sessions")
    with pytest.raises(SessionUnsafe):
        SessionStore(tmp_path / "sessions").create(project)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_directory_that_cannot_be_made_is_told_with_its_path(tmp_path: Path, project: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="file"):
        SessionStore(tmp_path / "file" / "sessions").create(project)


def test_no_handle_stays_open(
    store: SessionStore, project: str, open_files: Callable[[], set[tuple[str, str]]]
) -> None:
    store.create(project, session_id="mine").close()
    before = open_files()
    for _ in range(3):
        store.resume("mine")[0].close()
        store.load("mine")
        with pytest.raises(SessionError):
            store.create(project, session_id="mine")
        session = store.resume("mine")[0]
        with pytest.raises(SessionBusy):
            store.resume("mine")
        session.close()
    assert open_files() - before == set()


def test_a_session_whose_journal_is_gone_or_empty_begins_anew(store: SessionStore, project: str) -> None:
    store.create(project, session_id="mine").close()
    os.unlink(os.path.join(store.find("mine"), "journal.jsonl"))
    session, transcript = store.resume("mine")
    with session:
        assert transcript.calls == []
        session.journal.record(MessageRecorded("user", "Hello"))
    assert store.load("mine").header is not None


def test_the_users_store_is_in_the_state_directory(tmp_path: Path) -> None:
    assert user_store({"XDG_STATE_HOME": str(tmp_path)}).root == str(tmp_path / "holdfast" / "sessions")

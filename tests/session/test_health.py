import os
import tracemalloc
from pathlib import Path

import pytest

from holdfast.session import SessionStore, health
from holdfast.session.health import check_sessions


def test_before_the_first_session_all_is_well(store: SessionStore) -> None:
    assert [(check.name, check.ok) for check in check_sessions(store)] == [("directory", True)]


def test_healthy_sessions_are_counted_and_live_ones_named(store: SessionStore, project: str) -> None:
    store.create(project, session_id="old").close()
    with store.create(project, session_id="live"):
        checks = {check.name: check for check in check_sessions(store)}
    assert all(check.ok for check in checks.values())
    assert "2 sessions" in checks["directory"].detail
    assert checks["locks"].detail == f"live (process {os.getpid()})"


def test_each_kind_of_damage_is_named(store: SessionStore, project: str, tmp_path: Path) -> None:
    for name in ("damaged", "newer", "open", "linked", "torn"):
        store.create(project, session_id=name).close()
    journal = Path(store.find("damaged"), "journal.jsonl")
    journal.write_bytes(journal.read_bytes() + b"garbage\n")
    newer = Path(store.find("newer"), "journal.jsonl")
    newer.write_bytes(newer.read_bytes().replace(b'"version":1', b'"version":7'))
    torn = Path(store.find("torn"), "journal.jsonl")
    torn.write_bytes(torn.read_bytes() + b'{"type":')
    os.chmod(store.find("open"), 0o777)
    os.symlink(tmp_path, os.path.join(store.find("linked"), "odd"))
    checks = {check.name: check for check in check_sessions(store)}
    assert {name for name, check in checks.items() if not check.ok} == {
        "permissions",
        "journals",
        "versions",
    }
    assert checks["journals"].detail == "damaged: 1 damaged, 0 lost lines"
    assert "newer has format 7" in checks["versions"].detail
    assert "open" in checks["permissions"].detail
    assert "odd" in checks["permissions"].detail


def test_an_unsafe_root_is_the_only_news(store: SessionStore, project: str) -> None:
    store.create(project).close()
    os.chmod(store.root, 0o777)
    checks = check_sessions(store)
    assert [(check.name, check.ok) for check in checks] == [("directory", False)]


def test_long_journals_are_read_in_part_and_in_little_memory(
    store: SessionStore, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_EACH_BYTES", 3_000_000)
    monkeypatch.setattr(health, "_ALL_BYTES", 5_000_000)
    for name in ("s1", "s2", "s3"):
        with store.create(project, session_id=name) as session:
            for _ in range(80):
                session.journal.record_message("user", "word " * 10_000)
        journal = Path(store.find(name), "journal.jsonl")
        journal.write_bytes(journal.read_bytes() + b"garbage\n")
    store.create(project, session_id="s4").close()
    tracemalloc.start()
    try:
        checks = {check.name: check for check in check_sessions(store)}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert checks["journals"].detail == "whole, 4 of 4 looked at, 3 of them not to the end"
    monkeypatch.undo()
    found = {check.name: check for check in check_sessions(store)}["journals"]
    assert (found.ok, found.detail.count("1 damaged")) == (False, 3)

"""Changes can be taken back, exactly, and never over somebody else's work."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.lib.atomic import remove_strays, write_atomic
from holdfast.lib.checkpoints import Change, CheckpointStore, Restored, UndoRefusedError
from holdfast.lib.handles import regular_file
from holdfast.lib.stamp import hash_bytes
from holdfast.testing.faults import before_each_call, count_calls, killed_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(str(tmp_path / "state"))


def change(store: CheckpointStore, call: str, path: Path, content: bytes | None) -> None:
    """Change a file the way a tool does: keep, record, write."""
    before = None
    mode = 0o644
    if path.exists():
        with regular_file(str(path)) as handle:
            before = store.keep(handle, source=str(path))
            mode = os.fstat(handle).st_mode & 0o7777
    after = None if content is None else hash_bytes(content)
    store.record(Change(call, str(path), before, after, mode))
    if content is None:
        path.unlink()
    else:
        write_atomic(path, content)


def test_the_last_call_is_taken_back_and_then_the_one_before(store: CheckpointStore, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"zero")
    change(store, "one", path, b"first")
    change(store, "two", path, b"second")
    assert store.undo() == [Restored(str(path), "restored")]
    assert path.read_bytes() == b"first"
    store.undo()
    assert path.read_bytes() == b"zero"
    with pytest.raises(UndoRefusedError):
        store.undo()


def test_an_id_that_comes_again_means_the_latest_call(store: CheckpointStore, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    change(store, "1", a, b"first")
    change(store, "2", b, b"made")
    change(store, "1", a, b"second")
    change(store, "1", a, b"third")
    store.undo()
    assert (a.read_bytes(), b.exists(), len(store.changes())) == (b"second", True, 3)
    store.undo("1")
    assert (a.read_bytes(), b.exists(), len(store.changes())) == (b"first", True, 2)
    store.undo("1")
    assert (a.exists(), b.exists(), store.changes()) == (False, False, [])


def test_everything_since_a_call_is_taken_back_at_once(store: CheckpointStore, tmp_path: Path) -> None:
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    a.write_bytes(b"a0")
    c.write_bytes(b"c0")
    c.chmod(0o640)
    change(store, "one", a, b"a1")
    change(store, "two", b, b"new")
    change(store, "three", a, b"a2")
    change(store, "three", c, None)
    assert {(item.path, item.action) for item in store.undo("two")} == {
        (str(a), "restored"),
        (str(b), "removed"),
        (str(c), "restored"),
    }
    assert (a.read_bytes(), b.exists(), c.read_bytes()) == (b"a1", False, b"c0")
    assert c.stat().st_mode & 0o777 == 0o640
    assert [item.call for item in store.changes()] == ["one"]


def test_foreign_edits_are_never_overwritten(store: CheckpointStore, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"a0")
    change(store, "one", a, b"a1")
    change(store, "one", b, b"b1")
    b.write_bytes(b"the user's own")
    with pytest.raises(UndoRefusedError) as caught:
        store.undo()
    assert len(caught.value.reasons) == 1
    assert (a.read_bytes(), b.read_bytes()) == (b"a1", b"the user's own")


def test_damaged_or_lost_contents_are_refused(store: CheckpointStore, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"precious")
    change(store, "one", path, b"new")
    (blob,) = [entry for entry in (tmp_path / "state" / "blobs").rglob("*") if entry.is_file()]
    blob.chmod(0o600)
    blob.write_bytes(b"forged!!")
    with pytest.raises(UndoRefusedError, match="damaged"):
        store.undo()
    blob.unlink()
    with pytest.raises(UndoRefusedError, match="no longer kept"):
        store.undo()
    assert path.read_bytes() == b"new"


def test_equal_contents_are_kept_once_and_large_ones_are_linked(store: CheckpointStore, tmp_path: Path) -> None:
    big = os.urandom(2 * 1024 * 1024)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(big)
        change(store, name, tmp_path / name, b"small")
    blobs = [entry for entry in (tmp_path / "state" / "blobs").rglob("*") if entry.is_file()]
    assert len(blobs) == 1
    store.undo("a")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == big


def test_the_store_stays_within_its_limit(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "state"), limit_bytes=100_000)
    path = tmp_path / "a"
    for number in range(30):
        path.write_bytes(bytes([number]) * 10_000)
        change(store, str(number), path, b"x")
    sizes = [entry.stat().st_size for entry in (tmp_path / "state" / "blobs").rglob("*") if entry.is_file()]
    assert sum(sizes) <= 100_000
    store.undo()
    assert path.read_bytes() == bytes([29]) * 10_000


def test_a_cut_log_line_loses_only_itself(store: CheckpointStore, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"zero")
    change(store, "one", path, b"first")
    log = tmp_path / "state" / "changes.jsonl"
    log.write_bytes(log.read_bytes() + b'{"call":"cut","path":')
    change(store, "two", path, b"second")
    assert [item.call for item in store.changes()] == ["one", "two"]


def test_death_at_every_call_of_undo_leaves_old_or_new_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", unsynced)  # only death of the process is played, not of the machine

    def prepare(name: str) -> tuple[Path, CheckpointStore]:
        home = tmp_path / name
        home.mkdir()
        store = CheckpointStore(str(home / "state"))
        (home / "a").write_bytes(b"old")
        change(store, "one", home / "a", b"new")
        change(store, "one", home / "made", b"made")
        return home, store

    _, counted = prepare("count")
    for nth in range(1, count_calls(counted.undo) + 1):
        home, store = prepare(f"kill{nth}")
        assert killed_at(nth, store.undo)
        remove_strays(str(home))
        assert (home / "a").read_bytes() in {b"old", b"new"}
        if store.changes():
            store.undo("one")
        assert (home / "a").read_bytes() == b"old"
        assert sorted(entry.name for entry in home.iterdir()) == ["a", "state"]


RENAMES = {"rename", "exchange_names"}


def unsynced(handle: int) -> None:
    del handle


def three_files(home: Path) -> CheckpointStore:
    """A changed file, another one, and a new one, all by one call."""
    home.mkdir()
    store = CheckpointStore(str(home / "state"))
    for name in ("a", "b"):
        (home / name).write_bytes(f"{name}0".encode())
        change(store, "one", home / name, f"{name}1".encode())
    change(store, "one", home / "c", b"c1")
    return store


def save_in_place(path: Path) -> None:
    path.write_bytes(b"my")


def save_by_rename(path: Path) -> None:
    (path.parent / "saving").write_bytes(b"my")
    (path.parent / "saving").replace(path)


@pytest.mark.parametrize(
    ("name", "save", "step"), [("b", save_in_place, 3), ("b", save_by_rename, 1), ("c", save_by_rename, 3)]
)
def test_what_is_saved_during_an_undo_stands_and_then_all_files_keep_their_content(
    tmp_path: Path, name: str, save: Callable[[Path], None], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", unsynced)  # it orders nothing here, and costs most of the time
    calls = count_calls(three_files(tmp_path / "count").undo)
    lost: list[str] = []
    refused = 0
    for nth in range(1, calls + 1, step):
        home = tmp_path / str(nth)
        store = three_files(home)
        held: list[str] = []

        def act(number: int, call: str, home: Path = home, nth: int = nth, held: list[str] = held) -> None:
            held.append(call)
            if number == nth:
                save(home / name)

        refusal = None
        try:
            with before_each_call(act):
                store.undo()
        except UndoRefusedError as error:
            refusal = error
        if (home / name).read_bytes() != b"my":
            lost.append(held[nth - 1])
        elif refusal is not None:
            refused += 1
            others = {other: (home / other).read_bytes() for other in ("a", "b", "c") if other != name}
            assert others == {other: f"{other}1".encode() for other in ("a", "b", "c") if other != name}, nth
            assert name in refusal.reasons[0], refusal.reasons
            assert [item.call for item in store.changes()] == ["one"] * 3
        assert sorted(entry.name for entry in home.iterdir() if entry.name.startswith(".")) == []
        assert not list((home / "state").glob("undoing-*"))
    assert lost == []
    assert refused > 20


def test_a_file_that_cannot_be_brought_back_leaves_the_others_and_says_so(tmp_path: Path) -> None:
    store = three_files(tmp_path / "home")
    home = tmp_path / "home"
    renames = 0

    def fail(_number: int, call: str) -> None:
        nonlocal renames
        renames += call in RENAMES
        if call in RENAMES and renames == 4:  # a aside, a, b aside, b
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with before_each_call(fail), pytest.raises(UndoRefusedError) as caught:
        store.undo()
    assert caught.value.reasons == (
        f"{str(home / 'b')!r} could not be brought back: No space left on device",
        "none of the other files was taken back",
    )
    assert [(home / name).read_bytes() for name in "abc"] == [b"a1", b"b1", b"c1"]


def test_what_cannot_be_gone_back_on_is_named(tmp_path: Path) -> None:
    store = three_files(tmp_path / "home")
    home = tmp_path / "home"
    renames = 0

    def disturb(_number: int, call: str) -> None:
        nonlocal renames
        renames += call in RENAMES
        if call in RENAMES and renames == 4:
            (home / "a").write_bytes(b"my")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with before_each_call(disturb), pytest.raises(UndoRefusedError) as caught:
        store.undo()
    assert len(caught.value.reasons) == 3
    assert caught.value.reasons[1].startswith(f"{str(home / 'a')!r} was restored, and could not be given")
    assert [(home / name).read_bytes() for name in "abc"] == [b"my", b"b1", b"c1"]


def test_an_undo_that_cannot_be_noted_says_that_the_files_are_back(tmp_path: Path) -> None:
    store = three_files(tmp_path / "home")

    def refuse(_number: int, call: str) -> None:
        if call == "write" and not (tmp_path / "home" / "c").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with before_each_call(refuse), pytest.raises(UndoRefusedError, match="all files were taken back, but"):
        store.undo()
    assert [item.action for item in CheckpointStore(str(tmp_path / "home" / "state")).undo()] == ["already"] * 3

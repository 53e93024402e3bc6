import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from holdfast.host import registry, tree
from holdfast.host.registry import ProcessRegistry, reap_leftovers
from holdfast.testing import started

Eventually = Callable[[Callable[[], object]], object]


def record_of(path: Path) -> registry.Record:
    fd = os.open(path, os.O_RDONLY)
    try:
        record = registry.read_record(fd)
    finally:
        os.close(fd)
    assert record is not None
    return record


def test_notes_are_on_disk_at_once_and_go_away_with_the_owner(tmp_path: Path) -> None:
    book = ProcessRegistry(str(tmp_path / "r"), "mark-1")
    (path,) = (tmp_path / "r").iterdir()
    book.started(os.getpid())
    assert list(record_of(path).running) == [os.getpid()]
    book.started(1_000_000)
    book.ended(os.getpid())
    book.ended(4242)
    assert list(record_of(path).running) == [1_000_000]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    book.close()
    assert list((tmp_path / "r").iterdir()) == []


def test_it_grows_and_uses_slots_again(tmp_path: Path) -> None:
    book = ProcessRegistry(str(tmp_path), "m")
    pids = range(10_000, 13_000)
    for pid in pids:
        book.started(pid)
    (path,) = tmp_path.iterdir()
    assert set(record_of(path).running) == set(pids)
    size = path.stat().st_size
    for pid in pids:
        book.ended(pid)
        book.started(pid + 10_000)
        book.started(pid + 10_000)  # a number that came round replaces its predecessor
    assert set(record_of(path).running) == {pid + 10_000 for pid in pids}
    assert path.stat().st_size == size
    book.close()


def test_a_full_disk_costs_the_note_and_not_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = ProcessRegistry(str(tmp_path), "m")
    for pid in range(1024):
        book.started(pid + 10)

    def full(_fd: int, _data: bytes, _offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    book.started(5000)
    monkeypatch.undo()
    book.ended(5000)
    book.ended(10)
    book.started(5001)
    (path,) = tmp_path.iterdir()
    assert set(record_of(path).running) == {*range(11, 1034), 5001}
    book.close()


OWNER = """
import os, subprocess, sys
from holdfast.host.registry import ProcessRegistry
book = ProcessRegistry(sys.argv[1], "mark-of-the-dead")
for _ in range(2):
    child = subprocess.Popen(["bash", "-c", sys.argv[2]], start_new_session=True, stdout=subprocess.DEVNULL)
    book.started(child.pid)
subprocess.Popen(["setsid", "sleep", sys.argv[3]], env={**os.environ, "HOLDFAST_SESSION": "mark-of-the-dead"},
                 stdout=subprocess.DEVNULL)
print("ready", flush=True)
sys.stdin.read()
"""


def leave_behind(directory: Path, torture: ModuleType, token: str, wait: Eventually) -> None:
    """An owner without guard and sidecar dies by SIGKILL."""
    script = f"sleep {token}01 & sleep {token}02"
    command = [sys.executable, "-c", OWNER, str(directory), script, f"{token}03"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"ready\n"
        wait(lambda: len(torture.holders(token, program=b"sleep")) == 5)
        assert reap_leftovers(str(directory)) == []  # its owner is alive: hands off
        owner.kill()
        owner.wait(60)


def test_leftovers_of_a_dead_owner_are_ended_at_the_next_start(
    tmp_path: Path, torture: ModuleType, token: str, eventually: Eventually
) -> None:
    leave_behind(tmp_path, torture, token, eventually)
    assert len(torture.holders(token, program=b"sleep")) == 5
    ended = reap_leftovers(str(tmp_path))
    assert len(ended) >= 5
    assert torture.holders(token, program=b"sleep") == {}
    assert list(tmp_path.iterdir()) == []
    assert reap_leftovers(str(tmp_path)) == []


GUARDED = """
import os, subprocess, sys
from holdfast.host.registry import ProcessRegistry
book = ProcessRegistry(sys.argv[1], "guarded", guard_pid=int(sys.argv[2]))
child = subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL)
book.started(child.pid)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_stopped_owner_whose_guard_is_gone_looks_after_nothing(tmp_path: Path, eventually: Eventually) -> None:
    with started(["sleep", "300"]) as guard:
        command = [sys.executable, "-c", GUARDED, str(tmp_path), str(guard.pid)]
        with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
            assert owner.stdout
            child = int(owner.stdout.readline())
            os.kill(owner.pid, signal.SIGSTOP)
            eventually(lambda: (entry := tree.read_entry(owner.pid)) is not None and entry.is_stopped)
            assert reap_leftovers(str(tmp_path)) == []  # its guard ends everything should it die
            guard.kill()
            guard.wait(60)
            assert reap_leftovers(str(tmp_path)) == [child]
            owner.kill()


@pytest.mark.parametrize("what", ["number given to somebody else", "another boot"])
def test_a_stranger_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, what: str) -> None:
    book = ProcessRegistry(str(tmp_path), "m")
    noted_at = tree.ticks_now()
    with started(["sleep", token], start_new_session=True) as stranger:
        entry = tree.read_entry(stranger.pid)
        assert entry is not None
        shift = -1 if what == "another boot" else 1
        monkeypatch.setattr(tree, "ticks_now", lambda: min(entry.start_ticks, noted_at) - shift)
        book.started(stranger.pid)
        (path,) = tmp_path.iterdir()
        text = path.read_bytes().replace(f" {os.getpid()} ".encode(), b" 999999999 ", 1)
        if what == "another boot":
            boot = record_of(path).boot.encode()
            text = text.replace(boot, b"0" * len(boot))
        path.write_bytes(text)
        assert reap_leftovers(str(tmp_path)) == []
        assert stranger.poll() is None
        assert not path.exists()
        book.close()


def test_the_session_of_a_reused_number_is_not_ours(token: str) -> None:
    with started(["bash", "-c", f"sleep {token} & wait"], start_new_session=True) as stranger:
        record = registry.Record(["", "", "boot", "1", "0", "no-such-mark"], {stranger.pid: 1})
        for counts_leaderless in (True, False):
            found = registry.leftovers(tree.scan(), record, counts_leaderless=counts_leaderless)
            assert found == []


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"holdfast-processes 1", b"other 9 x\n", b"\xff" * 9000])
def test_a_strange_file_is_removed_and_harms_nothing(tmp_path: Path, content: bytes) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "x.procs").write_bytes(content)
    (tmp_path / "keep.txt").write_bytes(content)
    assert reap_leftovers(str(tmp_path)) == []
    assert [path.name for path in tmp_path.iterdir()] == ["keep.txt"]


def test_planted_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    directory = tmp_path / "r"
    directory.mkdir(mode=0o700)
    (directory / "a.procs").symlink_to(target)
    os.mkfifo(directory / "b.procs")
    assert reap_leftovers(str(directory)) == []
    assert target.read_text() == "precious"
    (directory / "m.procs").symlink_to(target)
    with pytest.raises(FileExistsError):
        ProcessRegistry(str(directory), "m")
    assert target.read_text() == "precious"


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "x.procs").write_bytes(b"")
    with pytest.raises(PermissionError, match="private"):
        ProcessRegistry(str(tmp_path), "m")
    with pytest.raises(PermissionError, match="private"):
        reap_leftovers(str(tmp_path))


def test_no_directory_means_no_leftovers(tmp_path: Path) -> None:
    assert reap_leftovers(str(tmp_path / "none")) == []


@pytest.mark.parametrize("mark", ["", "a b", "a/b", "a\nb"])
def test_a_mark_is_one_plain_word(tmp_path: Path, mark: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        ProcessRegistry(str(tmp_path), mark)

"""Handles, ways and names: what was judged is what is opened."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from holdfast.lib.handles import NotRegularFileError, directory_handle, regular_file
from holdfast.lib.lock import LockTimeoutError, directory_lock, try_lock
from holdfast.lib.names import show_name
from holdfast.lib.resolve import resolve_path
from holdfast.lib.stamp import Stamp, hash_bytes, hash_fd, hash_parts, is_fresh
from holdfast.lib.tokens import estimate_tokens

if TYPE_CHECKING:
    from pathlib import Path


def test_a_walk_refuses_links_anywhere(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "leaf").symlink_to("f")
    with regular_file(str(tmp_path / "real" / "f")) as handle:
        assert os.pread(handle, 9, 0) == b"x"
    with pytest.raises(OSError, match="symbolic link") as caught, regular_file(str(tmp_path / "link" / "f")):
        pass
    assert caught.value.errno == errno.ELOOP
    with pytest.raises(NotRegularFileError), regular_file(str(tmp_path / "real" / "leaf")):
        pass


@pytest.mark.parametrize("path", ["relative/x", "/tmp/../b/x"])
def test_only_resolved_paths_are_walked(path: str) -> None:
    with pytest.raises(OSError, match="path"), regular_file(path):
        pass


def test_directories_are_made_on_request(tmp_path: Path) -> None:
    with directory_handle(str(tmp_path / "a" / "b"), create=True):
        assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), directory_handle(str(tmp_path / "file" / "b"), create=True):
        pass


def test_walks_leave_no_handles_open(tmp_path: Path, open_files: Callable[[], set[tuple[str, str]]]) -> None:
    before = open_files()
    for path in (tmp_path, tmp_path / "missing" / "deeper", tmp_path / ".." / "x"):
        try:
            with directory_handle(str(path)):
                pass
        except OSError:
            continue
    assert open_files() - before == set()


def test_ways_are_resolved_as_the_kernel_does(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "link").symlink_to("d/e")
    (tmp_path / "absolute").symlink_to(tmp_path / "link")
    for given in ("link/../x", "absolute/../../d/./e", "d//e/../missing/deeper", "."):
        assert resolve_path(f"{tmp_path}/{given}").path == os.path.realpath(f"{tmp_path}/{given}")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        resolve_path(f"{tmp_path}/loop")


def test_a_way_through_the_kernel_is_noticed_wherever_it_ends(tmp_path: Path) -> None:
    (tmp_path / "sly").symlink_to("/proc/self/root")
    (tmp_path / "dev").symlink_to("/dev/fd/0")
    for path in ("/proc/self/environ", "/dev/zero", "/sys", f"{tmp_path}/sly/etc/hosts", f"{tmp_path}/dev", "/dev"):
        assert resolve_path(path).kernel is not None
    for path in ("/dev/null", "/processes", "/devel/x", str(tmp_path)):
        assert resolve_path(path).kernel is None


def test_a_directory_lock_excludes_and_times_out(tmp_path: Path) -> None:
    handles = [os.open(tmp_path, os.O_RDONLY) for _ in range(2)]
    try:
        with directory_lock(handles[0], path=str(tmp_path)):
            assert try_lock(handles[1]) is False
            with pytest.raises(LockTimeoutError), directory_lock(handles[1], path=str(tmp_path), timeout_s=0.01):
                pass
        with directory_lock(handles[1], path=str(tmp_path), timeout_s=1):
            pass
    finally:
        for handle in handles:
            os.close(handle)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_locked_uses_a_private_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "d").mkdir()
    handle = os.open(tmp_path / "d", os.O_PATH)
    entered: list[str] = []

    def second() -> None:
        with directory_lock(handle, path="/d", timeout_s=30):
            entered.append("second")

    try:
        with directory_lock(handle, path="/d"):
            thread = threading.Thread(target=second)
            thread.start()
            entered.append("first")
        thread.join(30)
    finally:
        os.close(handle)
    assert entered == ["first", "second"]
    assert list((tmp_path / "d").iterdir()) == []


def test_a_hash_decides_and_without_one_the_state_does(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"content")
    with regular_file(str(path)) as handle:
        hashed = Stamp.of(os.fstat(handle), sha256=hash_fd(handle))
        plain = Stamp.of(os.fstat(handle))
        assert is_fresh(hashed, handle)
        assert is_fresh(plain, handle)
        os.utime(path, ns=(1, 1))
        assert is_fresh(hashed, handle)
        assert not is_fresh(plain, handle)
        path.write_bytes(b"CONTENT")
        assert not is_fresh(hashed, handle)
        assert hash_fd(handle, start=1, end=3) == hash_bytes(b"ON") == hash_parts([b"O", b"N"])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.txt", "plain.txt"),
        ("ü", "ü"),
        ("a\nb", "'a\\nb'"),
        ("\udcff", "'\\xff'"),
        (" x", "' x'"),
        ("\x1b[m", "'\\x1b[m'"),
    ],
)
def test_names_are_shown_on_one_honest_line(name: str, shown: str) -> None:
    assert show_name(name) == shown


def test_tokens_are_estimated_on_the_high_side() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("word " * 100) == 102
    assert estimate_tokens("日本語" * 100) == 298
    assert 125 <= estimate_tokens("word é" * 84) < 260

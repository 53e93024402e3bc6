import os
import socket
import threading
from pathlib import Path

import pytest

from holdfast.lib.guarded_read import ReadRefusedError, open_named, others_may_write, read_guarded, read_named


def test_a_regular_file_is_read_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    assert read_guarded(str(tmp_path / "a"), limit_bytes=4) == b"text"
    assert read_guarded(str(tmp_path / "b"), limit_bytes=4) is None
    assert read_guarded(str(tmp_path / "a" / "b"), limit_bytes=4) is None


def test_nothing_but_regular_files_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("fifo", "directory", "socket", "zero"):
        with pytest.raises(ReadRefusedError, match="regular"):
            read_guarded(str(tmp_path / name), limit_bytes=100)


def test_a_long_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ReadRefusedError, match="more than the limit"):
        read_guarded(str(path), limit_bytes=1000)


def test_files_without_a_size_are_not_read(tmp_path: Path) -> None:
    link = tmp_path / "environ"
    link.symlink_to("/proc/self/environ")
    assert read_guarded(str(link), limit_bytes=1_000_000) == b""


def test_links_are_followed_only_where_allowed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "dead").symlink_to("missing")
    (tmp_path / "loop").symlink_to("loop")
    assert read_guarded(str(tmp_path / "link"), limit_bytes=10) == b"text"
    with pytest.raises(ReadRefusedError, match="symbolic link"):
        read_guarded(str(tmp_path / "link"), limit_bytes=10, follow=False)
    with pytest.raises(ReadRefusedError, match="does not exist"):
        read_guarded(str(tmp_path / "dead"), limit_bytes=10)
    with pytest.raises(OSError, match="loop"):
        read_guarded(str(tmp_path / "loop"), limit_bytes=10)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_foreign_file_or_link_is_refused_when_it_must_be_mine(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"text")
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"text")
    os.chown(foreign, 12345, 12345)
    link = tmp_path / "link"
    link.symlink_to("own")
    os.chown(link, 12345, 12345, follow_symlinks=False)
    for path in (foreign, link):
        with pytest.raises(ReadRefusedError, match="another user"):
            read_guarded(str(path), limit_bytes=10, owner="me")
        assert read_guarded(str(path), limit_bytes=10) == b"text"


def test_a_file_that_others_may_write_is_refused_when_it_must_be_mine(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"text")
    path.chmod(0o602)
    with pytest.raises(ReadRefusedError, match="chmod go-w"):
        read_guarded(str(path), limit_bytes=10, owner="me")


def test_a_directory_in_which_others_could_swap_the_file_is_refused_when_it_must_be_mine(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    (place / "a").write_bytes(b"text")
    (place / "a").chmod(0o600)
    place.chmod(0o777)
    with pytest.raises(ReadRefusedError, match="directory"):
        read_guarded(str(place / "a"), limit_bytes=10, owner="me")
    place.chmod(0o1777)
    assert read_guarded(str(place / "a"), limit_bytes=10, owner="me") == b"text"


def test_the_private_group_of_a_user_is_that_user() -> None:
    def found(mode: int, uid: int, gid: int) -> os.stat_result:
        return os.stat_result((mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))

    assert not others_may_write(found(0o100664, 1000, 1000))
    assert others_may_write(found(0o100664, 1000, 100))
    assert others_may_write(found(0o100666, 1000, 1000))
    assert others_may_write(found(0o100664, 0, 0))
    assert not others_may_write(found(0o100644, 1000, 100))


def test_a_file_that_the_user_named_may_be_a_pipe_but_no_device_and_has_an_end(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    assert read_named(f"/dev/fd/{reading}", limit_bytes=5) == b"piped"
    os.close(reading)
    (tmp_path / "long").write_bytes(b"123456")
    with pytest.raises(ReadRefusedError, match="more than 5 bytes"):
        read_named(str(tmp_path / "long"), limit_bytes=5)
    with pytest.raises(ReadRefusedError, match="neither a file nor a pipe"):
        read_named("/dev/zero", limit_bytes=5)
    with pytest.raises(IsADirectoryError):
        read_named(str(tmp_path), limit_bytes=5)
    with pytest.raises(FileNotFoundError):
        read_named(str(tmp_path / "none"), limit_bytes=5)


def test_a_named_pipe_that_nobody_writes_to_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        open_named(str(tmp_path / "pipe"), patience_s=0.01) as file,
        pytest.raises(ReadRefusedError, match="nobody writes"),
    ):
        file.read()


def test_a_pipe_with_a_writer_is_read_to_its_end(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with open_named(path, patience_s=0) as file:
        writing = os.open(path, os.O_WRONLY)
        slow = threading.Thread(target=_write_in_two, args=(writing,))
        slow.start()
        assert file.read() == b"first second"
        slow.join(10)


def _write_in_two(writing: int) -> None:
    os.write(writing, b"first ")
    os.write(writing, b"second")
    os.close(writing)


def test_a_writer_that_leaves_without_a_word_leaves_an_empty_file(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with open_named(path, patience_s=10) as file:
        os.close(os.open(path, os.O_WRONLY))
        assert file.read() == b""


def test_a_named_file_keeps_its_name_and_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    os.mkfifo(tmp_path / "pipe")
    for name in ("a", "pipe"):
        with open_named(str(tmp_path / name), patience_s=0) as file:
            assert file.name == str(tmp_path / name)
        assert file.closed

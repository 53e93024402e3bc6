"""The atomic writer under normal use, under every error and under death at every call."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.lib import exchange
from holdfast.lib.atomic import ABSENT, FileChangedError, StrayNotes, WriteFailedError, remove_strays, write_atomic
from holdfast.lib.handles import regular_file
from holdfast.lib.stamp import Stamp, hash_fd
from holdfast.testing import started
from holdfast.testing.faults import before_each_call, count_calls, failing_at, killed_at

if TYPE_CHECKING:
    from collections.abc import Callable

OLD, NEW = b"old content\r\n" * 50, b"new content\n" * 70
ERRORS = [
    errno.ENOSPC,
    errno.EIO,
    errno.EDQUOT,
    errno.EROFS,
    errno.EMFILE,
    errno.EACCES,
    errno.ENOMEM,
    errno.EINTR,
]


def stamp(path: Path) -> Stamp:
    with regular_file(str(path)) as handle:
        return Stamp.of(os.fstat(handle), sha256=hash_fd(handle))


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_a_new_file_gets_the_bytes_and_the_umask_mode(tmp_path: Path) -> None:
    written = write_atomic(tmp_path / "a.txt", NEW)
    reference = tmp_path / "reference"
    reference.write_bytes(b"")
    assert (tmp_path / "a.txt").read_bytes() == NEW
    assert written.created
    assert written.stamp.same_state((tmp_path / "a.txt").stat())
    assert (tmp_path / "a.txt").stat().st_mode == reference.stat().st_mode
    assert names(tmp_path) == ["a.txt", "reference"]


def test_a_given_mode_is_used_for_new_and_for_old(tmp_path: Path) -> None:
    for _ in range(2):
        write_atomic(tmp_path / "secret", b"x", mode=0o600)
        assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_mode_and_user_attributes_of_the_old_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(OLD)
    path.chmod(0o751)
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no user attributes")
    write_atomic(path, NEW)
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert os.getxattr(path, "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_and_group_of_the_old_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(OLD)
    os.chown(path, 12345, 23456)
    path.chmod(0o4755)
    assert write_atomic(path, NEW).notes == ()
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o4755)


def test_parts_are_written_in_order_without_joining(tmp_path: Path) -> None:
    write_atomic(tmp_path / "parts", (bytes([65 + i]) * 3 for i in range(4)))
    assert (tmp_path / "parts").read_bytes() == b"AAABBBCCCDDD"


def test_large_content_is_hashed_while_it_is_written(tmp_path: Path) -> None:
    parts = [os.urandom(5_000_000), memoryview(b"x" * 7_000_000), b""]
    written = write_atomic(tmp_path / "large", parts)
    assert (tmp_path / "large").read_bytes() == b"".join(parts)
    assert written.stamp.sha256 == hashlib.sha256(b"".join(parts)).hexdigest()


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "file"
    target.write_bytes(OLD)
    (tmp_path / "link").symlink_to("real/file")
    written = write_atomic(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == NEW
    assert written.path == str(target.resolve())


def test_a_link_in_a_judged_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").symlink_to("outside")
    (tmp_path / "leaf").symlink_to("outside/x")
    for path in (tmp_path / "inside" / "x", tmp_path / "leaf"):
        with pytest.raises(WriteFailedError):
            write_atomic(path, NEW, links="refuse")
    assert names(tmp_path / "outside") == []


def test_missing_parents_are_made_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    with pytest.raises(WriteFailedError) as caught:
        write_atomic(path, NEW)
    assert caught.value.errno == errno.ENOENT
    write_atomic(path, NEW, make_parents=True)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket-like device"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = Path("/dev/null")
    before = os.lstat(path).st_ino
    with pytest.raises(WriteFailedError):
        write_atomic(path, NEW)
    assert os.lstat(path).st_ino == before


def test_a_read_only_file_is_not_replaced() -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        path = Path(directory, "locked")
        path.write_bytes(OLD)
        path.chmod(0o444)
        write_atomic(Path(directory, "warm"), NEW)  # everything is loaded before the user changes
        child = os.fork()
        if child == 0:  # as another user, because root may write to read-only files
            if os.geteuid() == 0:
                os.setuid(65534)
            try:
                write_atomic(path, NEW)
            except WriteFailedError:
                os._exit(7)
            finally:
                os._exit(1)
        deadline = time.monotonic() + 60
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert os.waitstatus_to_exitcode(ended[1]) == 7
        assert path.read_bytes() == OLD


def test_a_stamp_guards_against_changes_but_not_against_touching(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    seen = stamp(path)
    os.utime(path, ns=(1, 1))
    write_atomic(path, NEW, expect=seen)
    assert path.read_bytes() == NEW
    with pytest.raises(FileChangedError):
        write_atomic(path, b"lost", expect=seen)
    path.unlink()
    with pytest.raises(FileChangedError):
        write_atomic(path, b"lost", expect=seen)
    assert names(tmp_path) == []


def test_same_size_changes_are_seen_by_the_hash(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"aaaa")
    seen = stamp(path)
    path.write_bytes(b"bbbb")
    os.utime(path, ns=(seen.mtime_ns, seen.mtime_ns))
    with pytest.raises(FileChangedError):
        write_atomic(path, b"cccc", expect=seen)
    assert path.read_bytes() == b"bbbb"


def test_absent_means_absent(tmp_path: Path) -> None:
    path = tmp_path / "f"
    made = write_atomic(path, OLD, expect=ABSENT)
    assert made.stamp.same_state(path.stat())
    with pytest.raises(FileChangedError):
        write_atomic(path, NEW, expect=ABSENT)
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("name", ["n" * 255, "line\nbreak", "-rf", "\udcff\udcfe", " ", "ü\u202e"])
def test_awkward_names_work(tmp_path: Path, name: str) -> None:
    write_atomic(tmp_path / name, OLD)
    write_atomic(tmp_path / name, NEW)
    assert (tmp_path / name).read_bytes() == NEW
    assert names(tmp_path) == [name]


def test_an_interrupted_source_leaves_the_old_file_and_no_temp(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)

    def parts() -> object:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, parts())  # pyright: ignore[reportArgumentType]  # a generator typed loosely on purpose
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["f"]


def test_error_messages_name_path_and_cause(tmp_path: Path) -> None:
    messages: list[str] = []
    for number in range(1, 40):
        try:
            with failing_at(number, errno.ENOSPC):
                write_atomic(tmp_path / "full.txt", NEW)
        except WriteFailedError as error:
            messages.append(str(error))
    assert messages
    assert [text for text in messages if "full.txt" not in text or os.strerror(errno.ENOSPC) not in text] == []


def replace_and_create(directory: Path) -> Callable[[], None]:
    def act() -> None:
        write_atomic(directory / "f", NEW, expect=stamp(directory / "f"))
        write_atomic(directory / "sub" / "new", NEW, expect=ABSENT, make_parents=True)

    return act


def prepare(directory: Path) -> None:
    directory.mkdir()
    (directory / "f").write_bytes(OLD)


def assert_old_or_new(directory: Path) -> None:
    remove_strays(str(directory))
    remove_strays(str(directory / "sub"))
    assert (directory / "f").read_bytes() in {OLD, NEW}
    assert set(names(directory)) <= {"f", "sub"}
    if (directory / "sub").exists():
        assert set(names(directory / "sub")) <= {"new"}
        if (directory / "sub" / "new").exists():
            assert (directory / "sub" / "new").read_bytes() == NEW


def test_death_at_every_call_leaves_old_or_new_and_strays_are_swept(tmp_path: Path) -> None:
    prepare(tmp_path / "count")
    total = count_calls(replace_and_create(tmp_path / "count"))
    assert total > 30
    for nth in range(1, total + 1):
        directory = tmp_path / f"kill{nth}"
        prepare(directory)
        assert killed_at(nth, replace_and_create(directory))
        assert_old_or_new(directory)
        write_atomic(directory / "f", b"again")  # nothing that death left behind may block the next writer
        assert (directory / "f").read_bytes() == b"again"


def outcome(act: Callable[[], None]) -> int | None:
    try:
        act()
    except OSError as error:
        return error.errno
    return None


@pytest.mark.parametrize("onward", [False, True])
@pytest.mark.parametrize("number", ERRORS, ids=lambda number: errno.errorcode[number])
def test_an_error_at_every_call_leaves_old_or_new_and_is_reported(
    tmp_path: Path, number: int, onward: bool, open_files: Callable[[], set[tuple[str, str]]]
) -> None:
    prepare(tmp_path / "count")
    total = count_calls(replace_and_create(tmp_path / "count"))
    for nth in range(1, total + 1):
        directory = tmp_path / f"fail{nth}"
        prepare(directory)
        before = open_files()
        with failing_at(nth, number, onward=onward):
            caught = outcome(replace_and_create(directory))
        assert caught in {None, number, errno.ESTALE}
        assert open_files() - before == set()
        assert_old_or_new(directory)


def test_notes_let_the_next_start_sweep_after_a_crash(tmp_path: Path) -> None:
    deep = tmp_path / "tree" / "deep"
    deep.mkdir(parents=True)
    (deep / "f").write_bytes(OLD)
    home = str(tmp_path / "state")

    def act() -> None:
        write_atomic(deep / "f", NEW, strays=StrayNotes(home))

    strayed = 0
    for nth in range(1, count_calls(act) + 1):
        killed_at(nth, act)
        left = [name for name in names(deep) if name != "f"]
        strayed += len(left)
        assert [os.path.basename(path) for path in StrayNotes(home).recover()] == left
        assert names(deep) == ["f"]
    assert strayed > 3


def test_the_temp_file_of_a_living_writer_is_not_swept(tmp_path: Path) -> None:
    swept: list[str] = []

    def parts() -> object:
        yield b"first"
        swept.extend(remove_strays(str(tmp_path)))
        yield b"second"

    write_atomic(tmp_path / "f", parts())  # pyright: ignore[reportArgumentType]  # a generator typed loosely on purpose
    assert swept == []
    assert (tmp_path / "f").read_bytes() == b"firstsecond"


def save_anew(path: Path, content: bytes) -> None:
    (path.parent / "saving").write_bytes(content)
    (path.parent / "saving").replace(path)


def lead_elsewhere(path: Path, content: bytes) -> None:
    (path.parent / "target").write_bytes(content)
    path.unlink()
    path.symlink_to("target")


@pytest.mark.parametrize("save", [save_anew, Path.write_bytes, lead_elsewhere])
@pytest.mark.parametrize("saves", [[b"mine"], [b"mine", b"mine, later"], [b"1", b"22", b"333", b"4444"]])
def test_what_is_saved_between_the_last_look_and_the_change_of_names_stands(
    tmp_path: Path, save: Callable[[Path, bytes], object], saves: list[bytes]
) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    left = list(saves)

    def race(_number: int, call: str) -> None:
        if call == "exchange_names" and left:
            save(path, left.pop(0))

    with before_each_call(race), pytest.raises(FileChangedError, match="was changed meanwhile; nothing was changed"):
        write_atomic(path, NEW, expect=stamp(path))
    assert left == []
    assert path.read_bytes() == saves[-1]
    assert set(names(tmp_path)) <= {"f", "target"}


def test_a_file_removed_after_the_last_look_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(OLD)
    expected = stamp(path)

    def race(_number: int, call: str) -> None:
        if call == "exchange_names":
            path.unlink()

    with before_each_call(race), pytest.raises(FileChangedError, match="was removed meanwhile"):
        write_atomic(path, NEW, expect=expected)
    assert names(tmp_path) == []


def test_where_names_cannot_be_exchanged_a_rename_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_find_call", lambda: None)
    path = tmp_path / "f"
    path.write_bytes(OLD)
    write_atomic(path, NEW, expect=stamp(path))
    assert path.read_bytes() == NEW
    assert names(tmp_path) == ["f"]


APPENDER = """
    import os, sys
    from holdfast.lib.atomic import FileChangedError, write_atomic
    from holdfast.lib.handles import regular_file
    from holdfast.lib.stamp import Stamp
    path, me, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for number in range(rounds):
        while True:
            with regular_file(path) as handle:
                seen = Stamp.of(os.fstat(handle))
                text = os.pread(handle, seen.size, 0)
                try:
                    write_atomic(path, text + f"{me}.{number}\\n".encode(), expect=seen)
                except FileChangedError:
                    continue
            break
"""


def test_eight_processes_lose_no_update_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.write_bytes(b"")
    script = textwrap.dedent(APPENDER)
    with ExitStack() as stack:
        argv = [sys.executable, "-c", script, str(path)]
        workers = [stack.enter_context(started([*argv, str(n), "25"], limit_s=110)) for n in range(8)]
        assert [worker.wait(timeout=100) for worker in workers] == [0] * 8
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(f"{n}.{i}" for n in range(8) for i in range(25))
    assert names(tmp_path) == ["shared"]

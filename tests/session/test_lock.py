import errno
import fcntl
import os
from pathlib import Path

import pytest

from holdfast.session import SessionBusy
from holdfast.session.lock import LOCK_NAME, Holder, SessionLock, holder_of, is_live
from holdfast.session.private import open_private_directory


@pytest.fixture
def place(tmp_path: Path) -> tuple[int, str]:
    os.chmod(tmp_path, 0o700)
    return open_private_directory(str(tmp_path)), str(tmp_path)


def test_a_lock_is_held_until_it_is_released(place: tuple[int, str]) -> None:
    directory, path = place
    assert not is_live(directory, path=path)
    assert holder_of(directory, path=path) is None
    lock = SessionLock.take(directory, path=path)
    holder = holder_of(directory, path=path)
    assert is_live(directory, path=path)
    assert holder is not None
    assert holder.pid == os.getpid()
    assert holder.lives()
    with pytest.raises(SessionBusy):
        SessionLock.take(directory, path=path)
    lock.release()
    lock.release()
    assert not is_live(directory, path=path)


def test_a_lock_file_of_a_dead_process_or_with_nonsense_holds_nobody_up(place: tuple[int, str]) -> None:
    directory, path = place
    for content in (b'{"pid":999999999,"started":1}', b"nonsense", b""):
        Path(path, LOCK_NAME).write_bytes(content)
        os.chmod(os.path.join(path, LOCK_NAME), 0o600)
        assert not is_live(directory, path=path)
        SessionLock.take(directory, path=path).release()


def test_a_later_process_with_the_same_number_is_not_the_holder() -> None:
    mine = Holder(os.getpid(), 1)
    assert not mine.lives()
    assert Holder(os.getpid(), None).lives()
    assert not Holder(999_999_999, None).lives()


def test_without_file_locks_the_noted_process_decides(place: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    directory, path = place
    monkeypatch.setattr(fcntl, "flock", no_locks)
    file = Path(path, LOCK_NAME)
    file.write_bytes(b'{"pid":%d}' % os.getppid())
    os.chmod(file, 0o600)
    assert is_live(directory, path=path)
    with pytest.raises(SessionBusy, match=str(os.getppid())):
        SessionLock.take(directory, path=path)
    file.write_bytes(b'{"pid":999999999}')
    SessionLock.take(directory, path=path).release()

import errno
import os

import pytest

from holdfast.lib.shortage import shortage


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "x", "/data/a"), "'/data/a': the disk is full"),
        (OSError(errno.EDQUOT, "x"), "quota"),
        (OSError(errno.EMFILE, "x", "module.py"), "this program may open no more files"),
        (OSError(errno.ENFILE, "x"), "the system can open no more files"),
        (OSError(errno.ENOMEM, "x"), "not enough memory"),
        (OSError(errno.EROFS, "x", b"/ro"), "'/ro': the file system is read-only"),
        (BlockingIOError(errno.EAGAIN, "x"), "no more processes"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("can't start new thread"), "no more processes"),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory"),
    ],
)
def test_what_the_machine_lacks_is_said_in_words(error: Exception, words: str) -> None:
    assert words in (shortage(error) or "")
    later = ValueError("because of that")
    later.__context__ = error
    assert words in (shortage(later) or "")


@pytest.mark.parametrize(
    "error",
    [None, OSError(errno.ENOENT, os.strerror(errno.ENOENT)), ValueError("x"), ImportError("no module"), RuntimeError()],
)
def test_other_errors_are_no_shortage(error: Exception | None) -> None:
    assert shortage(error) is None

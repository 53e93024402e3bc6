"""The one way by which tests hold processes."""

import os
import subprocess
import sys
import time

import pytest

from holdfast.testing import started

DEAF = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(1000)"


def test_a_process_is_gone_after_its_block_even_when_the_block_fails() -> None:
    seen: list[subprocess.Popen[bytes]] = []

    def fail() -> None:
        with started([sys.executable, "-c", DEAF], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            seen.append(process)
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen[0].returncode == -9
    assert seen[0].stdout
    assert seen[0].stdout.closed


def test_reading_from_a_process_that_never_speaks_ends_at_the_limit() -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(1000)"]

    def read() -> None:
        with started(argv, limit_s=0.2, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"never"

    with pytest.raises(TimeoutError, match=r"still in use after 0\.2 s"):
        read()


def test_the_whole_group_goes_and_what_nobody_reads_holds_nothing() -> None:
    # The grandchild keeps both pipes open: closing ours must neither wait for it nor leave it.
    argv = ["bash", "-c", "sleep 1000 & echo $!; wait"]
    with started(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin
        assert process.stdout
        child = int(process.stdout.readline())
        os.set_blocking(process.stdin.fileno(), False)
        with pytest.raises(BlockingIOError):
            process.stdin.write(bytes(1 << 22))
    deadline = time.monotonic() + 60
    while os.path.exists(f"/proc/{child}/exe"):  # a zombie has none
        assert time.monotonic() < deadline
        time.sleep(0.005)

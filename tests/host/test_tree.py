import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from holdfast.host import tree
from holdfast.testing import started

pytestmark = pytest.mark.skipif(not tree.has_process_table(), reason="needs /proc")


def test_a_name_with_parentheses_and_spaces_is_read_right() -> None:
    stat = b"42 (a) b (c) S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 555 0 0"
    entry = tree.Entry(42, stat)
    assert (entry.parent, entry.group, entry.session, entry.start_ticks, entry.is_running) == (7, 8, 9, 555, True)


def test_we_see_ourselves_and_our_children() -> None:
    with started(["sleep", "100"]) as child:
        table = tree.scan()
        assert table[child.pid].parent == os.getpid()
        assert child.pid in {entry.pid for entry in tree.descendants(table, [os.getpid()])}
        assert table[child.pid].start_ticks <= tree.ticks_now()
        child.kill()


def test_a_signal_never_reaches_another_process_with_the_same_number() -> None:
    with started(["sleep", "100"]) as child:
        entry = tree.read_entry(child.pid)
        assert entry is not None
        entry.start_ticks -= 1
        assert not tree.send(entry, signal.SIGKILL)
        assert child.poll() is None
        entry.start_ticks += 1
        assert tree.send(entry, signal.SIGKILL)
        assert child.wait(60) == -signal.SIGKILL
    assert not tree.send(entry, signal.SIGKILL)


def test_a_mark_is_found_only_as_a_whole_assignment() -> None:
    with started(["sleep", "100"], env={"MARK": "abc", "X": "MARK=abcd"}) as child:
        deadline = time.monotonic() + 60
        while b"sleep" not in Path(f"/proc/{child.pid}/cmdline").read_bytes():  # it has not become `sleep` yet
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert tree.environment_holds(child.pid, b"MARK=abc")
        assert not tree.environment_holds(child.pid, b"MARK=ab")
        assert not tree.environment_holds(child.pid, b"ARK=abc")
        assert not tree.environment_holds(child.pid, b"MARK=abcd")
        child.kill()


def test_a_process_whose_first_thread_ended_still_counts_as_running() -> None:
    code = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(100,)).start();"
        "print(1, flush=True); ctypes.CDLL(None).pthread_exit(None)"
    )
    with started(["python3", "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        deadline = time.monotonic() + 60
        while b") Z" not in Path(f"/proc/{child.pid}/stat").read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        entry = tree.read_entry(child.pid)
        assert entry is not None
        assert entry.is_running
        child.kill()


def test_ending_gives_up_in_time_on_what_cannot_be_ended() -> None:
    entry = tree.read_entry(os.getpid())
    assert entry is not None
    stranger = tree.Entry(2**22 + 1, b"1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0")
    pauses = 0
    for pause_s in tree.ending(lambda: [stranger], give_up_s=0.5, reap=lambda: None):
        pauses += 1
        threading.Event().wait(pause_s)
    assert pauses > 1

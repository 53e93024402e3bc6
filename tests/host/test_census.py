import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType

import pytest

from holdfast.host import tree
from holdfast.host.census import Census
from holdfast.testing import started

Eventually = Callable[[Callable[[], object]], object]

pytestmark = pytest.mark.skipif(not tree.has_process_table(), reason="needs /proc")


def start(script: str, job: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    environment = {**os.environ, tree.JOB_MARK: job}
    return started(["bash", "-c", script], env=environment, start_new_session=True)


def test_members_are_known_by_root_session_parents_and_mark(
    torture: ModuleType, token: str, eventually: Eventually
) -> None:
    census = Census("here")
    script = f"sleep {token}1 & setsid sleep {token}2 & (setsid sleep {token}3 &); env -i setsid sleep {token}4 & wait"
    with start(script, "here.7") as mine, start(f"sleep {token}9 & wait", "elsewhere.7") as other:
        eventually(lambda: len(torture.holders(token, program=b"sleep")) == 5)
        lines = torture.holders(token, program=b"sleep")
        members = {entry.pid for entry in census.take({7: mine.pid})[7]}
        assert mine.pid in members
        sleeping = {lines[pid].rstrip(b"\0")[-1:] for pid in members if pid in lines}
        assert sleeping == {b"1", b"2", b"3", b"4"}
        assert other.pid not in members
        # The parent of the one with a clean environment goes away: it was seen, so it stays known.
        mine.kill()
        mine.wait(60)
        after = {entry.pid for entry in census.take({7: mine.pid})[7] if entry.is_running}
        assert {lines[pid].rstrip(b"\0")[-1:] for pid in after if pid in lines} == {b"1", b"2", b"3", b"4"}
        for pid in after:
            os.kill(pid, signal.SIGKILL)
        os.killpg(other.pid, signal.SIGKILL)


def test_a_job_without_members_is_empty() -> None:
    assert Census("here").take({1: 2**22 + 5}) == {1: []}


def test_a_process_without_an_environment_is_looked_at_again(eventually: Eventually) -> None:
    # So looks a process that is just becoming another program.
    census = Census("here")
    script = f"read line; exec env {tree.JOB_MARK}=here.3 sleep 60"
    command = ["/bin/bash", "-c", script]
    with started(command, env={}, stdin=subprocess.PIPE, start_new_session=True) as process:
        eventually(lambda: _command_line(process.pid).startswith(b"/bin/bash"))
        assert census.take({3: 2**22 + 5}) == {3: []}
        assert not census.recognise(process.pid, {})
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()
        eventually(lambda: _command_line(process.pid).startswith(b"sleep"))
        assert census.recognise(process.pid, {})
        assert [entry.pid for entry in census.take({3: 2**22 + 5})[3]] == [process.pid]
        process.kill()


def test_a_child_of_somebody_else_is_clear_and_not_ours(eventually: Eventually) -> None:
    census = Census("here")
    with started(["sleep", "60"], env={"A": "b"}, start_new_session=True) as process:
        eventually(lambda: tree.environment_holds(process.pid, b"A=b"))
        assert census.recognise(process.pid, {})
        entry = tree.read_entry(process.pid)
        assert entry
        assert not census.is_known(entry)
        assert census.recognise(process.pid, {process.pid: 4})
        assert census.is_known(entry)
        process.kill()


def _command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()

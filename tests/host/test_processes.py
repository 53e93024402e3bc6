import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from holdfast.host import tree
from holdfast.host.command import Command, Finished, StartError, Stdin, Stopped
from holdfast.host.process import Process
from holdfast.host.processes import Processes

T = TypeVar("T")
LIMIT_S = 60


def bash(script: str, **options: Any) -> Command:
    return Command(argv=["/bin/bash", "-c", script], **options)


def go(work: Callable[[Processes], Awaitable[T]], **options: Any) -> T:
    async def main() -> T:
        async with Processes(**options) as processes:
            return await asyncio.wait_for(work(processes), LIMIT_S)

    return asyncio.run(main())


def run(script: str, **options: Any) -> Finished:
    return go(lambda processes: processes.run(bash(script, **options)))


@pytest.fixture(params=[True, False], ids=["pidfd", "threads"])
def uses_pidfd(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_streams_are_apart_and_the_code_is_told(uses_pidfd: bool) -> None:
    done = go(lambda p: p.run(bash("echo out; echo err >&2; exit 3")), uses_pidfd=uses_pidfd)
    assert (done.output.stdout.text(), done.output.stderr.text()) == ("out\n", "err\n")
    assert (done.exit.code, done.exit.signal, done.exit.stopped_by) == (3, None, Stopped.NOBODY)
    assert done.exit.shell_code == 3
    assert (done.output.line_count, done.output.total_bytes) == (2, 8)


def test_merged_streams_keep_their_order() -> None:
    done = run("echo 1; echo 2 >&2; echo 3", merge_stderr=True)
    assert done.output.stdout.text() == "1\n2\n3\n"


def test_death_by_a_signal_is_told_as_such() -> None:
    done = run("kill -SEGV $$")
    assert (done.exit.code, done.exit.signal, done.exit.was_killed) == (None, signal.SIGSEGV, False)
    assert done.exit.shell_code == 128 + signal.SIGSEGV


def test_given_bytes_are_the_input(uses_pidfd: bool) -> None:
    data = b"line\n" * 100_000
    done = go(lambda p: p.run(bash("wc -c", stdin=data)), uses_pidfd=uses_pidfd)
    assert done.output.stdout.text().strip() == str(len(data))


def test_a_process_that_does_not_read_its_input_is_no_problem() -> None:
    assert run("exec <&-; exit 4", stdin=b"x" * 1_000_000).exit.code == 4


# -- what used to hang other agents


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("read line; echo got=$?", "got=1"),
        ("cat", ""),
        ("python3 -c 'input()' 2>&1 | tail -1", "EOFError"),
        ("exec 3</dev/tty; echo opened=$?", "opened=1"),
        ("echo x >/dev/tty; echo wrote=$?", "wrote=1"),
        ("ssh-keygen -f key -p 2>/dev/null </dev/tty; echo status=$?", "status=1"),
        ("${EDITOR} file; echo edited=$?", "edited=0"),
        ("${VISUAL} file; echo edited=$?", "edited=0"),
        ("seq 500 | ${PAGER} | tail -1", "500"),
        ("tty; ps -o tty= -p $$", "not a tty"),
    ],
)
def test_commands_that_want_a_person_get_an_answer_at_once(script: str, said: str) -> None:
    done = run(script, timeout_s=20)
    assert not done.exit.was_killed
    assert said in done.output.stdout.text()


def test_git_opens_no_editor_and_no_pager(tmp_path: Path) -> None:
    script = """
git init -q . && git config user.email a@b && git config user.name a
for i in 1 2; do echo $i > f; git add f; git commit -qm "$i"; done
git rebase -i --root && git commit --amend && git log && git clone https://user@127.0.0.1:9/x 2>&1
"""
    done = run(script, cwd=str(tmp_path), timeout_s=20)
    assert not done.exit.was_killed


def test_the_end_is_the_exit_and_not_the_end_of_the_pipe(token: str, uses_pidfd: bool) -> None:
    # The sleeper holds the pipe for much longer than `go` waits.
    done = go(lambda p: p.run(bash(f"sleep {token} & echo started")), uses_pidfd=uses_pidfd)
    assert done.output.stdout.text() == "started\n"
    assert done.exit.code == 0


def test_output_after_the_exit_is_taken_within_the_grace() -> None:
    done = run("{ sleep 0.05; echo late; } & echo early", drain_grace_s=5)
    assert done.output.stdout.text() == "early\nlate\n"


def test_a_writer_that_outlives_its_shell_is_not_killed_by_a_broken_pipe(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    script = f"{{ for i in $(seq 40); do head -c 65536 /dev/zero || exit; done; echo ok > {alive}; }} &"

    async def work(processes: Processes) -> None:
        await processes.run(bash(script, drain_grace_s=0.01))
        while not alive.exists():  # noqa: ASYNC110 - it tells us by this file
            await asyncio.sleep(0.01)

    go(work)


@pytest.mark.parametrize("script", ["sleep {t}", "trap '' TERM; sleep {t} & while :; do wait; done", "kill -STOP $$"])
def test_the_deadline_ends_the_whole_tree(torture: ModuleType, token: str, script: str, uses_pidfd: bool) -> None:
    command = bash(script.format(t=token), timeout_s=0.3, kill_grace_s=0.2)
    done = go(lambda p: p.run(command), uses_pidfd=uses_pidfd)
    assert done.exit.stopped_by is Stopped.TIMEOUT
    assert done.exit.timed_out
    assert torture.holders(token) == {}


def test_a_polite_end_is_waited_for() -> None:
    script = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done"

    async def work(processes: Processes) -> Finished:
        process = await processes.start(bash(script, kill_grace_s=LIMIT_S))
        while not process.progress().total_bytes:  # noqa: ASYNC110 - its first word says that the trap is set
            await asyncio.sleep(0.01)
        await process.kill_tree()
        return await process.finished()

    done = go(work)
    assert (done.exit.code, done.output.stdout.text()) == (9, "ready\nbye\n")


def test_cancelling_the_caller_ends_and_reaps_before_it_returns(
    torture: ModuleType, token: str, eventually: Callable[[Callable[[], object]], object]
) -> None:
    script = f"setsid sleep {token} & trap '' TERM; sleep {token} & while :; do wait; done"

    async def work(processes: Processes) -> int:
        task = asyncio.create_task(processes.run(bash(script, kill_grace_s=0.1)))
        while len(torture.holders(token, program=b"sleep")) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        (process,) = processes.running
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # an impatient caller changes nothing
        with pytest.raises(asyncio.CancelledError):
            await task
        assert torture.holders(token) == {}
        assert processes.running == ()
        return process.pid

    assert tree.read_entry(go(work)) is None


def test_closing_ends_what_was_left_in_the_background(torture: ModuleType, token: str) -> None:
    kinds = [script for kind, script in torture.KINDS.items() if kind != torture.GAP]

    async def work(processes: Processes) -> None:
        for script in kinds * 3:
            await processes.start(bash(script.format(t=token)))
        while len(torture.holders(token, program=b"sleep")) < 24:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    go(work)
    assert torture.holders(token) == {}


def test_nothing_starts_after_the_end() -> None:
    async def main() -> None:
        processes = Processes()
        await processes.close()
        with pytest.raises(StartError, match="ending"):
            await processes.start(bash("true"))

    asyncio.run(main())


def test_a_block_ends_its_process_unless_it_was_detached(torture: ModuleType, token: str, tmp_path: Path) -> None:
    async def work(processes: Processes) -> None:
        async with await processes.start(bash(f"sleep {token}")) as process:
            pass
        assert process.exit is not None
        assert process.exit.stopped_by is Stopped.CALLER
        async with await processes.start(bash("echo before; read x; echo after", stdin=Stdin.PIPE)) as process:
            while not process.progress().total_bytes:  # noqa: ASYNC110 - another process is watched, it sends no event
                await asyncio.sleep(0.01)
            process.detach(str(tmp_path / "task.out"))
        assert process.is_running
        assert await process.wait_at_most(0.01) is None
        await process.write(b"go\n")
        await asyncio.wait_for(process.wait(), 60)

    go(work)
    assert (tmp_path / "task.out").read_text() == "before\nafter\n"
    assert (tmp_path / "task.out").stat().st_mode & 0o777 == 0o600


def test_a_server_is_talked_to_through_pipes() -> None:
    async def work(processes: Processes) -> list[bytes]:
        command = Command(argv=["cat"], stdin=Stdin.PIPE, streams_stdout=True)
        answers: list[bytes] = []
        async with await processes.start(command) as process:
            for text in (b"one\n", b"two\n"):
                await process.write(text)
                answers.append(await process.read())
            await asyncio.gather(process.write(b"x" * 3_000_000), _read_all(process, 3_000_000))
            process.close_stdin()
            assert await process.read() == b""
            assert (await asyncio.wait_for(process.wait(), 60)).code == 0
            with pytest.raises(BrokenPipeError):
                await process.write(b"late")
        return answers

    assert go(work) == [b"one\n", b"two\n"]


async def _read_all(process: Process, count: int) -> None:
    while count > 0:
        count -= len(await process.read())


def test_lines_come_whole_and_can_be_left_early() -> None:
    async def work(processes: Processes) -> tuple[bytes, Stopped]:
        process = await processes.start(bash("seq 1 100000000", streams_stdout=True))
        seen = b""
        async for block in process.lines():
            assert block.endswith(b"\n")
            seen += block
            if len(seen) > 2_000_000:
                break
        ended = await process.kill_tree()
        return seen, ended.stopped_by

    seen, stopped_by = go(work)
    numbers = [int(line) for line in seen.split()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert stopped_by is Stopped.CALLER


def test_lines_may_end_by_another_byte() -> None:
    async def work(processes: Processes) -> list[bytes]:
        process = await processes.start(bash("printf 'a\\nb\\0c\\0d'", streams_stdout=True))
        return [block async for block in process.lines(b"\0")]

    assert go(work) == [b"a\nb\0c\0", b"d"]


def test_a_search_that_found_enough_is_stopped_by_one_signal() -> None:
    async def work(processes: Processes) -> None:
        async with await processes.start(Command(argv=["seq", "100000000"], streams_stdout=True)) as process:
            assert (await process.read()).startswith(b"1\n2\n")
            ended = await process.stop()
        assert ended.was_killed
        assert await process.read() == b""
        assert (await process.stop()) == ended

    go(work)


def test_streamed_output_is_complete_and_keeps_a_last_line_without_newline() -> None:
    async def work(processes: Processes) -> bytes:
        process = await processes.start(bash("seq 1 200000; printf end", streams_stdout=True))
        text = b"".join([block async for block in process.lines()])
        assert (await asyncio.wait_for(process.wait(), 60)).code == 0
        return text

    text = go(work)
    assert text == b"".join(b"%d\n" % number for number in range(1, 200_001)) + b"end"


def test_heavy_output_is_bounded_counted_and_spilled(tmp_path: Path) -> None:
    spill = tmp_path / "full"
    done = run("yes 0123456789 | head -c 50000000", spill_path=str(spill), cap_bytes=1_000_000, kept_bytes=1000)
    output = done.output
    assert output.total_bytes == 50_000_000
    assert spill.read_bytes() == (b"0123456789\n" * 100_000)[:1_000_000]
    assert spill.stat().st_mode & 0o777 == 0o600
    head, dropped, tail = output.stdout.kept()
    assert (len(head), len(tail), dropped) == (1000, 1000, 50_000_000 - 2000)
    assert tail == (b"0123456789\n" * 5_000_000)[49_999_000:50_000_000]
    assert f"{dropped} bytes left out" in output.stdout.text()


def test_short_output_makes_no_file(tmp_path: Path) -> None:
    spill = tmp_path / "full"
    assert run("echo short", spill_path=str(spill)).output.spill_path is None
    assert not spill.exists()


def test_binary_output_and_broken_text_are_kept_as_bytes() -> None:
    done = run("head -c 300 /dev/zero; printf '\\xff\\xfe'")
    assert done.output.stdout.head == bytes(300) + b"\xff\xfe"
    assert done.output.stdout.text().endswith("\ufffd\ufffd")


def test_both_streams_heavy_at_once(tmp_path: Path) -> None:
    script = "yes out | head -c 20000000 & yes err | head -c 20000000 >&2 & wait"
    output = run(script, spill_path=str(tmp_path / "f")).output
    assert (output.stdout.total_bytes, output.stderr.total_bytes) == (20_000_000, 20_000_000)
    assert output.is_complete_on_disk


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (Command(argv=["/no/such/program"]), "no such program"),
        (Command(argv=["no-such-program-either"]), "no such program"),
        (Command(argv=["true"], cwd="/no/such/place"), "'/no/such/place' does not exist"),
        (Command(argv=["/etc/passwd"]), "not permitted"),
        (Command(argv=["echo", "a\0b"]), "NUL"),
        (Command(argv=["true"], env={"A": "b\0c"}), "NUL"),
        (Command(argv=["echo", "x" * 3_000_000]), "smaller"),
        (Command(argv=[]), "empty"),
    ],
)
def test_what_cannot_start_says_why_and_leaks_nothing(
    command: Command, said: str, open_files: Callable[[], set[tuple[str, str]]]
) -> None:
    async def work(processes: Processes) -> None:
        await processes.run(bash("true"))
        before = open_files()
        with pytest.raises(StartError, match=said):
            await processes.start(command)
        assert open_files() - before == set()
        assert processes.running == ()

    go(work)


def test_many_at_once_leave_no_handles_and_no_zombies(open_files: Callable[[], set[tuple[str, str]]]) -> None:
    async def work(processes: Processes) -> None:
        await processes.run(bash("true"))
        before = open_files()
        for _ in range(3):
            done = await asyncio.gather(*(processes.run(bash(f"echo {i}; exit {i}")) for i in range(40)))
            assert [one.exit.code for one in done] == list(range(40))
            assert [one.output.stdout.text() for one in done] == [f"{i}\n" for i in range(40)]
        new = open_files() - before
        assert len(new) <= 6, new  # both ends of the three pipes that are kept for the next start

    at_first = open_files()
    go(work)
    assert open_files() - at_first == set()
    mine = [entry for entry in tree.scan().values() if entry.parent == os.getpid() and not entry.is_running]
    assert mine == []


def test_children_live_in_their_own_session_and_carry_the_marks() -> None:
    async def work(processes: Processes) -> tuple[str, str]:
        done = await processes.run(bash("ps -o sid=,pgid=,pid= -p $$; echo $HOLDFAST_SESSION $HOLDFAST_JOB"))
        return done.output.stdout.text(), processes.mark

    text, mark = go(work)
    ids, marks = text.splitlines()
    assert len(set(ids.split())) == 1
    assert marks == f"{mark} {mark}.1"


def test_variables_are_added_taken_away_and_kept_out() -> None:
    async def work(processes: Processes) -> tuple[str, str]:
        added = await processes.run(bash('echo "$A-${HOME:-none}-$PAGER"', env={"A": "1", "HOME": None}))
        clean = Command(argv=["/usr/bin/env"], env={"ONLY": "1"}, inherits_env=False)
        return added.output.stdout.text(), (await processes.run(clean)).output.stdout.text()

    added, clean = go(work)
    assert added == "1-none-cat\n"
    assert sorted(line.split("=")[0] for line in clean.splitlines()) == ["HOLDFAST_JOB", "HOLDFAST_SESSION", "ONLY"]


def test_too_many_processes_end_the_job_that_makes_them(torture: ModuleType, token: str) -> None:
    async def work(processes: Processes) -> tuple[Stopped, Stopped]:
        calm = await processes.start(bash(f"sleep {token}"))
        bomb = await processes.start(bash(f"for i in $(seq 60); do sleep {token} & done; wait"))
        ended = (await asyncio.wait_for(bomb.wait(), 60)).stopped_by
        assert calm.is_running
        assert len(torture.holders(token, program=b"sleep")) == 1
        return ended, (await calm.kill_tree()).stopped_by

    assert go(work, max_descendants=40) == (Stopped.WATCHDOG, Stopped.CALLER)


def test_a_bomb_that_left_its_shell_is_found_too(torture: ModuleType, token: str) -> None:
    script = f"(for i in $(seq 60); do setsid sleep {token} & done) & exit 0"

    async def work(processes: Processes) -> None:
        await processes.run(bash(script))
        while not torture.holders(token):  # noqa: ASYNC110 - another process is watched, it sends no event
            await asyncio.sleep(0.01)
        while torture.holders(token):  # noqa: ASYNC110 - another process is watched, it sends no event
            await asyncio.sleep(0.01)

    go(work, max_descendants=40)


def test_progress_shows_what_came_so_far() -> None:
    async def work(processes: Processes) -> None:
        process = await processes.start(bash("seq 10; read x", stdin=Stdin.PIPE))
        while process.progress().line_count < 10:  # noqa: ASYNC110 - another process is watched, it sends no event
            await asyncio.sleep(0.01)
        assert process.progress(last_lines=2).recent == "9\n10"
        process.close_stdin()
        await asyncio.wait_for(process.wait(), 60)

    go(work)


def test_without_a_process_table_groups_are_ended(
    torture: ModuleType, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "_PROC", "/no/proc/here")

    async def work(processes: Processes) -> None:
        done = await processes.run(bash(f"sleep {token}1 & sleep {token}1", timeout_s=0.3, kill_grace_s=0.1))
        assert done.exit.timed_out
        assert torture.holders(f"{token}1") == {}
        await processes.run(bash(f"sleep {token}2 >/dev/null 2>&1 &"))
        while not torture.holders(f"{token}2"):  # noqa: ASYNC110 - another process is watched: its program comes after the fork
            await asyncio.sleep(0.01)

    go(work, uses_pidfd=False)
    assert torture.holders(token) == {}


GUARDED_ORPHANS = """
import asyncio, os, subprocess, sys
from holdfast.host.guard import run_guarded
def program():
    from holdfast.host import tree
    from holdfast.host.command import Command
    from holdfast.host.processes import Processes
    def zombies():
        return [e.pid for e in tree.scan().values() if e.parent == os.getpid() and not e.is_running]
    async def main():
        async with Processes() as processes:
            foreign = subprocess.Popen(["true"], start_new_session=True)
            place = sys.argv[1]
            wait = f"exec >/dev/null 2>&1; : > {place}/$BASHPID; until test -e {place}/go; do sleep 0.01; done"
            for _ in range(5):
                await processes.run(Command(argv=["bash", "-c", f"({wait}) & (setsid bash -c '{wait}' &)"]))
            while len(os.listdir(place)) < 10:
                await asyncio.sleep(0.01)
            # The orphans are seen at the latest when the next process ends, if they live until then.
            await processes.run(Command(argv=["true"]))
            open(f"{place}/go", "w").close()
            while zombies() != [foreign.pid] or processes._lingering:
                await asyncio.sleep(0.01)
            assert foreign.wait(30) == 0
    asyncio.run(asyncio.wait_for(main(), 60))
    return 0
sys.exit(run_guarded(program))
"""


def test_orphans_that_come_to_us_are_reaped_and_other_children_are_left_to_their_owner(tmp_path: Path) -> None:
    command = [sys.executable, "-c", GUARDED_ORPHANS, str(tmp_path)]
    result = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from types import ModuleType

import pytest

from holdfast.host import tree
from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.testing import started

WAYS = ["kill program", "SIGTERM", "SIGHUP", "SIGINT", "segfault", "broken pipe", "exit"]

pytestmark = pytest.mark.skipif(not tree.has_process_table(), reason="needs /proc")


@pytest.mark.parametrize("way", WAYS)
def test_jobs_of_a_library_user_end_with_it(torture: ModuleType, way: str) -> None:
    problems, _ = torture.scenario(way, "library")
    assert problems == []


def _watchers() -> list[int]:
    children = [entry.pid for entry in tree.scan().values() if entry.parent == os.getpid() and entry.is_running]
    found: list[int] = []
    for pid in children:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"holdfast.host.sidecar" in file.read():
                found.append(pid)
    return found


async def _the_watcher() -> int:
    while not (found := _watchers()):  # noqa: ASYNC110 - its command line is there a moment after it has started
        await asyncio.sleep(0.005)
    (watcher,) = found
    return watcher


def _ignores(pid: int, number: signal.Signals) -> bool:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (mask,) = [int(line.split()[1], 16) for line in file if line.startswith("SigIgn:")]
    return bool(mask & 1 << (number - 1))


def test_the_watcher_starts_with_the_first_process_comes_back_when_killed_and_ends_with_us(
    eventually: Callable[[Callable[[], object]], object],
) -> None:
    async def main() -> None:
        async with Processes() as processes:
            assert _watchers() == []
            await processes.run(Command(argv=["true"]))
            first = await _the_watcher()
            job = await processes.start(Command(argv=["sleep", "60"]))
            os.kill(first, signal.SIGKILL)
            while _watchers() in ([], [first]):  # noqa: ASYNC110 - it comes back by itself while anything runs
                await asyncio.sleep(0.005)
            (second,) = _watchers()
            await job.kill_tree()
            while not _ignores(second, signal.SIGTERM):  # noqa: ASYNC110 - it is still loading
                await asyncio.sleep(0.005)
            os.kill(second, signal.SIGTERM)
            os.kill(second, signal.SIGINT)
            await processes.run(Command(argv=["true"]))
            assert _watchers() == [second]

    asyncio.run(asyncio.wait_for(main(), 60))
    eventually(lambda: not _watchers())


def test_under_the_guard_there_is_no_watcher() -> None:
    code = """
import asyncio, os, sys
from holdfast.host.guard import run_guarded
def program():
    from holdfast.host.command import Command, StartError
    from holdfast.host.processes import Processes
    async def main():
        async with Processes() as processes:
            await processes.run(Command(argv=["true"]))
            print(open(f"/proc/self/task/{os.getpid()}/children").read().split())
    asyncio.run(main())
    return 0
sys.exit(run_guarded(program))
"""
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=30)
    assert result.stdout == "[]\n"


def test_a_fork_of_the_owner_does_not_keep_the_jobs_alive(
    torture: ModuleType, token: str, eventually: Callable[[Callable[[], object]], object]
) -> None:
    code = f"""
import asyncio, os, time
from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
async def main():
    processes = Processes()
    await processes.start(Command(argv=["sleep", "{token}"]))
    if os.fork() == 0:
        time.sleep(100)
    print(os.getpid(), flush=True)
    await asyncio.sleep(100)
asyncio.run(main())
"""
    with started([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        eventually(lambda: torture.holders(token, program=b"sleep"))
        process.kill()
        eventually(lambda: not torture.holders(token, program=b"sleep"))
        os.killpg(process.pid, signal.SIGKILL)


def test_without_a_watcher_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    async def main() -> None:
        async with Processes() as processes:
            assert processes._sidecar is not None
            monkeypatch.setattr(processes._sidecar, "_start", refuse)
            with pytest.raises(StartError):
                await processes.start(Command(argv=["true"]))
            assert processes.running == ()

    asyncio.run(main())


def test_a_watcher_that_is_slow_to_end_is_collected_later_and_not_dropped(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], object]], object]
) -> None:
    monkeypatch.setattr("holdfast.host.processes._SIDECAR_END_S", 0.05)

    async def main() -> int:
        async with Processes() as processes:
            await processes.run(Command(argv=["true"]))
            watcher = await _the_watcher()
            os.kill(watcher, signal.SIGSTOP)  # as slow as on a machine with no time for it
        return watcher

    watcher = asyncio.run(asyncio.wait_for(main(), 60))
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            gc.collect()
        assert not [one for one in said if issubclass(one.category, ResourceWarning)]
    finally:
        os.kill(watcher, signal.SIGCONT)
    eventually(lambda: not os.path.exists(f"/proc/{watcher}"))

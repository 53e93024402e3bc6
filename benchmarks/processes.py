"""Processes against the bare system calls, in the same run: start cost, heavy output, the guard."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.shell import CwdReport, shell_argv
from measure import Row, row

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STARTS = int(os.environ.get("BENCH_STARTS", "150"))
OUTPUT_BYTES = int(os.environ.get("BENCH_OUTPUT_BYTES", str(1 << 30)))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
GUARD_STARTS = int(os.environ.get("BENCH_GUARD_STARTS", "20"))
SCRIPT = "true"


def _quiet(samples: list[float]) -> float:
    """The lower fifth: what the work costs when nobody else uses the machine at that moment."""
    return statistics.quantiles(samples, n=5)[0]


# -- start cost


def _posix_spawn() -> None:
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
    pid = os.posix_spawn("/bin/bash", list(shell_argv(SCRIPT)), os.environ, file_actions=actions)
    os.close(write_end)
    while os.read(read_end, 1 << 16):
        pass
    os.close(read_end)
    os.waitpid(pid, 0)


async def _plain(processes: Processes) -> None:
    await processes.run(Command(argv=shell_argv(SCRIPT)))


async def _tracking(processes: Processes) -> None:
    report = CwdReport()
    await processes.run(Command(argv=shell_argv(report.script(SCRIPT)), pass_fds=(report.fd,)))
    assert report.read()
    report.close()


async def _time_starts(registry_dir: str | None) -> tuple[float, float, float]:
    """Microseconds of the bare start, ours, and ours with the directory reported; turn by turn."""
    bare: list[float] = []
    plain: list[float] = []
    tracking: list[float] = []
    async with Processes(registry_dir=registry_dir) as processes:
        variants: list[tuple[list[float], Callable[[Processes], Awaitable[None]]]] = [
            (plain, _plain),
            (tracking, _tracking),
        ]
        for turn in range(STARTS + 10):
            begun = time.perf_counter()
            _posix_spawn()
            spent = [(bare, time.perf_counter() - begun)]
            for into, variant in variants:
                begun = time.perf_counter()
                await variant(processes)
                spent.append((into, time.perf_counter() - begun))
            if turn >= 10:  # the first ones warm caches and start the sidecar
                for into, seconds in spent:
                    into.append(seconds * 1e6)
    return _quiet(bare), _quiet(plain), _quiet(tracking)


# -- output


def _producer() -> str:
    return f"yes | head -c {OUTPUT_BYTES}"


def _through_cat() -> float:
    begun = time.perf_counter()
    subprocess.run(shell_argv(f"{_producer()} | cat > /dev/null"), check=True)
    return time.perf_counter() - begun


def _rss_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _captured(processes: Processes, peak: list[int]) -> float:
    async def watch() -> None:
        while True:
            peak.append(_rss_bytes())
            await asyncio.sleep(0.02)

    watcher = asyncio.create_task(watch())
    begun = time.perf_counter()
    finished = await processes.run(Command(argv=shell_argv(_producer())))
    spent = time.perf_counter() - begun
    watcher.cancel()
    assert finished.output.total_bytes == OUTPUT_BYTES
    return spent


async def _time_output() -> tuple[float, float, float]:
    """Median seconds through `cat`, through us, and the growth of our memory in megabytes."""
    cats: list[float] = []
    ours: list[float] = []
    peak: list[int] = []
    async with Processes() as processes:
        await processes.run(Command(argv=shell_argv("true")))
        before = _rss_bytes()
        for _ in range(ROUNDS):
            cats.append(await asyncio.to_thread(_through_cat))
            ours.append(await _captured(processes, peak))
    return statistics.median(cats), statistics.median(ours), (max(peak) - before) / 2**20


# -- the guard

# What every command of ours imports, with and without the guard before it.
_BARE = "import sys, asyncio\nsys.exit(0)"
_GUARDED = """
import sys
from holdfast.host.guard import run_guarded
def program():
    import asyncio
    return 0
sys.exit(run_guarded(program))
"""
_MEMORY = """
import sys, os
from holdfast.host.guard import run_guarded
def pss(pid):
    for line in open(f"/proc/{pid}/smaps_rollup"):
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
def program():
    import asyncio
    print(pss(os.getpid()) + (pss(os.getppid()) if GUARD else 0))
    return 0
sys.exit(run_guarded(program) if GUARD else program())
"""


def _run_python(code: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begun


def _time_guard() -> tuple[float, float]:
    bare: list[float] = []
    guarded: list[float] = []
    for _ in range(GUARD_STARTS):
        bare.append(_run_python(_BARE))
        guarded.append(_run_python(_GUARDED))
    return _quiet(bare) * 1e3, _quiet(guarded) * 1e3


def _measure_guard() -> float:
    """Megabytes that the guard adds: what both processes hold, shared pages counted once."""

    def total(guard: bool) -> float:
        answer = subprocess.run(
            [sys.executable, "-c", _MEMORY.replace("GUARD", str(guard))], check=True, capture_output=True, text=True
        )
        return float(answer.stdout)

    return total(True) - total(False)


def rows() -> list[Row]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as directory:
        bare, plain, tracking = asyncio.run(_time_starts(directory))
    cat, ours, growth = asyncio.run(_time_output())
    plain_start, guarded_start = _time_guard()
    guard_ms = max(guarded_start - plain_start, 0.0)
    return [
        row("start a process", plain, bare, unit="us", limit=1.15, against="posix_spawn + pipe"),
        row("start, last directory reported", tracking, bare, unit="us", limit=1.25, against="posix_spawn + pipe"),
        row("1 GB of output", ours, cat, unit="s", limit=1 / 0.9, against="cmd | cat > /dev/null"),
        row("1 GB of output, our memory", growth, 64, unit="MB", limit=1.0, against="64 MB"),
        row("guard, start to end", guard_ms, plain_start, unit="ms", limit=0.25, against="python, asyncio"),
        row("guard, memory", _measure_guard(), 10, unit="MB", limit=1.0, against="10 MB"),
    ]


if __name__ == "__main__":
    for line in rows():
        print(line)

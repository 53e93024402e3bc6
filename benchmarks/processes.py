"""Processes against the bare system calls, in the same run: start cost, heavy output, the guard.

`rows()` gives one dictionary per measured promise; run the file to see them as a table.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, TypedDict

from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.shell import CwdReport, shell_argv

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STARTS = int(os.environ.get("BENCH_STARTS", "150"))
OUTPUT_BYTES = int(os.environ.get("BENCH_OUTPUT_BYTES", str(1 << 30)))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
GUARD_STARTS = int(os.environ.get("BENCH_GUARD_STARTS", "20"))
SCRIPT = "true"


class Row(TypedDict):
    name: str
    ours: float
    reference: float
    ratio: float
    limit: float
    unit: str
    ok: bool


def _row(name: str, ours: float, reference: float, *, limit: float, unit: str, at_least: bool = False) -> Row:
    ratio = ours / reference
    ok = ratio >= limit if at_least else ratio <= limit
    return Row(name=name, ours=ours, reference=reference, ratio=ratio, limit=limit, unit=unit, ok=ok)


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
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as directory:
        bare, plain, tracking = asyncio.run(_time_starts(directory))
    cat, ours, growth = asyncio.run(_time_output())
    plain_start, guarded_start = _time_guard()
    return [
        _row("start, against posix_spawn + pipe", plain, bare, limit=1.15, unit="us"),
        _row("start with cwd tracking", tracking, bare, limit=1.25, unit="us"),
        _row("throughput, against | cat", 1 / ours, 1 / cat, limit=0.9, unit="GiB/s", at_least=True),
        _row("memory for that output, against 64 MB", growth, 64, limit=1.0, unit="MB"),
        _row("guard start-up, against 15 ms", guarded_start - plain_start, 15, limit=1.0, unit="ms"),
        _row("guard memory, against 10 MB", _measure_guard(), 10, limit=1.0, unit="MB"),
    ]


def main() -> int:
    failed = 0
    for row in rows():
        failed += not row["ok"]
        print(
            f"{'ok  ' if row['ok'] else 'OVER'} {row['name']:<42} ours {row['ours']:>9.2f}  "
            f"reference {row['reference']:>9.2f} {row['unit']:<6} ratio {row['ratio']:.3f} (limit {row['limit']})"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Bash through the whole pipeline, against the bare start of the same shell with its output captured."""

import asyncio
import os
import statistics
import time
from tempfile import TemporaryDirectory

from holdfast.contract import SessionFacts
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.host.shell import shell_argv
from holdfast.tools.shell.bash import Bash
from measure import Row, row

ROUNDS = int(os.environ.get("BENCH_STARTS", "150"))
WARM_UP = 10


def _posix_spawn(script: str) -> None:
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
    pid = os.posix_spawn("/bin/bash", list(shell_argv(script)), os.environ, file_actions=actions)
    os.close(write_end)
    while os.read(read_end, 1 << 16):
        pass
    os.close(read_end)
    os.waitpid(pid, 0)


async def _call(executor: Executor, number: int, command: str) -> None:
    executor.add({"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}})
    async for event in executor.results():
        assert isinstance(event, CallFinished)
        assert not event.is_error, event.content
    executor.end_turn()


def _quiet(samples: list[float]) -> float:
    """The lower fifth: what the work costs when nobody else uses the machine at that moment."""
    return statistics.quantiles(samples, n=5)[0] * 1e6


async def _measure() -> list[Row]:
    bare: list[float] = []
    same: list[float] = []
    fresh: list[float] = []
    moving: list[float] = []
    with TemporaryDirectory() as directory:
        executor = Executor([Bash()], cwd=directory, session=SessionFacts(project_root=directory))
        async with executor:
            for number in range(ROUNDS + WARM_UP):
                begun = time.perf_counter()
                _posix_spawn("true")
                taken = [time.perf_counter() - begun]
                # A text that was never seen is analysed anew; the second has to report its directory, too.
                for index, command in enumerate(("true", f"true {number}", f"cd . && true {number}")):
                    begun = time.perf_counter()
                    await _call(executor, number * 3 + index, command)
                    taken.append(time.perf_counter() - begun)
                if number >= WARM_UP:
                    for into, seconds in zip((bare, same, fresh, moving), taken, strict=True):
                        into.append(seconds)
    against = "posix_spawn of bash -c true"
    reference = _quiet(bare)
    return [
        row("a call, text known", _quiet(same), reference, unit="µs", limit=1.25, against=against),
        row("a call, text new", _quiet(fresh), reference, unit="µs", limit=1.25, against=against),
        row("a call that may change directory", _quiet(moving), reference, unit="µs", limit=1.6, against=against),
    ]


def rows() -> list[Row]:
    """All measurements of Bash."""
    return asyncio.run(_measure())

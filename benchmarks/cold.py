"""The first second: the real program in fresh processes against a model on this machine, interleaved with floors.

`holdfast -p` runs with its guard and journal, in a trusted repository that has a CLAUDE.md and 50 rules. In the runs
with tools the model thinks for `THINK_S` before its first word, as every real one does and longer; that is the time in
which the rest of the program may load. A floor is the least that a Python program pays for the same: its imports.
With PEERS=1 codex does the same against the same server, and its figures are the reference of rows of their own.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cold_peers import HOLDFAST, Program, codex, ours
from holdfast.testing import FakeProvider, FakeTurn, Pause, RecordedRequest
from measure import Row, row

ROUNDS = int(os.environ.get("BENCH_COLD_ROUNDS", "9"))
THINK_S = 0.8
CALLS = 10
GOES_ON_S = 0.3
FLOORS = {
    "asyncio, ssl": "import asyncio, ssl",
    "asyncio, pydantic": "import asyncio, pydantic; pydantic.BaseModel",
    "asyncio, pydantic, httpx2": "import asyncio, pydantic, httpx2; pydantic.BaseModel",
}
Figures = dict[str, list[float]]


class _Talk:
    """One run of a program: what it is answered, and when everything happened."""

    def __init__(self, program: Program, commands: list[str], *, think_s: float = 0.0, goes_on_s: float = 0.0) -> None:
        self.program = program
        self.asked: list[float] = []
        self.completed: list[float] = []
        self.ended: list[float] = []
        self.body = b""
        self.pss_mb = 0.0
        self.pid = 0
        self._commands = commands
        self._think_s = think_s
        self._goes_on_s = goes_on_s

    def answer(self, request: RecordedRequest) -> FakeTurn:
        """The next answer of the script; the last one is a word."""
        number = len(self.asked)
        self.asked.append(time.time())
        self.body = self.body or request.body
        if number == 1:
            self.pss_mb = _pss_mb(self.pid)
        command = self._commands[number] if number < len(self._commands) else None
        return FakeTurn(
            raw=self.pieces(number, command),  # pyright: ignore[reportArgumentType]  # an iterator is read just so
            content_type="text/event-stream",
            first_delay_s=self._think_s if number == 0 else 0.0,
        )

    def pieces(self, number: int, command: str | None) -> Iterator[bytes | Pause]:
        """The bytes of an answer; notes when its block was complete and when it ended."""
        sent = list(self.program.pieces(number, command))
        yield from sent[:-1]
        self.completed.append(time.time())
        if self._goes_on_s and number in (0, CALLS - 1):
            yield Pause(self._goes_on_s)  # the stream goes on: a tool has to start meanwhile
        yield sent[-1]
        self.ended.append(time.time())


class _Ran(NamedTuple):
    talk: _Talk
    began: float
    ended: float


async def _run(server: "_Server", talk: _Talk, place: Path) -> _Ran:
    """Start the program, and wait for its end."""
    server.talk = talk
    began = time.time()
    process = await asyncio.create_subprocess_exec(
        *talk.program.argv,
        cwd=place / "work",
        env=talk.program.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    talk.pid = process.pid
    _, said = await asyncio.wait_for(process.communicate(), 60)
    ended = time.time()
    if process.returncode != 0:
        raise RuntimeError(f"{talk.program.name} failed: {said.decode(errors='replace')[-2000:]}")
    return _Ran(talk, began, ended)


class _Server:
    """Passes every request to the talk that is under way."""

    talk: _Talk

    def answer(self, request: RecordedRequest) -> FakeTurn:
        return self.talk.answer(request)


async def _measure(program: Program, server: _Server, place: Path, found: Figures) -> None:
    """One round of one program: a word, ten calls that note their start, ten times `true`."""
    starts = place / "work" / "starts"
    word = await _run(server, _Talk(program, []), place)
    _note(found, "first request", word.talk.asked[0] - word.began)
    _note(found, "exit", word.ended - word.began)
    _note(found, "bytes", len(word.talk.body))
    starts.unlink(missing_ok=True)
    noting = [f": {number}; echo $EPOCHREALTIME >> starts" for number in range(CALLS)]
    tools = await _run(server, _Talk(program, noting, think_s=THINK_S, goes_on_s=GOES_ON_S), place)
    began = [float(line) for line in starts.read_text().split()]
    _note(found, "first start", began[0] - tools.talk.completed[0])
    _note(found, "tenth start", began[CALLS - 1] - tools.talk.completed[CALLS - 1])
    plain = await _run(server, _Talk(program, [f"true {number}" for number in range(CALLS)], think_s=THINK_S), place)
    talk = plain.talk
    _note(found, "first true", talk.asked[1] - talk.ended[0])
    _note(found, "tenth true", talk.asked[CALLS] - talk.ended[CALLS - 1])
    _note(found, "memory", talk.pss_mb)


def _note(found: Figures, name: str, value: float) -> None:
    found.setdefault(name, []).append(value)


def _floors(found: Figures) -> None:
    for name, code in FLOORS.items():
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        _note(found, name, time.perf_counter() - began)
    began = time.perf_counter()
    subprocess.run(["/bin/bash", "-c", "true"], check=True)
    _note(found, "bash", time.perf_counter() - began)


def _first_read(program: Program, place: Path) -> float:
    """Seconds from the start of `holdfast exec` to the reply of a first Read."""
    call = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": str(place / "work" / "CLAUDE.md")}}
    began = time.perf_counter()
    with subprocess.Popen(
        [HOLDFAST, "exec"],
        cwd=place / "work",
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.stdin.close()
    if b'"is_error":false' not in line:
        raise RuntimeError(f"the Read failed: {line!r}")
    return took


def _pss_mb(root: int) -> float:
    """What a process and everything it started hold, shared pages counted once."""
    total_kb, waiting = 0.0, [root]
    while waiting:
        pid = waiting.pop()
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kb += float(line.split()[1])
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended, or it is not ours to look at
            continue
    return total_kb / 1024


async def _all(*, with_peers: bool) -> dict[str, Figures]:
    found: dict[str, Figures] = {"floor": {}}
    with TemporaryDirectory() as name:
        place = Path(name)
        server = _Server()
        async with FakeProvider(then=server.answer) as provider:
            programs = [ours(place, provider.url)]
            peer = codex(place, provider.url) if with_peers else None
            programs += [] if peer is None else [peer]
            for number in range(ROUNDS + 1):
                into: dict[str, Figures] = found if number else {"floor": {}}  # the first round warms the disk
                for program in programs:
                    await _measure(program, server, place, into.setdefault(program.name, {}))
                    await asyncio.to_thread(_floors, into["floor"])
                read = await asyncio.to_thread(_first_read, programs[0], place)
                _note(into[programs[0].name], "first Read", read)
    return found


def _medians(figures: Figures) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in figures.items()}


def _rows_of(us: dict[str, float], floor: dict[str, float]) -> list[Row]:
    ms = 1e3
    libraries = floor["asyncio, pydantic, httpx2"] * ms
    late = (us["tenth start"] + 10 * floor["bash"]) * ms
    return [
        row("start to first request", us["first request"] * ms, floor["asyncio, ssl"] * ms, **_by(2.2, "asyncio, ssl")),
        row("block to start, first tool", us["first start"] * ms, late, **_by(1.0, "the tenth + 10 bash -c true")),
        row("block to start, tenth tool", us["tenth start"] * ms, floor["bash"] * ms, **_by(6.0, "bash -c true")),
        row("first true, answer to request", us["first true"] * ms, floor["bash"] * ms, **_by(10.0, "bash -c true")),
        row("tenth true, answer to request", us["tenth true"] * ms, floor["bash"] * ms, **_by(6.0, "bash -c true")),
        row("-p, start to exit", us["exit"] * ms, libraries, **_by(1.5, "asyncio, pydantic, httpx2")),
        row(
            "exec, start to a first Read",
            us["first Read"] * ms,
            floor["asyncio, pydantic"] * ms,
            **_by(2.2, "asyncio, pydantic"),
        ),
        row("memory of a run with calls", us["memory"], 50.0, unit="MB", limit=1.0, against="50 MB"),
        row("bytes of the first request", us["bytes"] / 1024, 64.0, unit="KiB", limit=1.0, against="64 KiB"),
    ]


def _by(limit: float, against: str) -> Any:
    return {"unit": "ms", "limit": limit, "against": against}


def _rows_against(peer: str, us: dict[str, float], them: dict[str, float]) -> list[Row]:
    limits = {
        "first request": 1.0,
        "first start": 0.5,
        "tenth start": 0.5,
        "first true": 0.2,
        "tenth true": 0.2,
        "exit": 1.0,
    }
    found = [
        row(f"{name}, {peer}", us[name] * 1e3, them[name] * 1e3, unit="ms", limit=limit, against=peer)
        for name, limit in limits.items()
    ]
    found.append(row(f"memory, {peer}", us["memory"], them["memory"], unit="MB", limit=0.5, against=peer))
    found.append(row(f"bytes, {peer}", us["bytes"] / 1024, them["bytes"] / 1024, unit="KiB", limit=1.5, against=peer))
    return found


def rows(*, with_peers: bool = False) -> list[Row]:
    """Medians of fresh processes, interleaved with their floors."""
    found = {name: _medians(figures) for name, figures in asyncio.run(_all(with_peers=with_peers)).items()}
    us, floor = found["holdfast"], found["floor"]
    if not with_peers:
        return _rows_of(us, floor)
    return [
        made for name in found if name not in ("holdfast", "floor") for made in _rows_against(name, us, found[name])
    ]


if __name__ == "__main__":
    for made in [*rows(), *(rows(with_peers=True) if "--peers" in sys.argv else [])]:
        print(
            f"{made['name']:<34} {made['ours']:>9.1f} {made['reference']:>9.1f} {made['ratio']:>6.2f}"
            f" {made['limit']:>5}"
        )

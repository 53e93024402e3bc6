"""One fresh run of a program against the model on this machine: when everything happened, and what it cost."""

import asyncio
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cold_peers import HOLDFAST, Program
from holdfast.testing import FakeTurn, Pause, RecordedRequest

RUN_S = 300.0
"""A peer that waits for servers it cannot reach takes half a minute for a talk, and longer on a busy machine."""


class Talk:
    """One run of a program: what it is answered, and when everything happened."""

    def __init__(
        self, program: Program, commands: list[str], *, think_s: float = 0.0, pauses: tuple[int, ...] = ()
    ) -> None:
        """`pauses` names the answers whose stream goes on for a while behind their call."""
        self.program = program
        self.asked: list[float] = []
        self.completed: list[float] = []
        self.ended: list[float] = []
        self.body = b""
        self.pss_mb = 0.0
        self.cpu_s = 0.0
        """Processor time until the first request."""
        self.pid = 0
        self._commands = commands
        self._think_s = think_s
        self._pauses = pauses

    def answer(self, request: RecordedRequest) -> FakeTurn:
        """The next answer of the script; the last one is a word. What offers no tools is a side question."""
        now = time.time()
        if b'"tools"' not in request.body:
            return FakeTurn(raw=list(self.program.answers(99, None)), content_type="text/event-stream")
        number = len(self.asked)
        self.asked.append(now)
        if number == 0:
            self.cpu_s = sum(map(_cpu_s, _tree(self.pid)))
            self.body = request.body
        if number == 1:
            self.pss_mb = sum(map(_pss_mb, _tree(self.pid)))
        command = self._commands[number] if number < len(self._commands) else None
        return FakeTurn(
            raw=self._pieces(number, command),  # pyright: ignore[reportArgumentType]  # an iterator is read just so
            content_type="text/event-stream",
            first_delay_s=self._think_s if number == 0 else 0.0,
        )

    def _pieces(self, number: int, command: str | None) -> Iterator[bytes | Pause]:
        """The bytes of an answer; notes when its block was complete and when it ended."""
        sent = list(self.program.answers(number, command))
        yield from sent[:-1]
        self.completed.append(time.time())
        if number in self._pauses:
            yield Pause(0.3)  # the stream goes on: a tool has to start meanwhile
        yield sent[-1]
        self.ended.append(time.time())


class Model:
    """Passes every request to the talk that is under way."""

    talk: Talk

    def answer(self, request: RecordedRequest) -> FakeTurn:
        """The next answer."""
        return self.talk.answer(request)


class Ran(NamedTuple):
    """A run that is over."""

    talk: Talk
    began: float
    ended: float
    cpu_s: float


async def run(model: Model, talk: Talk, place: Path) -> Ran:
    """Start the program, and wait for its end; what it leaves running is ended by its id."""
    model.talk = talk
    before = _children_s()
    began = time.time()
    process = await asyncio.create_subprocess_exec(
        *talk.program.argv,
        cwd=place / "work",
        env=talk.program.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    talk.pid = process.pid
    try:
        _, said = await asyncio.wait_for(process.communicate(), RUN_S)
    finally:
        if process.returncode is None:
            process.kill()
        ended = time.time()
        _end_leftovers(process.pid)
    if process.returncode != 0:
        raise RuntimeError(f"{talk.program.name} failed: {said.decode(errors='replace')[-2000:]}")
    return Ran(talk, began, ended, _children_s() - before)


def first_read(program: Program, place: Path) -> tuple[float, float]:
    """Seconds from the start of `holdfast exec` to the reply of a first Read, and its processor time until its end."""
    call = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": str(place / "work" / "CLAUDE.md")}}
    before = _children_s()
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
    return took, _children_s() - before


def floor(argv: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds of a program."""
    before, began = _children_s(), time.perf_counter()
    subprocess.run(argv, check=True)
    return time.perf_counter() - began, _children_s() - before


def _children_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _tree(root: int) -> list[int]:
    """A process and everything it started."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended
            continue
    return found


def _pss_mb(pid: int) -> float:
    """What a process holds, shared pages counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended, or it is not ours to look at
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _cpu_s(pid: int) -> float:
    """What the threads of a process have run, finer than its ticks."""
    total_ns = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total_ns += int((task / "schedstat").read_text().split()[0])
    except OSError:
        return 0.0
    return total_ns / 1e9


def _end_leftovers(session: int) -> None:
    """End what the program's session left running: one signal to each, by its id."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue

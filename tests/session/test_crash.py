"""A scripted session dies, or its disk fails, at every single call to the operating system."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor, tool
from holdfast.events import CallFinished, CallStarted, Event, TurnEnded
from holdfast.session import SessionError, SessionStore
from holdfast.session.repair import repair
from holdfast.session.transcript import Transcript
from holdfast.session.validity import message_problems
from holdfast.testing.faults import before_each_call, count_calls, failing_at, killed_at

_real_write = os.write
ID = "the-session"


class Script:
    """Two turns of reads and writes through a real executor, telling a pipe what was acknowledged and what acted."""

    def __init__(self, root: Path, report: int) -> None:
        self.store = SessionStore(root / "sessions")
        self.project = str(root)
        self.report = report
        self.replies: list[CallFinished] = []
        self._unacknowledged: list[str] = []
        self._read_only: set[str] = set()

    def __call__(self) -> None:
        with self.store.create(self.project, session_id=ID) as session:
            self.sink = session.journal
            session.journal.record_message("user", "Please do it.")
            asyncio.run(self._run(session.tool_results))

    async def _run(self, spill: Path) -> None:
        @tool(read_only=True, concurrency_safe=True, max_result_chars=60)
        async def look(n: int) -> str:
            """Look at something."""
            await asyncio.sleep(0)
            return "seen " * n

        @tool
        async def change(n: int) -> str:
            """Change something."""
            self._tell(f"acted {n}")
            await asyncio.sleep(0)
            return f"changed {n}"

        async with Executor(
            [look, change], permission_mode="bypassPermissions", on_event=self._on_event, spill_directory=spill
        ) as executor:
            for turn in range(2):
                names = ["look", "look", "change", "look", "change", "look"]
                blocks = [
                    {"type": "tool_use", "id": f"t{turn}-{n}", "name": name, "input": {"n": turn * 10 + n * 7}}
                    for n, name in enumerate(names)
                ]
                for block in blocks:
                    executor.add(block)
                self.sink.record_message("assistant", [{"type": "text", "text": "I will."}, *blocks])
                self.replies += [event async for event in executor.results() if isinstance(event, CallFinished)]
                executor.end_turn()
            await self.sink.sync()

    def _on_event(self, event: Event) -> None:
        self.sink(event)
        if isinstance(event, CallStarted) and event.read_only:
            self._read_only.add(event.tool_use_id)
        elif isinstance(event, CallFinished):
            if event.tool_use_id in self._read_only:
                self._unacknowledged.append(event.tool_use_id)
            else:
                self._tell(f"acknowledged {event.tool_use_id}")
        elif isinstance(event, TurnEnded):
            for id_ in self._unacknowledged:
                self._tell(f"acknowledged {id_}")
            self._unacknowledged.clear()

    def _tell(self, what: str) -> None:
        _real_write(self.report, f"{what}\n".encode())


def load(root: Path) -> Transcript | None:
    store = SessionStore(root / "sessions")
    return store.load(ID) if list(store.paths()) else None


def check(transcript: Transcript, report: str) -> None:
    told = [line.split(" ", 1) for line in report.splitlines()]
    assert message_problems(repair(transcript).messages) == []
    finished = {call.id for call in transcript.calls if call.reply is not None}
    assert {what for kind, what in told if kind == "acknowledged"} <= finished
    begun = {call.input["n"] for call in transcript.calls if call.started}
    assert {int(what) for kind, what in told if kind == "acted"} <= begun
    assert transcript.damaged_lines == 0


def run_and_report(action: Callable[[Script], object], root: Path) -> str:
    reading, writing = os.pipe()
    try:
        action(Script(root, writing))
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as file:
        return file.read().decode()


def test_a_session_killed_at_any_call_loads_whole_and_goes_on(tmp_path: Path) -> None:
    survived: list[bool] = []
    for nth in range(1, 2000):
        root = tmp_path / str(nth)
        root.mkdir()
        report = run_and_report(lambda script, nth=nth: survived.append(not killed_at(nth, script)), root)
        transcript = load(root)
        assert transcript is not None or report == ""
        if transcript is not None:
            check(transcript, report)
            before = [(call.id, call.state) for call in transcript.calls]
            session, resumed = SessionStore(root / "sessions").resume(ID)
            with session:
                session.journal.record_message("user", "Go on.")
            again = load(root)
            assert again is not None
            assert [(call.id, call.state) for call in resumed.calls] == before
            assert [(call.id, call.state) for call in again.calls] == before
            assert again.damaged_lines == 0
            assert not again.torn_tail
            assert message_problems(repair(again).messages) == []
        if survived[-1]:
            break
    assert survived[-1]
    assert len(survived) > 40, "the script makes too few calls to prove anything"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR], ids=errno.errorcode.get)
@pytest.mark.parametrize("onward", [False, True])
def test_an_error_at_any_call_leaves_every_call_answered_and_the_file_readable(
    tmp_path: Path, number: int, onward: bool
) -> None:
    (tmp_path / "count").mkdir()
    calls = 0

    def count(script: Script) -> None:
        nonlocal calls
        calls = count_calls(script)

    run_and_report(count, tmp_path / "count")
    for nth in range(1, calls + 3):
        root = tmp_path / str(nth)
        root.mkdir()
        run_and_report(lambda script, nth=nth: _run_failing(script, nth, number, onward=onward), root)
        store = SessionStore(root / "sessions")
        if list(store.paths()):
            transcript = store.load(ID)
            assert message_problems(repair(transcript).messages) == []
            assert transcript.damaged_lines == 0


def _run_failing(script: Script, nth: int, number: int, *, onward: bool) -> None:
    begun = False

    def note() -> None:
        nonlocal begun
        begun = True

    inner = script._run

    async def run(spill: Path) -> None:
        note()
        await inner(spill)

    script._run = run
    with failing_at(nth, number, onward=onward):
        try:
            script()
        except SessionError:
            assert not begun, "only the start of a session may fail, never its calls"
            return
    assert len(script.replies) == 12


def test_short_writes_at_any_call_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def short(handle: int, data: Any) -> int:
        return real(handle, bytes(data)[: max(1, len(data) // 3)])

    monkeypatch.setattr(os, "write", short)
    report = run_and_report(lambda script: script(), tmp_path)
    transcript = load(tmp_path)
    assert transcript is not None
    check(transcript, report)
    assert [call.state for call in transcript.calls] == ["finished"] * 12


def test_a_short_write_before_an_error_leaves_no_half_line(tmp_path: Path) -> None:
    (tmp_path / "count").mkdir()
    writes: list[int] = []

    def note(number: int, name: str) -> None:
        if name == "write":
            writes.append(number)

    def counted(script: Script) -> None:
        with before_each_call(note):
            script()

    run_and_report(counted, tmp_path / "count")
    for nth in range(1, len(writes) + 1):
        root = tmp_path / str(nth)
        root.mkdir()
        for truncate_works in (True, False):
            place = root / str(truncate_works)
            place.mkdir()
            run_and_report(lambda script, nth=nth, works=truncate_works: _tearing(script, nth, works), place)
            transcript = load(place)
            assert transcript is not None
            assert [call.state for call in transcript.calls] == ["finished"] * 12
            assert transcript.damaged_lines == (0 if truncate_works else 1)
            assert message_problems(repair(transcript).messages) == []


def _tearing(script: Script, nth: int, truncate_works: bool) -> None:
    """Half of the nth write reaches the file, then the disk is full for one more call."""
    real_write, real_truncate = os.write, os.ftruncate
    count = 0

    def write(handle: int, data: Any) -> int:
        nonlocal count
        count += 1
        if count == nth:
            return real_write(handle, bytes(data)[: len(data) // 2])
        if count == nth + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(handle, data)

    def truncate(handle: int, length: int) -> None:
        if not truncate_works and count >= nth:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real_truncate(handle, length)

    os.write, os.ftruncate = write, truncate
    try:
        script()
    finally:
        os.write, os.ftruncate = real_write, real_truncate
    assert len(script.replies) == 12

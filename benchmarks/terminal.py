"""The terminal: the whole program in tmux, against a model on this machine that streams as told.

A key is timed from the moment tmux is told to press it until the bytes of its letter have come out of the program.
Three conditions take turns in one session after 300 KB of answers: nothing happens; a command writes 10,000 lines a
second; an answer of markdown streams at 1,200 bytes a second. The ratio that counts is against the idle keys of the
same run. The first prompt is held against `import prompt_toolkit` in the same terminal, in turns. With PEERS=1 npm's
codex does the same in a home of its own; what it leaves running is ended by its id.
"""

import asyncio
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from cold_peers import HOLDFAST, Program, codex, ours
from holdfast.testing import FakeProvider, FakeTurn, Pause, RecordedRequest
from measure import Row, row
from terminal_pane import Pane, end_those_at_home

KEYS = int(os.environ.get("BENCH_TERMINAL_KEYS", "200"))
RUNS = int(os.environ.get("BENCH_TERMINAL_RUNS", "3"))
STARTS = int(os.environ.get("BENCH_TERMINAL_STARTS", "9"))
MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
_THEIR_MARK = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
_PACE_S, _PIECE = 0.02, 24
"""1,200 bytes a second, as 50 pieces."""
_LINES = """\
import sys, time
block, at = "a line of output\\n" * {count}, time.monotonic()
while True:
    sys.stdout.write(block)
    sys.stdout.flush()
    at += 0.01
    time.sleep(max(0, at - time.monotonic()))
"""
_PARAGRAPH = (
    "The **total** of a large order is wrong, because `total` takes the discount twice. The first time happens in "
    "`subtotal`, and nobody would look for it there.\n\n- read `orders.py`\n- run the tests\n- change one line\n\n"
    "```python\ndef total(items):\n    return round(subtotal(items), 2)\n```\n\n"
)


def markdown(size: int) -> str:
    """So many bytes of an answer as models write it."""
    return (_PARAGRAPH * (size // len(_PARAGRAPH) + 1))[:size]


class Speaker:
    """The model: what it says goes by the last words it was sent."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._count = 0

    def answer(self, request: RecordedRequest) -> FakeTurn:
        """The next answer."""
        body = request.body
        self._count += 1
        if b'"tools"' not in body:
            return self._said(["ok"])
        wish = _last_words(json.loads(body))
        if wish.startswith("say "):
            size = int(wish.split()[1])
            return self._said([markdown(size)[at : at + 400] for at in range(0, size, 400)] + ["\n\nENDED"])
        if wish.startswith("stream"):
            text = markdown(400_000)
            return self._said([text[at : at + _PIECE] for at in range(0, len(text), _PIECE)], pace_s=_PACE_S)
        if wish.startswith("lines "):
            command = f"{sys.executable} -c '{_LINES.format(count=int(wish.split()[1]) // 100)}'"
            return FakeTurn(raw=list(self.program.answers(self._count, command)), content_type="text/event-stream")
        return self._said(["ok"])

    def _said(self, pieces: list[str], *, pace_s: float = 0.0) -> FakeTurn:
        raw: Any = self._stream(pieces, pace_s)
        return FakeTurn(raw=raw, content_type="text/event-stream")

    def _stream(self, pieces: list[str], pace_s: float) -> Iterator[bytes | Pause]:
        first, *rest = self.program.answers(self._count, None)
        head, tail = (first, rest) if self.program.name == "codex" else (first + rest[0], rest[1:])
        yield head
        if self.program.name == "codex":
            yield _event("response.output_item.added", {"output_index": 0, "item": _message(self._count, "")})
        for piece in pieces:
            if pace_s:
                yield Pause(pace_s)
            yield _delta(self.program.name, piece, self._count)
        if self.program.name == "codex":
            yield _done(self._count, "".join(pieces))
            yield tail[-1]
        else:
            yield from tail[1:]


def _last_words(body: dict[str, Any]) -> str:
    """What the person said last; nothing where a result came after it."""
    messages: list[Any] = body.get("messages") or body.get("input") or []
    content: Any = messages[-1].get("content") if messages else ""
    if isinstance(content, str):
        return content
    blocks = cast("list[dict[str, Any]]", content or [])
    words = [str(block["text"]) for block in blocks if block.get("type") in ("text", "input_text")]
    return next((text for text in reversed(words) if text.startswith(("say ", "stream", "lines "))), "")


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps({"type": kind, **data}).encode())


def _delta(name: str, text: str, number: int) -> bytes:
    if name == "codex":
        place = {"item_id": f"m{number}", "output_index": 0, "content_index": 0}
        return _event("response.output_text.delta", {**place, "delta": text})
    return _event("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})


def _done(number: int, text: str) -> bytes:
    return _event("response.output_item.done", {"output_index": 0, "item": _message(number, text)})


def _message(number: int, text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}] if text else []
    return {"type": "message", "role": "assistant", "id": f"m{number}", "content": content}


class Model:
    """Passes every request to the one who speaks now."""

    speaker: Speaker

    def answer(self, request: RecordedRequest) -> FakeTurn:
        """The next answer."""
        return self.speaker.answer(request)


@contextmanager
def served(model: Model) -> Generator[str]:
    """A model's server on a thread of its own; its address."""
    loop = asyncio.new_event_loop()
    provider = FakeProvider(then=model.answer)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(provider.__aenter__(), loop).result(30)
    try:
        yield provider.url
    finally:
        asyncio.run_coroutine_threadsafe(provider.__aexit__(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def our_session(place: Path, url: str) -> Program:
    """`holdfast` in a trusted repository with instructions and rules."""
    program = ours(place, url)
    words = ["--model", "anthropic:claude-sonnet-5", "--permission-mode", "bypassPermissions"]
    return program._replace(argv=[HOLDFAST, *words])


class Figures:
    """What was measured of one program."""

    def __init__(self) -> None:
        self.first_s: list[float] = []
        self.typed_s: list[float] = []
        """Until a letter that was typed as soon as the prompt stood there was on the screen."""
        self.echo_ms: dict[str, list[list[float]]] = {}
        self.wrong = 0
        self.bytes_a_second: list[float] = []
        self.answer_mb: list[float] = []
        self.million_mb: list[float] = []

    def median(self, case: str) -> float:
        """The median of all keys of a case."""
        return statistics.median(value for run in self.echo_ms[case] for value in run)

    def p90(self, case: str) -> float:
        """Nine of ten keys were as fast."""
        return statistics.quantiles((value for run in self.echo_ms[case] for value in run), n=10)[8]


def watch(program: Program, place: Path, work: Path, mark: str, found: Figures, *, whole: bool = True) -> None:
    """One session: its keys in every condition, what it sends, what it keeps."""
    with Pane(place, program.argv, program.environment, work) as pane:
        found.first_s.append(pane.start(mark))
        time.sleep(4.0)
        _answered(pane, "say 300000")
        _note(pane, "idle", found)
        if whole:
            pane.say("lines 10000")
            time.sleep(2.0)
            _note(pane, "10,000 lines/s", found)
            pane.press("Escape")
            time.sleep(2.0)
        pane.say("stream")
        time.sleep(2.0)
        before, at = pane.sent, time.perf_counter()
        time.sleep(6.0)
        found.bytes_a_second.append((pane.sent - before) / (time.perf_counter() - at))
        _note(pane, "stream", found)
        pane.press("Escape")
        time.sleep(1.0)
    for _ in range(0 if whole else STARTS):
        with Pane(place, program.argv, program.environment, work) as pane:
            _started(pane, mark, found)
    if whole:
        _keeps(program, place, work, mark, found)


def _started(pane: Pane, mark: str, found: Figures) -> None:
    began = time.perf_counter()
    found.first_s.append(pane.start(mark))
    pane.echoes(1)
    found.typed_s.append(time.perf_counter() - began - 0.3)  # it waits so long behind the letter


def _keeps(program: Program, place: Path, work: Path, mark: str, found: Figures) -> None:
    """What a session keeps of 800 KB and of a flood."""
    with Pane(place, program.argv, program.environment, work) as pane:
        pane.start(mark)
        time.sleep(2.0)
        began_mb = pane.memory_mb()
        _answered(pane, "say 800000")
        found.answer_mb.append(pane.memory_mb() - began_mb)
        before_mb = pane.memory_mb()
        pane.say("lines 1000000")
        time.sleep(5.0)
        _note(pane, "1,000,000 lines/s", found)
        found.million_mb.append(pane.memory_mb() - before_mb)
        pane.press("Escape")
        time.sleep(1.0)


def _answered(pane: Pane, wish: str) -> None:
    pane.forget()
    pane.say(wish)
    for _ in range(30):
        with suppress(TimeoutError):
            pane.until("ENDED", limit_s=5)
            break
        pane.press("Enter")  # a peer that had not begun yet let the first one go by
    time.sleep(1.0)


def _note(pane: Pane, case: str, found: Figures) -> None:
    times, wrong = pane.echoes(KEYS)
    found.echo_ms.setdefault(case, []).append(times)
    found.wrong += wrong


def starts(program: Program, place: Path, work: Path) -> tuple[list[float], list[float]]:
    """The first prompt, and the import of its library, in turns."""
    mine: list[float] = []
    floor: list[float] = []
    words = [sys.executable, "-c", f"import prompt_toolkit; print({MARK!r}); input()"]
    for number in range(STARTS + 1):
        with Pane(place, program.argv, program.environment, work) as pane:
            took = pane.start(MARK)
        with Pane(place, words, program.environment, work) as pane:
            least = pane.start(MARK)
        if number:  # the first warms the disk
            mine.append(took)
            floor.append(least)
    return mine, floor


def rows(*, with_peers: bool = False) -> list[Row]:
    """All of them; with peers only those that hold us against codex."""
    with TemporaryDirectory(prefix="hf-") as name:
        place, model = Path(name), Model()
        with served(model) as url:
            program, found = our_session(place, url), Figures()
            model.speaker = Speaker(program)
            if with_peers:
                return _against_codex(place, url, model, program)
            for _ in range(RUNS):
                watch(program, place, place / "work", MARK, found)
            mine, floor = starts(program, place, place / "work")
    return _rows(found, mine, floor)


def _against_codex(place: Path, url: str, model: Model, program: Program) -> list[Row]:
    theirs = codex(place, url)
    if theirs is None:
        return []
    home, work = place / "codex-home", place / "work"
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write(f'[projects."{work}"]\ntrust_level = "trusted"\n')
    theirs = theirs._replace(argv=theirs.argv[:1])
    mine, other = Figures(), Figures()
    for _ in range(RUNS):
        model.speaker = Speaker(program)
        watch(program, place, work, MARK, mine, whole=False)
        model.speaker = Speaker(theirs)
        try:
            watch(theirs, place, work, _THEIR_MARK, other, whole=False)
        finally:
            end_those_at_home(home)
    pairs = [
        ("first prompt", statistics.median(mine.first_s) * 1000, statistics.median(other.first_s) * 1000, "ms"),
        ("first letter typed", statistics.median(mine.typed_s) * 1000, statistics.median(other.typed_s) * 1000, "ms"),
        ("key to echo, idle", mine.median("idle"), other.median("idle"), "ms"),
        ("key to echo, stream", mine.median("stream"), other.median("stream"), "ms"),
        ("nine of ten, stream", mine.p90("stream"), other.p90("stream"), "ms"),
        (
            "sent while an answer streams",
            statistics.median(mine.bytes_a_second) / 1000,
            statistics.median(other.bytes_a_second) / 1000,
            "KB/s",
        ),
    ]
    return [row(what, us, them, unit=unit, limit=1.0, against="codex") for what, us, them, unit in pairs]


def _rows(found: Figures, mine: list[float], floor: list[float]) -> list[Row]:
    made = [
        row(
            "first prompt",
            statistics.median(mine) * 1000,
            statistics.median(floor) * 1000,
            unit="ms",
            limit=2.0,
            against="import prompt_toolkit",
        )
    ]
    for case in ("10,000 lines/s", "stream", "1,000,000 lines/s"):
        against = f"idle: {found.p90('idle'):.0f} ms for nine of ten"
        made += [
            row(f"key to echo, {case}", found.median(case), found.median("idle"), unit="ms", limit=3.0, against="idle"),
            row(f"nine of ten, {case}", found.p90(case), found.p90("idle"), unit="ms", limit=6.0, against=against),
        ]
        made.append(row(f"median in ms, {case}", found.median(case), 50.0, unit="ms", limit=1.0, against="50 ms"))
        made.append(row(f"nine of ten in ms, {case}", found.p90(case), 100.0, unit="ms", limit=1.0, against="100 ms"))
    made += [
        row("keys lost or moved", found.wrong, 1.0, unit="lines", limit=0.0, against="none"),
        row("kept of an 800 KB answer", max(found.answer_mb), 20.0, unit="MB", limit=1.0, against="20 MB"),
        row("kept of a flood", max(found.million_mb), 20.0, unit="MB", limit=1.0, against="20 MB"),
        row(
            "sent while an answer streams",
            statistics.median(found.bytes_a_second) / 1000,
            1.2,
            unit="KB/s",
            limit=20.0,
            against="the answer's own bytes",
        ),
    ]
    return made

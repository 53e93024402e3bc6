"""`holdfast -p` as a real process when the provider misbehaves, costs too much, or the folder's words do not count."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.testing import FakeProvider, FakeTurn, error_turn

HELLO = FakeTurn(blocks=[{"type": "text", "text": "hi"}])
CALL = FakeTurn(blocks=[{"type": "tool_use", "id": "1", "name": "Glob", "input": {"pattern": "*"}}])


class Ended(NamedTuple):
    code: int | None
    out: str
    err: str
    requests: int


async def start(provider: FakeProvider, place: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast", "-p", "x", "--model", "anthropic:claude-sonnet-4-5", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place,
        env={**os.environ, "ANTHROPIC_API_KEY": "key-a", "ANTHROPIC_BASE_URL": provider.url},
    )


def ask(place: Path, *turns: FakeTurn, words: tuple[str, ...] = ()) -> Ended:
    async def scene() -> Ended:
        async with FakeProvider(turns) as provider:
            process = await start(provider, place, *words)
            try:
                out, err = await asyncio.wait_for(process.communicate(), 60)
            finally:
                if process.returncode is None:
                    process.kill()
            return Ended(process.returncode, out.decode(), err.decode(), len(provider.requests))

    return asyncio.run(asyncio.wait_for(scene(), 90))


class Endless:
    """The body of an answer that never ends, and how much of it was taken."""

    def __init__(self, enough_bytes: int) -> None:
        self.sent_bytes = 0
        self._enough_bytes = enough_bytes
        self.flows = asyncio.Event()
        """Set when the client has taken enough to be in the midst of it."""

    def __iter__(self) -> Iterator[bytes]:
        message = {"type": "message_start", "message": {"id": "m", "model": "x"}}
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word " * 50}}
        for event in (message, block):
            yield f"data: {json.dumps(event)}\n\n".encode()
        piece = f"data: {json.dumps(delta)}\n\n".encode() * 40
        while True:
            self.sent_bytes += len(piece)
            if self.sent_bytes > self._enough_bytes:
                self.flows.set()
            yield piece


@pytest.mark.parametrize("form", ["text", "stream-json"])
def test_the_first_signal_ends_a_run_whose_answer_never_ends(tmp_path: Path, form: str) -> None:
    async def scene() -> tuple[int, int]:
        endless = Endless(16 << 20)
        async with FakeProvider([FakeTurn(raw=endless)]) as provider:  # pyright: ignore[reportArgumentType] - it is gone through once
            process = await start(provider, tmp_path, "--output-format", form)
            try:
                await asyncio.wait_for(endless.flows.wait(), 60)
                at_bytes = endless.sent_bytes
                process.send_signal(signal.SIGTERM)
                await asyncio.wait_for(process.communicate(), 60)
            finally:
                if process.returncode is None:
                    process.kill()
            assert process.returncode is not None
            return process.returncode, endless.sent_bytes - at_bytes

    code, later_bytes = asyncio.run(asyncio.wait_for(scene(), 90))
    assert code == 128 + signal.SIGTERM
    assert later_bytes < 24 << 20, "what was on its way in the buffers of the system, and no more"


def test_an_attempt_that_failed_is_told_and_the_next_one_counts(tmp_path: Path) -> None:
    busy = error_turn(529, "overloaded_error", "Over\x1b[2Jloaded", retry_after="0")
    ended = ask(tmp_path, busy, HELLO)
    assert (ended.code, ended.out, ended.requests) == (0, "hi\n", 2)
    (line,) = ended.err.splitlines()
    assert line.startswith("holdfast: attempt 1 failed, the next in 0.0 s: ")
    assert "Over" in line
    assert "\x1b" not in line


def test_a_server_that_is_broken_for_good_is_asked_three_times(tmp_path: Path) -> None:
    broken = error_turn(500, "api_error", "no idea", retry_after="0")
    ended = ask(tmp_path, *[broken] * 9)
    assert (ended.code, ended.out, ended.requests) == (1, "", 3)
    assert [line.split(":")[1].split(",")[0] for line in ended.err.splitlines()[:2]] == [
        " attempt 1 failed",
        " attempt 2 failed",
    ]
    assert "no idea" in ended.err.splitlines()[-1]


def test_a_budget_that_is_spent_is_told_in_words(tmp_path: Path) -> None:
    ended = ask(tmp_path, CALL, HELLO, words=("--max-budget-usd", "0.00001"))
    assert (ended.code, ended.requests) == (1, 1)
    told = "holdfast: The run has cost 0.000105 USD, and its budget is 0.00001 USD; give it more to go on."
    assert told in ended.err.splitlines()


def test_instructions_of_a_folder_without_trust_are_one_line(tmp_path: Path) -> None:
    for name in ("CLAUDE.md", "AGENTS.md"):
        (tmp_path / name).write_text("Sing.", encoding="utf-8")
    ended = ask(tmp_path, HELLO)
    (line,) = ended.err.splitlines()
    assert "is not trusted, so what it brings is not in force: instructions (2)." in line
    assert "`holdfast trust`" in line

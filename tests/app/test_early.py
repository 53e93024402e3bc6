"""Beside the first request: the session that remembers the prompt, and the answer that is nothing but words."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.early import Early
from holdfast.app.words import words_of
from holdfast.models.interface import (
    BlockEnded,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolUseStarted,
    Usage,
)
from holdfast.session import SessionError, user_store
from holdfast.testing import FakeProvider, FakeTurn, error_turn

WORD = {"type": "text", "text": "Hello, Wörld \U0001f600"}
NEVER_LOADED = "from holdfast.app import early\nearly.Early._load = lambda self: None\n"
NEVER_IN_WORDS = (
    "from holdfast.cli import headless\n"
    "async def no(*_):\n    return False\n"
    "headless.Headless._answered_in_words = no\n"
)
RUN = "import sys\nfrom holdfast.cli.main import run\nsys.exit(run(['-p', 'hi', '--model', sys.argv[1]]))\n"


class Ran(NamedTuple):
    code: int | None
    out: str
    err: str
    journal: list[str]
    requests: int


def ran(home: Path, place: Path, turns: list[FakeTurn], *, patch: str = "", model: str = "anthropic:claude-x") -> Ran:
    """One `holdfast -p hi` with a home of its own."""
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "OTEL_"))}

    async def scene() -> Ran:
        async with FakeProvider(turns) as provider:
            own = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "HOME": str(home)}
            urls = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", patch + RUN, model),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=place,
                env={**kept, **own, **urls},
            )
            try:
                out, err = await asyncio.wait_for(process.communicate(), 60)
            finally:
                if process.returncode is None:
                    process.kill()
                    await asyncio.wait_for(process.wait(), 30)
            lines = [line for path in home.rglob("journal.jsonl") for line in path.read_text("utf-8").splitlines()]
            return Ran(process.returncode, out.decode(), err.decode(), list(map(plain, lines)), len(provider.requests))

    return asyncio.run(asyncio.wait_for(scene(), 90))


def plain(line: str) -> str:
    """A line without what differs from run to run."""
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "(uuid)", line)
    return re.sub(r'"(time|created_at)":[0-9.]+', r'"\1":0', line)


@pytest.mark.parametrize("model", ["anthropic:claude-x", "openai:x"])
@pytest.mark.parametrize(
    "turn",
    [
        FakeTurn(blocks=[WORD], usage={"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 3}),
        FakeTurn(blocks=[{"type": "text", "text": "One."}, {"type": "text", "text": "Two.\n"}]),
    ],
    ids=["a word", "two blocks"],
)
def test_an_answer_in_words_is_told_and_kept_as_the_loop_does_it(tmp_path: Path, turn: FakeTurn, model: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "CLAUDE.md").write_text("Be kind.", encoding="utf-8")
    quick = ran(tmp_path / "quick", tmp_path / "work", [turn], patch=NEVER_LOADED, model=model)
    whole = ran(tmp_path / "whole", tmp_path / "work", [turn], patch=NEVER_IN_WORDS, model=model)
    assert quick == whole
    assert (quick.code, quick.requests) == (0, 1)
    assert quick.out == "".join(block["text"] for block in turn.content) + "\n"
    assert "is not trusted" in quick.err
    assert [json.loads(line)["type"] for line in quick.journal if '"at"' not in line] == [
        *("session", "note", "message", "message", "turn_ended", "session_closed")
    ]


@pytest.mark.parametrize(
    ("turns", "out"),
    [
        ([FakeTurn(blocks=[{"type": "thinking", "thinking": "Hm.", "signature": "s"}, WORD])], "Hello"),
        ([FakeTurn(blocks=[WORD], stop_reason="max_tokens"), FakeTurn(blocks=[{"type": "text", "text": "!"}])], "!\n"),
        ([error_turn(529, "overloaded_error", "busy", retry_after="0"), FakeTurn(blocks=[WORD])], "Hello"),
        ([FakeTurn(blocks=[{"type": "text", "text": " "}]), FakeTurn(blocks=[WORD])], "Hello"),
        (
            [
                FakeTurn(blocks=[{"type": "tool_use", "id": "1", "name": "Glob", "input": {"pattern": "*.py"}}]),
                FakeTurn(blocks=[WORD]),
            ],
            "Hello",
        ),
    ],
    ids=["thoughts", "cut", "refused", "blank", "a call"],
)
def test_anything_else_is_for_the_loop(tmp_path: Path, turns: list[FakeTurn], out: str) -> None:
    (tmp_path / "work").mkdir()
    whole = ran(tmp_path / "whole", tmp_path / "work", turns)
    assert (whole.code, whole.requests) == (0, len(turns)), whole.err
    assert out in whole.out
    assert sum('"prompt_queued"' in line for line in whole.journal) == 1
    assert sum('"delivers_queued":true' in line for line in whole.journal) == 1


def test_a_crash_while_the_model_thinks_leaves_the_prompt_waiting(tmp_path: Path) -> None:
    async def scene() -> None:
        early = Early(str(tmp_path), SessionChoice(session_id="s-1"), "Do it.", ["json"])
        beginning = await early.beginning()
        assert beginning.waiting == ({"content": "Do it.", "source": "user"},)
        found = user_store().load("s-1")
        assert found.queued == [{"content": "Do it.", "source": "user"}], "though nothing was closed"
        await early.loaded
        await early.close()
        assert user_store().load("s-1").closed

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_whoever_took_the_session_over_closes_it_and_a_taken_name_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        early = Early(str(tmp_path), SessionChoice(session_id="s-1"), "one", [])
        session = (await early.beginning()).session
        assert session is not None
        early.hand_over()
        await early.close()
        again = Early(str(tmp_path), SessionChoice(session_id="s-1"), "two", [])
        with pytest.raises(SessionError, match="is taken"):
            await again.beginning()
        await again.close()
        without = Early(str(tmp_path), NEW_SESSION._replace(is_kept=False), "three", [])
        assert (await without.beginning()).session is None
        await without.close()
        session.close()

    before = sys.getswitchinterval()
    asyncio.run(asyncio.wait_for(scene(), 30))
    assert sys.getswitchinterval() == before


START = StreamStarted("m", "x", Usage(3))
END = StreamEnded("end_turn", Usage(3, 4))


def ended(**block: Any) -> BlockEnded:
    return BlockEnded(0, {"type": "text", **block})


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START],
        [START, ended(text="a")],
        [START, END],
        [START, ended(text=" "), END],
        [START, ended(text="a", citations=[{"type": "x"}]), END],
        [START, ThinkingDelta(0, "h"), ended(text="a"), END],
        [START, ToolUseStarted(0, "1", "Bash"), ended(text="a"), END],
        [START, ended(text="a"), BlockEnded(1, {"type": "tool_use"}), END],
        [START, ended(text="a"), StreamEnded("max_tokens")],
        [START, ended(text="a"), StreamEnded("refusal")],
        [START, ended(text="a"), END, TextDelta(0, "more")],
        [ended(text="a"), END],
    ],
)
def test_only_a_whole_answer_of_words_is_one(events: list[StreamEvent]) -> None:
    assert words_of(events) is None


def test_the_words_are_told_with_what_they_cost() -> None:
    found = words_of([START, TextDelta(0, "a"), ended(text="a"), StreamEnded("end_turn")])
    assert found is not None
    assert (found.text, found.model, found.message_id, found.usage) == ("a", "x", "m", Usage(3))

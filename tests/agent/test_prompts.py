from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.agent import Loop, LoopParts
from holdfast.agent.prompts import PromptQueue
from holdfast.engine import Executor
from holdfast.events import Event, ModelRequested, PromptSubmitted
from holdfast.session import Session, SessionStore
from holdfast.session.repair import repair
from holdfast.testing.clock import run_virtual
from holdfast.testing.loops import read_run
from holdfast.testing.planned import PlannedModel, answer, call, words
from holdfast.testing.scripted import ScriptedTool


def test_users_come_first_and_everything_is_told_once() -> None:
    queue = PromptQueue()
    queue.put("task", "task")
    queue.put("one")
    queue.put("two")
    assert [prompt.content for prompt in queue.take_all()] == ["one", "two", "task"]
    assert queue.take_all() == []


def told(model: PlannedModel, request: int = 0) -> list[str]:
    return [block["text"] for block in model.requests[request].messages[-1]["content"] if block["type"] == "text"]


@asynccontextmanager
async def one_call_long(session: Session) -> AsyncGenerator[Loop]:
    """An agent whose model makes one call, and then says that it is done."""
    async with Executor([ScriptedTool()], permission_mode="bypassPermissions", on_event=session.journal) as executor:
        model = PlannedModel(answer(call("a", "Scripted", {})), answer(words("ok")))
        yield Loop(executor, model, LoopParts(journal=session.journal))


def resumed(store: SessionStore, id_: str, *, fork: bool = False) -> tuple[PlannedModel, list[Event]]:
    """Go on in another process, so to speak."""
    session, transcript = store.fork(id_, "/") if fork else store.resume(id_)
    model = PlannedModel(answer(words("ok")))

    async def body() -> list[Event]:
        async with Executor([ScriptedTool()], on_event=session.journal) as executor:
            history = repair(transcript).messages
            loop = Loop(executor, model, LoopParts(journal=session.journal, history=history, queued=transcript.queued))
            return await read_run(loop, "now")

    events = run_virtual(body())
    session.close()
    return model, events


def crashed(store: SessionStore, root: Path) -> str:
    """A session whose process dies while a call runs; nothing is closed in order but the lock."""
    session = store.create(str(root))

    async def body() -> None:
        async with one_call_long(session) as loop:
            loop.submit("in time")
            await read_run(loop)
            loop.submit("first, later")
            loop.submit([{"type": "text", "text": "second, later"}])
            loop.submit("a task has ended", "task")

    run_virtual(body())
    session.close()
    return session.id


def test_what_was_queued_is_told_once_after_a_crash_in_order_before_the_next_prompt(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    id_ = crashed(store, tmp_path)
    model, events = resumed(store, id_)
    assert told(model)[:3] == ["first, later", "second, later", "now"]
    assert "a task has ended" in told(model)[3]
    assert [event.source for event in events if isinstance(event, PromptSubmitted)] == ["user", "user", "user", "task"]
    again, _ = resumed(store, id_)
    assert told(again) == ["now"]


def test_a_fork_leaves_the_queue_to_the_first_session(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    id_ = crashed(store, tmp_path)
    model, _ = resumed(store, id_, fork=True)
    assert told(model) == ["now"]
    assert told(resumed(store, id_)[0])[0] == "first, later"


def test_a_crash_before_the_message_is_written_repeats_it_and_one_after_does_not(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.create(str(tmp_path))
    seen: list[int] = []

    async def body() -> None:
        async with one_call_long(session) as loop:

            async def look(event: Event) -> None:
                if isinstance(event, ModelRequested):
                    if event.turn == 1:
                        loop.submit("meanwhile")
                    seen.append(len(store.load(session.id).queued))

            await read_run(loop, on_event=look)

    run_virtual(body())
    session.close()
    assert seen == [1, 0]


@pytest.mark.parametrize("content", [None, "", 7, [], [{"type": "tool_use"}], [7]])
def test_a_damaged_note_in_the_journal_is_left_out(content: Any) -> None:
    queue = PromptQueue()
    queue.restore([{"content": content, "source": "nobody"}, {"content": "good"}, {}])
    assert [(prompt.content, prompt.source) for prompt in queue.take_all()] == [("good", "user")]

from pathlib import Path

import pytest

from holdfast.agent import Loop, LoopParts, Message
from holdfast.agent.thoughts import Thoughts
from holdfast.engine import Executor
from holdfast.models import BlockEnded, ModelRequest
from holdfast.session import SessionStore
from holdfast.session.repair import repair
from holdfast.session.validity import message_problems
from holdfast.testing.clock import run_virtual
from holdfast.testing.loops import read_run
from holdfast.testing.planned import PlannedModel, Step, answer, call, words
from holdfast.testing.scripted import ScriptedTool


def thought(signature: str) -> list[Step]:
    return [BlockEnded(0, {"type": "thinking", "thinking": "hmm", "signature": signature})]


def signatures(request: ModelRequest) -> list[str]:
    return [block["signature"] for message in request.messages for block in message["content"] if "signature" in block]


def said(signature: str) -> Message:
    blocks = [{"type": "thinking", "thinking": "hmm", "signature": signature}, {"type": "text", "text": "so"}]
    return {"role": "assistant", "content": blocks}


@pytest.mark.parametrize(
    ("author", "asked", "is_own"),
    [
        ("anthropic:claude-x", "anthropic:claude-x", True),
        ("claude-x-20260101", "anthropic:claude-x", True),
        ("anthropic:claude-x", "gateway:vendor/Claude-X@20260101", True),
        ("anthropic:claude-x-latest", "anthropic:claude-x", True),
        ("anthropic:claude-x", "anthropic:claude-y", False),
        ("anthropic:claude-x-5", "anthropic:claude-x", False),
        ("", "anthropic:claude-x", False),
    ],
)
def test_a_thought_goes_back_to_its_model_under_any_of_its_names(author: str, asked: str, *, is_own: bool) -> None:
    thoughts = Thoughts()
    thoughts.note(said("s")["content"], author)
    kept = thoughts.only_of(asked, [said("s")])[0]["content"]
    assert [block["type"] for block in kept] == ["thinking", "text"][1 - is_own :]


def test_a_resumed_session_gives_each_model_only_its_own_thoughts(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.create(str(tmp_path))
    again = PlannedModel(answer(words("ok")), name="planned:one")
    other = PlannedModel(answer(words("ok")), name="planned:two")

    async def first() -> None:
        async with Executor(
            [ScriptedTool()], permission_mode="bypassPermissions", on_event=session.journal
        ) as executor:
            one = PlannedModel(answer(thought("1"), call("a", "Scripted", {})), answer(words("x")), name="planned:one")
            loop = Loop(executor, one, LoopParts(journal=session.journal))
            await read_run(loop)
            loop.model = PlannedModel(answer(thought("2"), words("y")), name="planned:two")
            await read_run(loop, "and?")
            # A compaction keeps blocks, but not who said them.
            session.journal.record_note("compaction", {"messages": list(loop.history)})

    async def resumed(model: PlannedModel) -> None:
        transcript = store.load(session.id)
        async with Executor([ScriptedTool()]) as executor:
            thoughts = Thoughts.remembered(transcript)
            await read_run(
                Loop(executor, model, LoopParts(history=repair(transcript).messages, thoughts=thoughts)), "now"
            )

    run_virtual(first())
    session.close()
    for model in (again, other):
        run_virtual(resumed(model))
        assert message_problems(model.requests[0].messages) == []
    assert signatures(again.requests[0]) == ["1"]
    assert signatures(other.requests[0]) == ["2"]

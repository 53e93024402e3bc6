"""A call that a hook left for later: the run ends without its reply, and a resumed run makes it first."""

from typing import Any, cast

from holdfast.agent.history import Block, Message, blocks_of, result_block
from holdfast.agent.notes import NO_RESULT
from holdfast.agent.state import LoopState
from holdfast.agent.turn import Answer
from holdfast.events import CallFinished
from holdfast.session.records import DEFERRED, TITLE

__all__ = ["left_for_later", "make_deferred", "split_deferred"]


def left_for_later(state: LoopState, answer: Answer) -> dict[str, Any] | None:
    """The one call of this answer that a hook left for later; it stays unanswered. None: there is none."""
    left = state.executor.call_hooks.deferred
    if left is None or len(answer.calls) != 1:
        return None
    answer.is_closed = True
    found = {"id": left.id, "name": left.name, "input": left.raw}
    _leave(state, answer.blocks, found)
    return found


async def make_deferred(state: LoopState) -> tuple[dict[str, Any] | None, list[Block]]:
    """Make the call that an earlier run left: the call if it is left again, else its result, now in the history."""
    blocks, state.deferred = state.deferred, []
    use = next((block for block in blocks if block.get("type") == "tool_use"), None)
    if use is None:
        return None, []
    executor = state.executor
    executor.add(use)
    replies = [event async for event in executor.results() if type(event) is CallFinished]
    if executor.call_hooks.deferred is not None:
        found = {name: use[name] for name in ("id", "name", "input")}
        _leave(state, blocks, found)
        return found, []
    reply = replies[-1] if replies else None
    told = NO_RESULT if reply is None else reply.content
    result = result_block(str(use["id"]), told, is_error=reply is None or reply.is_error)
    state.history.add_assistant(blocks)
    state.history.add_user([result])
    state.record("user", [result])
    executor.end_turn()
    return None, [result]


def split_deferred(messages: list[Message], notes: list[Any]) -> tuple[list[Message], list[Block]]:
    """The history of a resumed session without the call that was left, and the answer that wants it."""
    notes = [note for note in notes if note.kind != TITLE]  # a name says nothing about what is left to do
    if not notes or notes[-1].kind != DEFERRED or len(messages) < 2 or messages[-2]["role"] != "assistant":
        return messages, []
    data: Any = notes[-1].data
    wanted = cast("dict[str, Any]", data).get("id") if isinstance(data, dict) else None
    blocks = blocks_of(messages[-2])
    if [block.get("id") for block in blocks if block.get("type") == "tool_use"] != [wanted]:
        return messages, []
    if any(block.get("type") != "tool_result" for block in blocks_of(messages[-1])):
        return messages, []
    return messages[:-2], blocks


def _leave(state: LoopState, blocks: list[Block], call: dict[str, Any]) -> None:
    state.deferred = blocks
    if state.journal is not None:
        state.journal.record_note(DEFERRED, call)
    state.executor.end_turn()

"""What was said before, told again to an editor that opens an old session."""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.acp.content import text_block
from holdfast.acp.tool_calls import ToolCalls
from holdfast.events import CallFinished

__all__ = ["told_again"]

Fields = dict[str, Any]
_OURS = "<system-reminder>"


def told_again(history: Sequence[Fields], calls: ToolCalls) -> Iterator[Fields]:
    """The updates of a whole conversation, in order; what we told the model beside it is left out."""
    names: dict[str, str] = {}
    for message in history:
        is_user = message.get("role") == "user"
        for block in _blocks(message.get("content")):
            kind = block.get("type")
            if kind == "text" and not str(block.get("text", "")).startswith(_OURS):
                yield _chunk("user_message_chunk" if is_user else "agent_message_chunk", str(block.get("text", "")))
            elif kind == "thinking":
                yield _chunk("agent_thought_chunk", str(block.get("thinking", "")))
            elif kind == "tool_use":
                names[str(block.get("id"))] = str(block.get("name"))
                begun = calls.begin(str(block.get("id")), str(block.get("name")), block.get("input"))
                yield {"sessionUpdate": "tool_call", **begun}
            elif kind == "tool_result":
                id_ = str(block.get("tool_use_id"))
                content: Any = block.get("content") or ""
                reply = CallFinished(id_, names.get(id_, ""), content, is_error=block.get("is_error") is True)
                yield {"sessionUpdate": "tool_call_update", **calls.finish(reply)}


def _blocks(content: Any) -> list[Fields]:
    return [text_block(content)] if isinstance(content, str) else list(content or ())


def _chunk(kind: str, text: str) -> Fields:
    return {"sessionUpdate": kind, "content": text_block(text)}

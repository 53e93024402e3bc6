"""Ways to make a conversation shorter that keep it valid: every call with its result, user and assistant in turn."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from holdfast.agent import notes
from holdfast.agent.history import Block, Message, blocks_of
from holdfast.events import encode_json
from holdfast.models.tokens import estimate_block_tokens

__all__ = ["drop_oldest", "message_tokens", "pending_start", "recent_start", "squeeze", "trim_results", "user_words"]

_TRIMMED = "[Removed to save room: "
_CUT = "\n[… cut here to save room …]\n"
_WORTH_TOKENS = 100
"""A shorter result costs hardly more than the note in its place."""
_SHOWN_INPUT_CHARS = 200
_LONGEST_WORDS = 3_000
"""So much of one prompt is carried through summaries: its beginning and its end."""
_SQUEEZES = (20_000, 8_000, 2_000, 500)


def message_tokens(message: Message) -> int:
    """About how many tokens a message is."""
    return sum(map(estimate_block_tokens, blocks_of(message)))


def recent_start(messages: Sequence[Message], tokens: int) -> int:
    """Where the last turns begin that are together no longer than this: at an assistant's message, or at the end."""
    start, used = len(messages), 0
    for index in range(len(messages) - 1, -1, -1):
        used += message_tokens(messages[index])
        if used > tokens:
            break
        if messages[index]["role"] == "assistant":
            start = index
    return start


def pending_start(messages: Sequence[Message]) -> int:
    """Where the part begins that the model has not answered yet, with the calls whose results it holds."""
    if not messages or messages[-1]["role"] == "assistant":
        return len(messages)
    has_results = any(block.get("type") == "tool_result" for block in blocks_of(messages[-1]))
    return len(messages) - (2 if has_results else 1)


def trim_results(messages: Sequence[Message], end: int, spilled: Mapping[str, str]) -> list[Message]:
    """With a note in place of each long result before `end`, which says how to see it again."""
    calls: dict[str, Block] = {}
    trimmed = list(messages)
    for index, message in enumerate(messages[:end]):
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            calls.update((block["id"], block) for block in blocks if block.get("type") == "tool_use")
        elif any(block.get("type") == "tool_result" for block in blocks):
            trimmed[index] = {"role": "user", "content": [_trimmed(block, calls, spilled) for block in blocks]}
    return trimmed


def squeeze(messages: Sequence[Message], tokens: int) -> list[Message]:
    """With the middle of long results cut out, more and more, until the whole is no longer than this if it can be."""
    squeezed = list(messages)
    for limit in _SQUEEZES:
        if sum(map(message_tokens, squeezed)) <= tokens:
            break
        squeezed = [
            {"role": message["role"], "content": [_squeezed(block, limit) for block in blocks_of(message)]}
            for message in squeezed
        ]
    return squeezed


def drop_oldest(messages: Sequence[Message], start: int) -> list[Message]:
    """From `start` on, with a word about what is missing; `start` moves on to a place where that is allowed."""
    while start < len(messages) and messages[start]["role"] != "assistant":
        start += 1
    note: Message = {"role": "user", "content": [{"type": "text", "text": notes.DROPPED}]}
    return [note, *messages[start:]]


def user_words(messages: Sequence[Message], limit_chars: int = 8_000) -> list[str]:
    """What people said, word for word, oldest first: the first prompt always, and the newest that fit.

    One long text loses its middle, so that it does not drive out the others.
    """
    said = [
        _shortened(text, _LONGEST_WORDS)
        for message in messages
        if message["role"] == "user"
        for block in blocks_of(message)
        if block.get("type") == "text" and (text := block["text"].strip()) and not text.startswith(notes.OWN_WORDS)
    ]
    if not said:
        return []
    left = limit_chars - len(said[0])
    start = len(said)
    while start > 1 and len(said[start - 1]) <= left:
        start -= 1
        left -= len(said[start])
    return [said[0], *([notes.WORDS_LEFT_OUT] if start > 1 else []), *said[start:]]


def _trimmed(block: Block, calls: Mapping[str, Block], spilled: Mapping[str, str]) -> Block:
    if block.get("type") != "tool_result" or estimate_block_tokens(block) < _WORTH_TOKENS:
        return block
    id_ = block["tool_use_id"]
    call = calls.get(id_, {})
    name = call.get("name", "a tool")
    shown = encode_json(call.get("input", {})).decode()
    if len(shown) > _SHOWN_INPUT_CHARS:
        shown = shown[:_SHOWN_INPUT_CHARS] + "…"
    if id_ in spilled:
        again = f"The full text is in {spilled[id_]}; read it there."
    else:
        again = f"Call {name} again if you need it and that is safe."
    note = f"{_TRIMMED}the result of {name} {shown}. {again}]"
    kept: Block = {"type": "tool_result", "tool_use_id": id_, "content": note}
    return {**kept, "is_error": True} if block.get("is_error") else kept


def _squeezed(block: Block, limit: int) -> Block:
    if block.get("type") != "tool_result":
        return block
    content: Any = block.get("content")
    if isinstance(content, str):
        return {**block, "content": _shortened(content, limit)}
    parts: list[Block] = []
    for part in cast("list[Block]", content or []):
        if part.get("type") == "text":
            parts.append({**part, "text": _shortened(part["text"], limit)})
        elif limit <= _SQUEEZES[1]:
            parts.append({"type": "text", "text": f"{_TRIMMED}a block of type {part.get('type')}]"})
        else:
            parts.append(part)
    return {**block, "content": parts}


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit // 2] + _CUT + text[len(text) - limit // 2 :]

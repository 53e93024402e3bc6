"""The conversation as the provider takes it: always alternating, every call answered, ids used once."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.models.tokens import estimate_block_tokens
from holdfast.session.validity import ID, NAME, message_problems

__all__ = [
    "Block",
    "History",
    "Message",
    "blocks_of",
    "clean_block",
    "plain_name",
    "prompt_blocks",
    "result_block",
    "text_in",
    "without_open_thoughts",
]

Block = dict[str, Any]
Message = dict[str, Any]
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")
_THINKING = frozenset({"thinking", "redacted_thinking"})
_NOT_SAID = _THINKING | {"tool_use", "tool_result"}


class History:
    """The messages so far. A message is never changed once it is here; a longer one takes its place."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        """Take over a conversation; raises `UsageError` when a provider would refuse it."""
        problems = message_problems(messages)
        if problems:
            raise UsageError(f"this history cannot be sent to a model: {'; '.join(problems[:3])}. Repair it first.")
        self.messages: list[Message] = list(messages)
        self._ids = _call_ids(self.messages)
        self._repeats: dict[str, int] = {}
        self.tokens = _tokens_of(self.messages)
        """An estimate of the whole; the provider's own count is better where there is one."""

    @property
    def ends_with_user(self) -> bool:
        """A request can go out."""
        return bool(self.messages) and self.messages[-1]["role"] == "user"

    def add_user(self, blocks: list[Block]) -> None:
        """What the user says, or results; joins the user's last message when the model has not answered yet."""
        self._add("user", blocks)

    def add_assistant(self, blocks: list[Block]) -> None:
        """What the model said."""
        self._add("assistant", blocks)

    def replace(self, messages: list[Message]) -> None:
        """Go on with a shorter history."""
        self.messages[:] = messages
        self.tokens = _tokens_of(messages)

    def new_id(self, given: object) -> str:
        """An id for a call: the given one if it may be used and was not, else one like it."""
        plain = given if isinstance(given, str) and ID.match(given) else _NOT_PLAIN.sub("_", str(given or "call"))[:64]
        candidate = plain
        while candidate in self._ids:
            self._repeats[plain] = number = self._repeats.get(plain, 1) + 1
            candidate = f"{plain[: 63 - len(str(number))]}-{number}"
        self._ids.add(candidate)
        return candidate

    def free_ids(self, ids: Iterable[str]) -> None:
        """The calls with these ids leave without a trace."""
        self._ids.difference_update(ids)

    def _add(self, role: str, blocks: list[Block]) -> None:
        if not blocks:
            return
        messages = self.messages
        if messages and messages[-1]["role"] == role:
            messages[-1] = {"role": role, "content": [*blocks_of(messages[-1]), *blocks]}
        else:
            messages.append({"role": role, "content": blocks})
        self.tokens += sum(map(estimate_block_tokens, blocks))


def clean_block(block: Block, *, id_: str = "") -> Block | None:
    """One block of the model's answer as the provider takes it back; None when there is nothing in it."""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return {**block, "text": _encodable(text)} if isinstance(text, str) and text.strip() else None
    if kind == "tool_use":
        return {**block, "id": id_, "name": plain_name(block.get("name")), "input": _object(block.get("input"))}
    return None if kind in {"tool_result", None} else block


def prompt_blocks(content: str | Sequence[Block]) -> list[Block]:
    """What somebody says to the model, as blocks; raises `UsageError` when there is nothing in it."""
    given: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks: list[Block] = []
    for block in given:
        kind: object = cast("Block", block).get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str) or kind in _NOT_SAID:
            raise UsageError(f"a prompt cannot have a block of type {kind!r}; use text, image or document blocks")
        cleaned = clean_block(cast("Block", block))
        if cleaned is not None:
            blocks.append(cleaned)
    if not blocks:
        raise UsageError("the prompt is empty; say what to do")
    return blocks


def result_block(id_: str, content: str | list[Block], *, is_error: bool) -> Block:
    """The reply to one call."""
    if isinstance(content, str):
        content = _encodable(content)
    else:
        content = [cleaned for cleaned in map(clean_block, content) if cleaned is not None]
    block: Block = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return {**block, "is_error": True} if is_error else block


def plain_name(name: object) -> str:
    """A tool's name as providers take it back, whatever the model made up."""
    if not isinstance(name, str) or not name:
        return "unnamed"
    return name if NAME.match(name) else _NOT_PLAIN.sub("_", name)[:128]


def without_open_thoughts(blocks: list[Block]) -> list[Block]:
    """Without thoughts at the end: a provider takes none back that nothing follows."""
    end = len(blocks)
    while end and blocks[end - 1].get("type") in _THINKING:
        end -= 1
    return blocks[:end]


def text_in(blocks: Iterable[Block]) -> str:
    """All text in the blocks."""
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def _tokens_of(messages: Iterable[Message]) -> int:
    return sum(estimate_block_tokens(block) for message in messages for block in blocks_of(message))


def blocks_of(message: Message) -> list[Block]:
    """A message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _call_ids(messages: Iterable[Message]) -> set[str]:
    return {block["id"] for message in messages for block in blocks_of(message) if block.get("type") == "tool_use"}


def _encodable(text: str) -> str:
    """Without lone surrogates, which file names may carry and no provider takes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def _object(value: Any) -> dict[str, Any]:
    """The input as an object: providers take nothing else back, though models send broken JSON."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {"invalid_json": _encodable(value)}
    if not isinstance(value, dict):
        return {}
    known = cast("dict[str, Any]", value)
    try:
        msgspec.json.encode(known)
    except (UnicodeEncodeError, TypeError, RecursionError):
        return _object(encode_json(known).decode())
    return known

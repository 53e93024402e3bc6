"""Turn what a journal holds into a conversation that every provider accepts.

Each call has exactly one result, in the order of the calls: the recorded one, or the word that it was interrupted.
Discarded calls leave no trace. Ids that models used twice are told apart.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from holdfast.session.held import loaded
from holdfast.session.transcript import CallRecord, Restart, Transcript
from holdfast.session.validity import ID, NAME

__all__ = ["NOT_STARTED", "OUTCOME_UNKNOWN", "Interrupted", "Repaired", "repair", "whole_conversation"]

NOT_STARTED = (
    "interrupted: not started. The session ended before this call began, so it did nothing. "
    "Repeat it if it is still needed."
)
OUTCOME_UNKNOWN = (
    "interrupted: outcome unknown. The session ended while this call was running, so it may have taken effect in "
    "part or whole. Look at the present state before you repeat it."
)
_WAS_READING = (
    "interrupted: outcome unknown. The session ended while this call was reading. It changed nothing and can be "
    "repeated."
)
_WITHOUT_PROMPT = "(The calls below were made without a conversation.)"
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]")
_THINKING = {"thinking", "redacted_thinking"}

Block = dict[str, Any]


class Interrupted(NamedTuple):
    """A call whose result had to be made up."""

    id: str
    """As it stands in the repaired conversation."""
    name: str
    state: str
    """`not started` or `outcome unknown`."""


class Repaired(NamedTuple):
    """A conversation that can be sent."""

    messages: list[dict[str, Any]]
    interrupted: tuple[Interrupted, ...]


class _Item(NamedTuple):
    """One message on its way: its blocks, and what the journal knows of each `tool_use` among them."""

    role: str
    blocks: list[Block]
    calls: list[CallRecord | None]
    notes: list[Block]
    """What follows the results of these calls."""


def repair(transcript: Transcript, *, whole: bool = False) -> Repaired:
    """The session's conversation, valid for providers whatever the journal lost.

    As it goes on: where it was shortened it begins with the summary. `whole`: all that was ever said.
    """
    conversation = _Conversation()
    restart = None if whole else transcript.restart
    messages = list(_settled(conversation, _items(transcript, restart or Restart([], 0, 0))))
    return Repaired(messages, tuple(conversation.interrupted))


def whole_conversation(transcript: Transcript) -> Iterator[dict[str, Any]]:
    """All that was ever said, one message after the other; none is kept when the next is asked for."""
    return _settled(_Conversation(), _items(transcript, Restart([], 0, 0)))


def _settled(conversation: "_Conversation", items: Iterable[_Item]) -> Iterator[dict[str, Any]]:
    for item in items:
        if item.role == "assistant":
            conversation.add_assistant(item.blocks, item.calls)
            if item.notes:
                conversation.add_user(item.notes)
        else:
            conversation.add_user(item.blocks)
        yield from conversation.settled()
    yield from conversation.finish()


# From records to items, in order.


def _items(transcript: Transcript, restart: Restart) -> Iterator[_Item]:
    claims = _claim(transcript)
    claimed = {id(call) for calls in claims for call in calls if call is not None}
    loose = deque(
        (index, call)
        for index, call in enumerate(transcript.calls)
        if index >= restart.calls_before and id(call) not in claimed and not call.discarded
    )
    for given in restart.messages:
        yield _Item("assistant" if given.get("role") == "assistant" else "user", _blocks(given.get("content")), [], [])
    since = slice(restart.messages_before, None)
    for message, calls in zip(transcript.messages[since], claims[since], strict=True):
        yield from _loose_items(loose, message.calls_before)
        if message.role in {"user", "assistant"}:
            yield _without_discarded(_Item(message.role, _blocks(message.content), calls, []))
    yield from _loose_items(loose, len(transcript.calls))


def _claim(transcript: Transcript) -> list[list[CallRecord | None]]:
    """For each message, the call behind each of its `tool_use` blocks.

    Ids may come back in later turns, so a block belongs to a call of its own stretch, or else of the one before
    (a message recorded after its turn was ended). Calls that were not discarded come first.
    """
    waiting: dict[tuple[int, str], list[CallRecord]] = {}
    for call in sorted(transcript.calls, key=lambda call: call.discarded):
        waiting.setdefault((call.epoch, call.id), []).append(call)
    for queue in waiting.values():
        queue.reverse()  # the first is taken first, from the end
    claims: list[list[CallRecord | None]] = []
    for message in transcript.messages:
        found: list[CallRecord | None] = []
        if message.role == "assistant":
            for block in _uses(_blocks(message.content)):
                id_ = str(block.get("id"))
                queue = waiting.get((message.epoch, id_))
                if not queue:
                    queue = waiting.get((message.epoch - 1, id_))
                    queue = queue if queue and not queue[-1].discarded else None
                found.append(queue.pop() if queue else None)
        claims.append(found)
    return claims


def _loose_items(loose: deque[tuple[int, CallRecord]], limit: int) -> Iterator[_Item]:
    """Calls that no message mentions get a message of their own, one per stretch."""
    while loose and loose[0][0] < limit:
        calls: list[CallRecord | None] = []
        blocks: list[Block] = []
        notes: list[Block] = []
        epoch = loose[0][1].epoch
        while loose and loose[0][0] < limit and loose[0][1].epoch == epoch:
            call = loose.popleft()[1]
            calls.append(call)
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": loaded(call.input)})
            for message in loaded(call.reply.new_messages) if call.reply else ():
                notes += _blocks(cast("Block", message).get("content") if isinstance(message, dict) else None)
        yield _Item("assistant", blocks, calls, notes)


def _without_discarded(item: _Item) -> _Item:
    if not any(call is not None and call.discarded for call in item.calls):
        return item
    calls = deque(item.calls)
    blocks: list[Block] = []
    kept: list[CallRecord | None] = []
    for block in item.blocks:
        if block.get("type") == "tool_use":
            call = calls.popleft()
            if call is not None and call.discarded:
                continue
            kept.append(call)
        blocks.append(block)
    return item._replace(blocks=blocks, calls=kept)


# From items to a conversation.


class _Conversation:
    """Alternates user and assistant, and pays every call its result before anything else is said."""

    def __init__(self) -> None:
        self._messages: list[tuple[str, list[Block]]] = []
        self._owed: list[tuple[str, Block, CallRecord | None]] = []
        """The id as recorded, the block as sent, and what the journal knows, of each call without its result."""
        self._ids: set[str] = set()
        self._repeats: dict[str, int] = {}
        self.interrupted: list[Interrupted] = []
        """The calls whose results had to be made up."""
        self._is_begun = False

    def add_assistant(self, blocks: list[Block], calls: list[CallRecord | None]) -> None:
        """What the model said; `calls` goes with its `tool_use` blocks."""
        self._pay([])
        known = deque(calls)
        sent: list[Block] = []
        owed: list[tuple[str, Block, CallRecord | None]] = []
        for block in blocks:
            kind = block.get("type")
            if kind == "tool_use":
                call = known.popleft() if known else None
                use = self._clean_use(block)
                if use is not None:
                    owed.append((str(block["id"]), use, call))
                    sent.append(use)
            elif kind != "tool_result" and not _is_blank(block):
                sent.append(block)
        while sent and sent[-1].get("type") in _THINKING:  # a stream cut inside its thoughts
            sent.pop()
        self._say("assistant", sent)
        self._owed = owed

    def add_user(self, blocks: list[Block]) -> None:
        """What the user said, with any results recorded there; results of no call are dropped."""
        self._pay([block for block in blocks if block.get("type") == "tool_result"])
        self._say(
            "user",
            [
                block
                for block in blocks
                if block.get("type") not in {"tool_result", "tool_use"} and not _is_blank(block)
            ],
        )

    def settled(self, *, keep: int = 1) -> Iterator[dict[str, Any]]:
        """The messages that nothing more can be added to, which is all but the last."""
        ready = self._messages[:-keep] if keep else self._messages
        self._messages = self._messages[len(ready) :]
        for role, blocks in ready:
            if not self._is_begun and role == "assistant":
                yield {"role": "user", "content": [{"type": "text", "text": _WITHOUT_PROMPT}]}
            self._is_begun = True
            yield {"role": role, "content": blocks}

    def finish(self) -> Iterator[dict[str, Any]]:
        """What is left of the conversation."""
        self._pay([])
        yield from self.settled(keep=0)

    def _say(self, role: str, blocks: list[Block]) -> None:
        if not blocks:
            return
        if self._messages and self._messages[-1][0] == role:
            self._messages[-1][1].extend(blocks)
        else:
            self._messages.append((role, blocks))

    def _pay(self, given: list[Block]) -> None:
        if not self._owed:
            return
        recorded: dict[str, deque[Block]] = {}
        for block in given:
            recorded.setdefault(str(block.get("tool_use_id")), deque()).append(block)
        owed, self._owed = self._owed, []
        results: list[Block] = []
        for old_id, use, call in owed:
            queue = recorded.get(old_id)
            results.append(self._result(use, call, queue.popleft() if queue else None))
        self._say("user", results)

    def _result(self, use: Block, call: CallRecord | None, recorded: Block | None) -> Block:
        if recorded is not None:
            result = {**recorded, "tool_use_id": use["id"]}
            if isinstance(result.get("content"), list):
                result["content"] = [part for part in _blocks(result["content"]) if not _is_blank(part)]
            return result
        if call is not None and call.reply is not None:
            content = loaded(call.reply.content)
            if not isinstance(content, str):
                content = [part for part in content if not _is_blank(part)]
            result: Block = {"type": "tool_result", "tool_use_id": use["id"], "content": content}
            return {**result, "is_error": True} if call.reply.is_error else result
        started = call is not None and call.started
        self.interrupted.append(Interrupted(use["id"], use["name"], "outcome unknown" if started else "not started"))
        reason = NOT_STARTED if call is None or not started else _WAS_READING if call.read_only else OUTCOME_UNKNOWN
        text = f"<tool_use_error>{reason}</tool_use_error>"
        return {"type": "tool_result", "tool_use_id": use["id"], "content": text, "is_error": True}

    def _clean_use(self, block: Block) -> Block | None:
        id_, name = block.get("id"), block.get("name")
        if not isinstance(id_, str) or not id_ or not isinstance(name, str) or not name:
            return None
        plain = name if NAME.match(name) else _NOT_PLAIN.sub("_", name)[:128]
        return {**block, "id": self._new_id(id_), "name": plain, "input": _object(block.get("input"))}

    def _new_id(self, old: str) -> str:
        plain = old if ID.match(old) else _NOT_PLAIN.sub("_", old)[:64]
        candidate = plain
        while candidate in self._ids:
            self._repeats[plain] = number = self._repeats.get(plain, 1) + 1
            candidate = f"{plain[: 63 - len(str(number))]}-{number}"
        self._ids.add(candidate)
        return candidate


def _blocks(content: Any) -> list[Block]:
    content = loaded(content)
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        return []
    return [block for block in content if isinstance(block, dict)]  # pyright: ignore[reportUnknownVariableType]


def _uses(blocks: list[Block]) -> Iterator[Block]:
    return (block for block in blocks if block.get("type") == "tool_use")


def _is_blank(block: Block) -> bool:
    if block.get("type") != "text":
        return False
    text = block.get("text")
    return not isinstance(text, str) or not text.strip()


def _object(value: Any) -> dict[str, Any]:
    """The input as an object: providers take nothing else back, though models send broken JSON."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return {"invalid_json": value}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]

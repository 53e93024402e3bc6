"""A model that does everything wrong that models and connections do, and some more. The same seed does the same."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, get_args

import msgspec

from holdfast.contract import UsageError
from holdfast.models.errors import ModelError, ModelErrorKind
from holdfast.models.interface import (
    BlockEnded,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
    Wire,
)
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["ChaosModel", "Fault"]

Fault = Literal[
    "cut",  # the connection breaks at any event
    "silent_end",  # the stream just ends, without its last event
    "refused_request",  # 429, 500, 503, 529, timeouts, with and without Retry-After
    "fatal_request",  # what no retry helps: auth, quota, invalid request
    "overflow",  # the conversation is too long
    "slow",  # pieces minutes apart
    "bad_json",
    "wrong_input",  # JSON, but not what the tool takes
    "same_id",  # twice in a turn, or again in a later one
    "bad_id",
    "unknown_tool",
    "bad_name",
    "empty_block",
    "thinking_only",
    "nothing",  # an answer without any block
    "huge",
    "unicode",
    "stop_reason",  # one that does not fit
    "lost_end",  # a block that never ends
    "mixed_order",  # blocks that grow side by side
    "late_events",  # something behind the last event
    "count",  # tokens cannot be counted
]
_RETRYABLE: Sequence[tuple[ModelErrorKind, int | None]] = (
    ("rate_limit", 429),
    ("server", 500),
    ("overloaded", 503),
    ("overloaded", 529),
    ("timeout", None),
    ("connection", None),
)
_FATAL: Sequence[tuple[ModelErrorKind, int | None]] = (("auth", 401), ("quota", 402), ("invalid_request", 400))
_RETRY_AFTER_S = (None, None, 0.0, 0.5, 30.0, 3_600.0, -1.0)
_STRANGE = ("\ud800", "\x00\x1b[2J", "e\u0301" * 40, "\u202egnirts", "😀" * 50, "\ufeff", "ﷺ" * 9, "line\r\nline\u2028")
_BAD_NAMES = ("", " ", "Rea d", "read()", "../Read", "Ünïcode", "R" * 300, "Read\n", "<invoke>", "mcp____", "\x00")
_BAD_IDS = ("", " ", "x" * 300, "a b", "ünï", "../../id", "\x00", "\ud800")
_BAD_JSON = ('{"', '{"a": ', '{"a": 1}}', "[1, 2", "nul", "{'a': 1}", '{"a": "\\u12"}', "{" * 3_000, "\x00", '"' * 7)
_NO_OBJECTS = ("[]", "null", "7", '"text"', "true", "1e999")
_WORDS = ("look", "at", "the", "order", "first,", "then", "change", "what", "is", "wrong", "with", "rope", "prices.")
_STOPS = ("end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "", "content_filter", "?")


class ChaosModel:
    """Random answers with random faults. `told` says what each request met, to find a seed's trouble again."""

    name = "chaos"
    wire: Wire = "anthropic"

    def __init__(
        self,
        seed: int,
        tools: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        faults: Collection[Fault] | None = None,
        fault_share: float = 0.5,
        final_share: float = 0.25,
        context_window: int = 200_000,
    ) -> None:
        """Make a model.

        Args:
            seed: Decides everything.
            tools: The tools it knows, each with inputs that are right.
            faults: What may go wrong; none: everything.
            fault_share: How many of the requests meet at least one fault.
            final_share: How many answers call nothing, so that a run can end.
            context_window: What the model says of itself.
        """
        unknown = set(faults or ()) - set(get_args(Fault))
        if unknown:
            raise UsageError(f"unknown faults {sorted(unknown)}; known are {', '.join(get_args(Fault))}")
        self.context_window = context_window
        self.told: list[str] = []
        """For each request so far: its number and its faults."""
        self.slowest_s = 600.0
        """The longest wait between two pieces."""
        self._seed = seed
        self._tools = {name: list(inputs) or [{}] for name, inputs in tools.items()}
        self._faults: tuple[Fault, ...] = tuple(get_args(Fault)) if faults is None else tuple(sorted(faults))
        self._fault_share = fault_share
        self._final_share = final_share
        self._ids: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One answer, or what is left of it."""
        number = len(self.told)
        random = Random(f"{self._seed}:{number}")  # noqa: S311 - repeatable on purpose
        faults = self._choose(random)
        self.told.append(f"{number}: {' '.join(sorted(faults)) or 'in order'}")
        _refuse(random, faults)
        events = _Answer(random, faults, self._tools, self._ids).events(
            number, self._final_share, estimate_request_tokens(request)
        )
        cut = random.randrange(len(events)) if faults & {"cut", "silent_end"} else None
        for position, event in enumerate(events):
            if position == cut:
                if "silent_end" in faults:
                    return
                raise ModelError(f"chaos cut the stream at event {position}", "broken_stream")
            yield event
            await asyncio.sleep(random.uniform(0, self.slowest_s) if "slow" in faults and random.random() < 0.2 else 0)

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate, unless counting fails."""
        random = Random(f"{self._seed}:count:{len(self.told)}")  # noqa: S311 - repeatable on purpose
        if "count" in self._faults and random.random() < 0.1:
            raise ModelError("chaos cannot count", "server", status=500)
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """A price that is known only sometimes."""
        return None if usage.input_tokens % 7 == 0 else usage.context_tokens * 1e-6

    async def close(self) -> None:
        """Nothing to give back."""

    def _choose(self, random: Random) -> set[Fault]:
        if not self._faults or random.random() >= self._fault_share:
            return set()
        return set(random.choices(self._faults, k=random.choice((1, 1, 2, 4))))


def _refuse(random: Random, faults: set[Fault]) -> None:
    """Errors that come before anything is streamed."""
    retry_after_s = random.choice(_RETRY_AFTER_S)
    if "refused_request" in faults:
        kind, status = random.choice(_RETRYABLE)
        raise ModelError(f"chaos says {kind}", kind, status=status, retry_after_s=retry_after_s)
    if "overflow" in faults and random.random() < 0.5:
        raise ModelError("chaos says the conversation is too long", "context_overflow", status=400)
    if "fatal_request" in faults and random.random() < 0.3:
        kind, status = random.choice(_FATAL)
        raise ModelError(f"chaos says {kind}", kind, status=status)


class _Answer:
    """Makes the events of one answer."""

    def __init__(
        self, random: Random, faults: set[Fault], tools: Mapping[str, list[Mapping[str, Any]]], ids: list[str]
    ) -> None:
        self.random = random
        self.faults = faults
        self.tools = tools
        self.ids = ids
        """Every id used so far, also in earlier answers."""

    def events(self, number: int, final_share: float, input_tokens: int) -> list[StreamEvent]:
        """All of them, as if nothing were cut."""
        random = self.random
        blocks = [list(block) for block in self._blocks(number, is_final=random.random() < final_share)]
        body = self._mixed(blocks) if "mixed_order" in self.faults else [event for block in blocks for event in block]
        if "lost_end" in self.faults:
            ends = [event for event in body if isinstance(event, BlockEnded)]
            if ends:
                body.remove(random.choice(ends))
        calls = any(isinstance(event, ToolUseStarted) for event in body)
        stop = random.choice(_STOPS) if "stop_reason" in self.faults else "tool_use" if calls else "end_turn"
        usage = Usage(input_tokens, random.randrange(500))
        late = random.choices(body or [TextDelta(0, "late")], k=2) if "late_events" in self.faults else []
        return [StreamStarted(f"msg_{number}", "chaos", Usage(input_tokens)), *body, StreamEnded(stop, usage), *late]

    def _blocks(self, number: int, *, is_final: bool) -> Iterator[Iterator[StreamEvent]]:
        random, faults = self.random, self.faults
        if "nothing" in faults:
            return
        index = 0
        if "thinking_only" in faults or random.random() < 0.2:
            yield self._thinking(index)
            index += 1
        if "thinking_only" in faults:
            return
        if is_final or random.random() < 0.7:
            yield self._text(index)
            index += 1
        if "empty_block" in faults:
            empty = random.choice(("", " ", "\n\n"))
            yield iter((BlockEnded(index, {"type": "text", "text": empty}),))
            index += 1
        for call in range(0 if is_final else random.choice((1, 1, 2, 3, 8))):
            yield self._call(index, f"call_{number}_{call}")
            index += 1

    def _thinking(self, index: int) -> Iterator[StreamEvent]:
        if self.random.random() < 0.2:
            yield BlockEnded(index, {"type": "redacted_thinking", "data": "AAAA"})
            return
        text = self._words()
        yield ThinkingDelta(index, text)
        yield BlockEnded(index, {"type": "thinking", "thinking": text, "signature": "sig"})

    def _text(self, index: int) -> Iterator[StreamEvent]:
        text = self._words()
        yield from self._pieces(text, lambda piece: TextDelta(index, piece))
        yield BlockEnded(index, {"type": "text", "text": text})

    def _call(self, index: int, id_: str) -> Iterator[StreamEvent]:
        random, faults = self.random, self.faults
        name = random.choice(list(self.tools))
        given: Mapping[str, Any] = random.choice(self.tools[name])
        if "unknown_tool" in faults:
            name = random.choice(("Reed", "bash ", "rm", "mcp__gone__tool", name.upper() + "X"))
        if "bad_name" in faults and random.random() < 0.7:
            name = random.choice(_BAD_NAMES)
        raw, block_input = self._input(given)
        id_ = self._id(id_)
        yield ToolUseStarted(index, id_, name)
        yield from self._pieces(raw, lambda piece: ToolInputDelta(index, piece))
        yield BlockEnded(index, {"type": "tool_use", "id": id_, "name": name, "input": block_input})

    def _input(self, given: Mapping[str, Any]) -> tuple[str, Any]:
        """The input as text, and as the block has it."""
        random, faults = self.random, self.faults
        if "bad_json" in faults:
            raw = random.choice((*_BAD_JSON, *_NO_OBJECTS))
            return raw, raw
        changed = dict(given)
        if "wrong_input" in faults:
            changed = random.choice(({}, {"nothing": 1}, dict.fromkeys(changed), {key: [key] for key in changed}))
        if "unicode" in faults:
            changed |= {key: random.choice(_STRANGE) for key in changed if random.random() < 0.5}
        if "huge" in faults:
            changed |= dict.fromkeys(list(changed)[:1], "x" * 300000)
        try:
            return msgspec.json.encode(changed).decode(), changed
        except UnicodeEncodeError:  # a lone surrogate, as a client that is easy on its JSON hands it on
            return repr(changed), changed

    def _id(self, id_: str) -> str:
        random, faults = self.random, self.faults
        if "same_id" in faults and self.ids and random.random() < 0.7:
            return random.choice(self.ids[-4:])
        if "bad_id" in faults and random.random() < 0.7:
            id_ = random.choice(_BAD_IDS)
        self.ids.append(id_)
        return id_

    def _words(self) -> str:
        text = " ".join(self.random.choices(_WORDS, k=self.random.randrange(1, 30)))
        if "unicode" in self.faults:
            text += self.random.choice(_STRANGE)
        return text * 5_000 if "huge" in self.faults and self.random.random() < 0.3 else text

    def _pieces(self, text: str, make: Callable[[str], StreamEvent]) -> Iterator[StreamEvent]:
        step = max(1, len(text) // self.random.randrange(1, 9))
        for start in range(0, len(text), step):
            yield make(text[start : start + step])

    def _mixed(self, blocks: list[list[StreamEvent]]) -> list[StreamEvent]:
        mixed: list[StreamEvent] = []
        while waiting := [block for block in blocks if block]:
            mixed.append(self.random.choice(waiting).pop(0))
        return mixed

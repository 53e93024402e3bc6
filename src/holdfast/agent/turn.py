"""One answer of the model while it streams: each call goes to the executor as soon as its input is complete."""

from collections.abc import Callable
from typing import Any

from holdfast.agent.history import Block, History, clean_block, text_in, without_open_thoughts
from holdfast.engine import Executor
from holdfast.events import CallFinished, Event, TextStreamed, ThinkingStreamed, ToolUseStreamed
from holdfast.models import (
    BlockEnded,
    Model,
    ModelError,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
)

__all__ = ["Answer"]


class Answer:
    """What came of one request: its blocks, its calls and their replies."""

    message_id: str = ""
    model: str = ""
    asked: Model
    """The model that was asked; another one may have taken over since."""
    stop_reason: str = ""
    usage: Usage = Usage()
    is_complete: bool = False
    """The stream came to its end."""
    was_cut: bool = False
    """The stream broke when calls had acted: what was complete stands, and the next request goes on from there."""
    dropped_call: str | None = None
    """The name of a call that the output limit cut in the middle."""
    error: ModelError | None = None
    """Why it was cut."""
    is_closed: bool = False
    """It is in the history, with the replies to its calls."""
    is_told: bool = False
    """The faces and the journal know the message."""
    shown: bool = False
    """Somebody may have seen a part of it."""
    holds_text: bool = False
    """Text is not told as it comes but left in `unseen`, block by block: hooks decide what is shown of it."""

    def __init__(self, executor: Executor, history: History, emit: Callable[[Event], None], asked: Model) -> None:
        self.asked = asked
        self._executor = executor
        self._history = history
        self._emit = emit
        self.blocks: list[Block] = []
        """Complete ones, as they go back to the provider."""
        self.calls: dict[str, Block] = {}
        """The `tool_use` blocks among them, by id; the executor has them."""
        self.replies: dict[str, CallFinished] = {}
        self._names: dict[int, tuple[str, str]] = {}
        """Id and name of each call that has begun, by the block's number."""
        self.unseen: list[tuple[int, str]] = []
        """Texts that are complete and nobody was shown yet, by their block's number."""
        self._open_text: list[str] = []
        self._broken: tuple[int, Block] | None = None
        """The last call, when its input is no JSON: at the output limit it was only cut, and is dropped."""

    @property
    def text(self) -> str:
        """What the model said."""
        return text_in(self.blocks)

    def take(self, event: StreamEvent) -> None:
        """The next event of the stream."""
        if isinstance(event, TextDelta):
            self._take_text(event.index, event.text)
        elif isinstance(event, ToolInputDelta):
            if event.partial_json and event.index in self._names:
                id_, name = self._names[event.index]
                self._emit(ToolUseStreamed(id_, name, event.partial_json, event.index))
        elif isinstance(event, ThinkingDelta):
            if event.text:
                self.shown = True
                self._emit(ThinkingStreamed(event.text, event.index))
        elif isinstance(event, BlockEnded):
            self._take_block(event.index, event.block)
        elif isinstance(event, ToolUseStarted):
            self._name(event.index, event.id, event.name)
        elif isinstance(event, StreamStarted):
            self.message_id, self.model, self.usage = event.message_id, event.model, event.usage
        elif isinstance(event, StreamEnded):
            self._end(event)

    def cut(self, *, keep_text: bool) -> None:
        """The stream will not go on: what is incomplete goes, only words that people may have read can stay."""
        if self.is_complete:
            return
        if keep_text and (text := "".join(self._open_text)).strip():
            self.blocks.append({"type": "text", "text": text})
        self._close()

    def forget(self) -> None:
        """The request is repeated: its calls may come again with the same ids."""
        self._history.free_ids(id_ for id_, _ in self._names.values())

    def _take_text(self, index: int, text: str) -> None:
        if text:
            self.shown = True
            self._open_text.append(text)
            if not self.holds_text:
                self._emit(TextStreamed(text, index))

    def _name(self, index: int, id_: Any, name: Any) -> tuple[str, str]:
        self.shown = True
        named = self._names[index] = (self._history.new_id(id_), name if isinstance(name, str) else "")
        self._emit(ToolUseStreamed(*named, index=index))
        return named

    def _take_block(self, index: int, block: Block) -> None:
        kind = block.get("type")
        if kind == "text":
            self._open_text.clear()
            if self.holds_text and (text := str(block.get("text", ""))):
                self.unseen.append((index, text))
        if kind == "tool_use":
            self._add_broken()
            if isinstance(block.get("input"), str):
                self._broken = (index, block)
            else:
                self._add_call(index, block)
            return
        cleaned = clean_block(block)
        if cleaned is not None:
            self._add_broken()
            self.blocks.append(cleaned)
            if kind == "thinking" and cleaned.get("signature"):
                self._emit(ThinkingStreamed("", index, cleaned["signature"]))

    def _add_call(self, index: int, block: Block) -> None:
        id_, name = self._names.get(index) or self._name(index, block.get("id"), block.get("name"))
        cleaned = clean_block(block, id_=id_)
        assert cleaned is not None
        self.blocks.append(cleaned)
        self.calls[id_] = cleaned
        # The executor gets what the model wrote: its reply says what is wrong with it.
        self._executor.add({"id": id_, "name": name, "input": block.get("input")})

    def _add_broken(self) -> None:
        if self._broken is not None:
            broken, self._broken = self._broken, None
            self._add_call(*broken)

    def _end(self, event: StreamEnded) -> None:
        self.stop_reason = event.stop_reason
        if event.usage != Usage():
            self.usage = event.usage
        if self._broken is not None and event.stop_reason != "max_tokens":
            self._add_broken()
        self.is_complete = True
        self._close()

    def _close(self) -> None:
        if self._broken is not None:
            self.dropped_call = str(self._broken[1].get("name"))
            self._broken = None
        self._open_text.clear()
        self._history.free_ids(id_ for id_, _ in self._names.values() if id_ not in self.calls)
        self.blocks = without_open_thoughts(self.blocks)

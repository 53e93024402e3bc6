"""Make room in the context: old results first, then a summary by the model, and the last turns as they are."""

from collections.abc import Iterator
from functools import cache
from typing import Literal

from holdfast.agent import notes
from holdfast.agent.between import Between
from holdfast.agent.history import Block, Message, blocks_of
from holdfast.agent.retry import Retries
from holdfast.agent.shorten import (
    drop_oldest,
    message_tokens,
    pending_start,
    recent_start,
    squeeze,
    trim_results,
    user_words,
)
from holdfast.agent.state import LoopState
from holdfast.events import ContextCompacted, ContextCompacting, HookSpoke, RequestRetried
from holdfast.models import BlockEnded, ModelError, ModelRequest, StreamEnded, StreamStarted, Usage
from holdfast.session.records import COMPACTION

__all__ = ["Compactor"]

Trigger = Literal["auto", "manual"]
_RECENT_SHARE = 0.1
"""How much of the window the last turns may fill that stay as they are."""
_ENOUGH_SHARE = 0.6
"""Below this share of the window there is room again."""
_SUMMARY_TOKENS = 8_000
_HALVINGS = 6
_GONE = "File contents and results from before are gone from your view. Read a file again before you rely on it."
_WITHOUT_SUMMARY = "(No summary could be made. Look at the files and ask the user where you need to.)"


class Compactor:
    """Shortens the history of one loop. The journal keeps everything that was said."""

    def __init__(self, state: LoopState, between: Between) -> None:
        self._state = state
        self._between = between
        self._futile_below = 0
        """What could not be made shorter at this size is not tried again before it has grown."""

    async def before_request(self) -> None:
        """Shorten the history when the next request would fill too much of the window.

        Raises:
            ModelError: The model could not be asked for a summary.
        """
        choices = self._state.choices
        if not choices.auto_compact:
            return
        tokens = self._state.context_tokens()
        if tokens > max(choices.compact_at * self._state.asked.context_window, self._futile_below):
            await self._compact("auto", "")

    async def make_room(self) -> bool:
        """The model found the history too long: shorten it whatever we think of its length; false when that fails."""
        return self._state.choices.auto_compact and await self._compact("auto", "", is_reaction=True) is not None

    async def compact(self, instructions: str = "") -> ContextCompacted | None:
        """Shorten the history because a person wants it; None when there is nothing to shorten."""
        return await self._compact("manual", instructions)

    async def _compact(
        self, trigger: Trigger, instructions: str, *, is_reaction: bool = False
    ) -> ContextCompacted | None:
        state = self._state
        messages = list(state.history.messages)
        before = state.context_tokens()
        if len(messages) < 2:
            return None
        if await self._is_blocked(trigger, instructions):
            self._futile_below = before + state.asked.context_window // 20
            return None
        state.emit(ContextCompacting(trigger, before, instructions))
        window = state.asked.context_window
        # What is not in the messages stays: the system prompt and the tools.
        fixed = max(0, before - state.history.tokens)
        goal = max(int(window * _ENOUGH_SHARE) - fixed, window // 10)
        recent = int(window * _RECENT_SHARE)
        if is_reaction:
            # By the provider's count it is too long, whatever we estimate: take it at its word.
            goal = min(goal, state.history.tokens // 2)
            recent = min(recent, state.history.tokens // 4)
        summary = ""
        shorter = trim_results(messages, recent_start(messages, recent), state.spilled)
        if trigger == "manual" or _tokens(shorter) > goal:
            summary, shorter = await self._summarised(
                messages, instructions, recent=recent, is_manual=trigger == "manual"
            )
        if trigger == "auto":
            shorter = squeeze(shorter, goal)
        done = self._adopt(shorter, trigger, before, summary)
        if done is not None:
            await self._tell_hooks(trigger, summary)
        return done

    async def _is_blocked(self, trigger: Trigger, instructions: str) -> bool:
        heard = await self._between.gates.ask("PreCompact", trigger=trigger, custom_instructions=instructions)
        if heard is None or not heard.blocks:
            return False
        self._state.emit(HookSpoke("PreCompact", f"the history was not shortened: {heard.reason}"))
        return True

    async def _tell_hooks(self, trigger: Trigger, summary: str) -> None:
        gates = self._between.gates
        await gates.ask("PostCompact", trigger=trigger, compact_summary=summary)
        self._between.take_word(await gates.start("compact", self._state.model.name))

    def _adopt(self, shorter: list[Message], trigger: Trigger, before: int, summary: str) -> ContextCompacted | None:
        state = self._state
        saved = state.history.tokens - _tokens(shorter)
        if trigger == "auto" and saved <= 0:
            self._futile_below = before + state.asked.context_window // 20
            return None
        state.history.replace(shorter)
        state.shortened()
        after = max(0, before - saved)
        limit = state.choices.compact_at * state.asked.context_window
        self._futile_below = after + state.asked.context_window // 20 if after > limit else 0
        if state.journal is not None:
            note = {"messages": shorter, "trigger": trigger, "tokens_before": before, "tokens_after": after}
            state.journal.record_note(COMPACTION, note)
        done = ContextCompacted(trigger, before, after, summary)
        state.emit(done)
        return done

    def cut(self, index: int) -> None:
        """Go on with the messages before this one; a session that is resumed later does the same."""
        state = self._state
        kept = list(state.history.messages[:index])
        state.history.replace(kept)
        state.shortened()
        self._between.look_back()
        self._futile_below = 0
        if state.journal is not None:
            state.journal.record_note(COMPACTION, {"messages": kept, "trigger": "rewind"})

    async def _summarised(
        self, messages: list[Message], instructions: str, *, recent: int, is_manual: bool
    ) -> tuple[str, list[Message]]:
        """A summary, and the history that begins with it."""
        pending = pending_start(messages)
        start = min(pending, recent_start(messages, recent))
        if is_manual and start <= 1:
            start = pending  # a short conversation: all of it that was answered
        if start <= 0 or (start == 1 and not is_manual):
            return "", messages
        summary = await self._ask_for_summary(messages[: max(start, 1)], instructions)
        first = _opening(messages[:start], summary or _WITHOUT_SUMMARY)
        rest = messages[start:]
        if rest and rest[0]["role"] == "user":
            return summary, [{"role": "user", "content": [*first, *blocks_of(rest[0])]}, *rest[1:]]
        return summary, [{"role": "user", "content": first}, *rest]

    # Asking for the summary.

    async def _ask_for_summary(self, old: list[Message], instructions: str) -> str:
        """The model's summary; empty when even a small part of the conversation is too long for it.

        Raises:
            ModelError: It could not be asked at all.
        """
        for attempt in self._attempts(old):
            try:
                return await self._ask(_with_request(attempt, instructions))
            except ModelError as error:
                if error.kind != "context_overflow":
                    raise
        return ""

    def _attempts(self, old: list[Message]) -> Iterator[list[Message]]:
        """The conversation to summarise, shorter and shorter. As it is first: the provider may have it cached."""
        yield old
        shorter = trim_results(old, len(old), self._state.spilled)
        yield shorter
        for _ in range(_HALVINGS):
            if len(shorter) < 3:
                return
            shorter = drop_oldest(shorter, len(shorter) // 2)
            yield shorter

    async def _ask(self, messages: list[Message]) -> str:
        state = self._state
        retries = Retries(state.choices.retry, was_reached=state.was_reached)
        request = ModelRequest(
            messages=state.thoughts.only_of(state.asked.name, messages),
            system=await state.system(),
            tools=state.tools(),
            tool_choice="none",
            max_output_tokens=_SUMMARY_TOKENS,
            is_streaming=state.is_streaming,
        )
        while True:
            try:
                return await self._answer(request)
            except ModelError as error:
                attempt, delay_s = retries.attempt, retries.failed(error)
                if delay_s is None:
                    raise
                most = state.choices.retry.attempts - 1
                state.emit(RequestRetried(attempt, delay_s, str(error), error.kind, most, error.status))
                await state.choices.retry.sleep(delay_s)

    async def _answer(self, request: ModelRequest) -> str:
        texts: list[str] = []
        usage = Usage()
        is_complete = False
        model = self._state.asked
        async for event in model.stream(request):
            if isinstance(event, BlockEnded) and event.block.get("type") == "text":
                texts.append(str(event.block.get("text", "")))
            elif isinstance(event, StreamStarted):
                usage = event.usage
            elif isinstance(event, StreamEnded):
                usage, is_complete = event.usage, True
        if not is_complete:
            raise ModelError("the summary ended in the middle", "broken_stream")
        self._state.pay(model, usage)
        return "".join(texts).strip()


def _opening(old: list[Message], summary: str) -> list[Block]:
    """The summary, and what the user said as blocks of their own, so that the next summary finds them again."""
    texts = [f"{notes.SUMMARY}\n\n{summary}\n\n{_GONE}"]
    if said := user_words(old):
        texts += [notes.USER_SAID, *said, notes.USER_SAID_END]
    return [{"type": "text", "text": text} for text in texts]


def _with_request(messages: list[Message], instructions: str) -> list[Message]:
    """The conversation with the wish for a summary at its end; calls in it are all answered."""
    text = _wording()
    if instructions.strip():
        text += f"\n\nThe user adds: {instructions.strip()}"
    wish = {"type": "text", "text": text}
    if messages[-1]["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": [*blocks_of(messages[-1]), wish]}]
    return [*messages, {"role": "user", "content": [wish]}]


@cache
def _wording() -> str:
    from importlib import resources  # noqa: PLC0415 - few conversations get so long

    return resources.files("holdfast.agent").joinpath("compact.md").read_text(encoding="utf-8")


def _tokens(messages: list[Message]) -> int:
    return sum(map(message_tokens, messages))

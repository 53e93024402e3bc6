"""One request to the model, sent again as often as that helps, and never twice what has acted."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

from holdfast.agent.gates import Gates
from holdfast.agent.retry import Retries
from holdfast.agent.state import LoopState
from holdfast.agent.turn import Answer
from holdfast.events import ModelRequested, ReplyDiscarded, RequestRetried, TextStreamed
from holdfast.models import ModelError

__all__ = ["Asking"]


class Asking:
    """Asks for one answer after the other."""

    def __init__(self, state: LoopState, gates: Gates, *, make_room: Callable[[], Awaitable[bool]]) -> None:
        """`make_room` shortens a history that the model found too long; false when it cannot."""
        self._state = state
        self._gates = gates
        self._make_room = make_room
        self.turn = 0
        self.model_s = 0.0
        self.answer: Answer | None = None
        """The one that is under way or was the last."""

    async def ask(self, *, tool_choice: str = "auto") -> Answer:
        """The next answer. It may be cut: then its calls have acted, and the conversation goes on from them.

        Raises:
            ModelError: No attempt worked.
        """
        state = self._state
        retries = Retries(state.choices.retry, was_reached=state.was_reached)
        made_room = False
        self.turn += 1
        while True:
            answer = self.answer = Answer(state.executor, state.history, state.emit, state.asked)
            answer.holds_text = self._gates.has("MessageDisplay")
            try:
                await self._stream(answer, retries.attempt, tool_choice)
            except ModelError as error:
                if await self._stands(answer, error):
                    return answer
                if error.kind == "context_overflow" and not made_room:
                    made_room = True
                    if await self._make_room():
                        continue
                await self._before_next(retries, error)
            else:
                state.broken_streams = 0
                return answer

    async def _stream(self, answer: Answer, attempt: int, tool_choice: str) -> None:
        state = self._state
        request = await state.request(tool_choice=tool_choice)
        model = answer.asked = state.asked
        state.emit(ModelRequested(self.turn, model.name, attempt, request.is_streaming))
        began_s = perf_counter()
        stream = model.stream(request)
        try:
            async for event in stream:
                state.was_reached = True
                if not answer.is_complete:
                    answer.take(event)
                if answer.unseen:
                    await self._show(answer)
        finally:
            self.model_s += perf_counter() - began_s
            close = getattr(stream, "aclose", None)  # a plain iterator has none
            if close is not None:
                await close()
        if not answer.is_complete:
            raise ModelError("the answer ended in the middle", "broken_stream")

    async def _show(self, answer: Answer) -> None:
        """Let hooks say what people are shown of a text that is complete."""
        unseen, answer.unseen = answer.unseen, []
        for index, text in unseen:
            shown = await self._gates.shown(text, answer.message_id, index, self.turn)
            if shown:
                self._state.emit(TextStreamed(shown, index))

    async def _stands(self, answer: Answer, error: ModelError) -> bool:
        """The request failed: whether its answer has to stand as far as it came, because its calls have acted."""
        if answer.shown or answer.calls or error.kind == "broken_stream":
            self._state.broken_streams += 1
        try:
            has_acted = bool(answer.calls) and not await self._state.executor.discard()
        except asyncio.CancelledError:  # it only waits for what it has forgotten already
            self._drop(answer, error)
            raise
        if not has_acted:
            self._drop(answer, error)
            return False
        answer.cut(keep_text=False)
        answer.was_cut = True
        answer.error = error
        return True

    def _drop(self, answer: Answer, error: ModelError) -> None:
        """Nothing of this answer stays, but what it cost: a provider charges for what it has read."""
        answer.forget()
        self._state.spend(answer.usage, answer.asked)
        self.answer = None
        if answer.shown or answer.calls:
            self._state.emit(ReplyDiscarded(str(error)))

    async def _before_next(self, retries: Retries, error: ModelError) -> None:
        """Wait for the next attempt, or give up."""
        state = self._state
        attempt, policy = retries.attempt, state.choices.retry
        delay_s = retries.failed(error)
        fallback = state.choices.fallback_model
        if fallback is not None and state.fallback is None and retries.wants_another:
            state.fallback = fallback
            retries.begin_anew()
            delay_s = 0.0
        if delay_s is None:
            raise error
        most = policy.attempts - 1
        state.emit(RequestRetried(attempt, delay_s, str(error), error.kind, most, error.status))
        if delay_s:
            await policy.sleep(delay_s)

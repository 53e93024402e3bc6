"""One prompt from its first request to its end: ask, let the tools work, tell the results, ask again."""

import logging
from collections.abc import Iterable
from time import perf_counter
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from holdfast.agent import notes
from holdfast.agent.ask import Asking
from holdfast.agent.between import Between
from holdfast.agent.compact import Compactor
from holdfast.agent.deferred import left_for_later, make_deferred
from holdfast.agent.gates import MAX_STOPS
from holdfast.agent.history import Block, prompt_blocks, result_block
from holdfast.agent.repeats import RepeatGuard
from holdfast.agent.state import LoopState, usage_fields
from holdfast.agent.turn import Answer
from holdfast.contract import Fatal, UsageError
from holdfast.events import AssistantReplied, CallFinished, HookSpoke, ResultsSent, RunEnded, RunOutcome, to_builtins
from holdfast.models import ModelError, Usage
from holdfast.session.records import DELIVERS_QUEUED, PROMPTS

__all__ = ["Run"]

_log = logging.getLogger(__name__)
_MAX_EMPTY = 2
_MAX_CONTINUED = 3
_MAX_PAUSES = 10


class _End(NamedTuple):
    """Why a run is over."""

    outcome: RunOutcome
    error: str = ""


_SUCCESS = _End("success")


class Run:
    """The state of one run. `go` does all of it; `settle` leaves a valid history when it was stopped."""

    def __init__(self, state: LoopState, between: Between, compactor: Compactor, guard: RepeatGuard) -> None:
        self._state = state
        self._between = between
        self._compactor = compactor
        self._guard = guard
        self._asking = Asking(state, between.gates, make_room=compactor.make_room)
        self._began_s = perf_counter()
        self._usage_before = state.usage
        self._cost_before = state.cost_usd
        self._results: list[Block] = []
        """Replies that are in the history, but nobody was told that they are sent."""
        self._results_uuid = ""
        self._tool_turns = 0
        self._turns = 0
        self._output_tries = 0
        self._empty = 0
        self._continued = 0
        self._pauses = 0
        self._text: list[str] = []
        self._stop_reason = ""
        self._output: Any = None
        self._denials: list[dict[str, Any]] = []
        self._stops = 0
        """How often hooks made the model go on although it was done."""
        self._deferred: dict[str, Any] | None = None

    async def go(self) -> RunEnded:
        """Until the model is done, a limit is reached, or nothing helps any more."""
        state = self._state
        state.fallback = None
        tool_choice = state.choices.tool_choice
        if state.deferred:
            self._deferred, self._results = await make_deferred(state)
            if self._deferred is not None:
                return await self._over(*self._left())
        if not await self._deliver():
            return self.ended("stopped_by_hook", f"A hook blocked the prompt: {self._between.blocked}")
        while True:
            if (stop := self._must_stop()) is not None:
                return await self._over(*stop)
            try:
                await self._compactor.before_request()
                answer = await self._asking.ask(tool_choice=tool_choice)
            except ModelError as error:
                return await self._over("error_during_execution", str(error), error)
            tool_choice = "auto"
            end = await self._finish(answer)
            if end is not None:
                return await self._over(*end)
            if not await self._deliver():
                return await self._over("success")

    def _must_stop(self) -> tuple[RunOutcome, str] | None:
        """Why no further request goes out: a hook says so, or a limit is reached."""
        state, limit = self._state, self._state.choices.max_total_tokens
        if (stop := state.executor.call_hooks.stop) is not None:
            return "stopped_by_hook", stop
        if (spent := state.overspent) is not None:
            return "error_max_budget_usd", _spent_words(*spent)
        used = 0 if limit is None else sum(usage_fields(_since(self._usage_before, state.usage)).values())
        if limit is None or used < limit:
            return None
        return "error_max_total_tokens", f"The run has used {used:,} tokens, and {limit:,} is its limit."

    async def _over(self, outcome: RunOutcome, error: str = "", cause: ModelError | None = None) -> RunEnded:
        """The last event, after the hooks know."""
        gates = self._between.gates
        if outcome == "error_during_execution":
            kind = "unknown" if cause is None else cause.kind
            await gates.ask("StopFailure", error=kind, error_details=error, last_assistant_message="".join(self._text))
        await gates.turn_ended()
        self._state.executor.call_hooks.begin_turn()
        ended = self.ended(outcome, error)
        return ended if cause is None else replace(ended, error_kind=cause.kind, error_status=cause.status)

    async def settle(self, note: str) -> None:
        """The run was stopped from outside: stop every call, answer it, close the turn, and tell the model why."""
        answer = self._asking.answer
        try:
            await self._state.executor.interrupt()
        finally:
            if answer is not None and not answer.is_closed:
                answer.cut(keep_text=True)
                self._take_ready(answer)
                if not answer.is_told:
                    self._tell(answer)
                self._close(answer)
            self._deliver_blocks(prompt_blocks(note))

    def ended(self, outcome: RunOutcome, error: str = "") -> RunEnded:
        """The last event."""
        state = self._state
        self._send_results([])
        usage = _since(self._usage_before, state.usage)
        cost_usd = state.cost_usd
        if cost_usd is not None and self._cost_before is not None:
            cost_usd -= self._cost_before
        return RunEnded(
            outcome,
            "".join(self._text),
            self._turns,
            (perf_counter() - self._began_s) * 1000,
            self._asking.model_s * 1000,
            usage_fields(usage),
            cost_usd,
            self._stop_reason,
            error,
            self._output,
            tuple(self._denials),
            self._deferred,
        )

    # One answer.

    async def _finish(self, answer: Answer) -> _End | None:
        """Tell the answer, wait for its calls, put both into the history, and see whether that was all."""
        self._tell(answer)
        fatal: Fatal | None = None
        if answer.calls:
            try:
                async for event in self._state.executor.results():
                    if type(event) is CallFinished:
                        answer.replies[event.tool_use_id] = event
            except Fatal as error:
                fatal = error
        was_refused = self._state.executor.turn_refused
        if answer.calls and fatal is None:
            self._deferred = left_for_later(self._state, answer)
            if self._deferred is not None:
                return self._left()
        stop = await self._hear_batch(answer) if answer.calls else None
        self._close(answer)
        if fatal is not None:
            return _End("error_during_execution", str(fatal))
        if stop is not None:
            return _End("stopped_by_hook", stop)
        if answer.error is not None and not answer.error.is_retryable:
            return _End("error_during_execution", str(answer.error))
        end = self._after_calls(answer, was_refused=was_refused) if answer.calls else self._after_text(answer)
        return await self._may_stop() if end is _SUCCESS and self._output is None else end

    def _left(self) -> _End:
        self._stop_reason = "tool_deferred"
        return _End("tool_deferred")

    async def _hear_batch(self, answer: Answer) -> str | None:
        """Why hooks end the run after these calls; None: it goes on."""
        gates, hooks = self._between.gates, self._state.executor.call_hooks
        heard = await gates.batch(answer.calls, answer.replies)
        if heard is not None:
            self._between.take_word(heard)
            if heard.blocks:
                return heard.reason
        return hooks.stop

    async def _may_stop(self) -> _End | None:
        """The model is done; hooks may have it go on, so many times."""
        gates = self._between.gates
        text = "".join(self._text)
        heard = await gates.stop(text, self._between.background, is_again=self._stops > 0)
        if heard is None or heard.stop is not None or not (heard.blocks or heard.contexts):
            return _SUCCESS
        if self._stops >= MAX_STOPS:
            said = f"a Stop hook made the model go on {MAX_STOPS} times; the run ends in spite of it"
            self._state.emit(HookSpoke("Stop", said, is_warning=True))
            return _SUCCESS
        self._stops += 1
        if heard.blocks:
            self._between.remind("stop_hook", heard.reason)
        self._between.take_word(heard)
        return None

    def _tell(self, answer: Answer) -> None:
        """The message is whole: the journal and the faces learn of it, the history with the replies."""
        state = self._state
        answer.is_told = True
        self._turns += 1
        self._stop_reason = answer.stop_reason
        cost_usd = state.spend(answer.usage, answer.asked)
        if not self._continued:
            self._text.clear()
        if not answer.blocks:
            return
        self._text.append(answer.text)
        usage = usage_fields(answer.usage)
        model = answer.model or answer.asked.name
        uuid = state.record(
            "assistant",
            answer.blocks,
            model=model,
            asked=answer.asked.name,
            id=answer.message_id,
            usage=usage,
            stop_reason=answer.stop_reason,
        )
        state.emit(AssistantReplied(answer.message_id, answer.blocks, model, answer.stop_reason, usage, cost_usd, uuid))

    def _close(self, answer: Answer) -> None:
        """Answer and replies enter the history together, so that it is valid at every moment."""
        state = self._state
        answer.is_closed = True
        state.history.add_assistant(answer.blocks)
        state.thoughts.note(answer.blocks, answer.asked.name)
        state.counted(answer.usage)
        if answer.calls:
            results = [self._result(id_, use, answer.replies.get(id_)) for id_, use in answer.calls.items()]
            told = list(_new_blocks(answer.replies.values()))
            state.history.add_user([*results, *told])
            self._results_uuid = state.record("user", [*results, *told])
            self._results = [*results, *told]
        state.executor.end_turn()

    def _result(self, id_: str, use: Block, reply: CallFinished | None) -> Block:
        if reply is None:
            return result_block(id_, notes.NO_RESULT, is_error=True)
        if reply.outcome == "denied":
            self._denials.append({"tool_name": reply.name, "tool_use_id": id_, "tool_input": use["input"]})
        if reply.spilled_to is not None:
            self._state.spilled[id_] = reply.spilled_to
        warning = self._guard.take(reply, use["input"])
        if warning is not None:
            self._between.remind("repeated_call", warning)
        return result_block(id_, reply.content, is_error=reply.is_error)

    def _take_ready(self, answer: Answer) -> None:
        try:
            for event in self._state.executor.ready():
                if type(event) is CallFinished:
                    answer.replies[event.tool_use_id] = event
        except Fatal:
            return  # the run ends anyway

    # What now?

    def _after_calls(self, answer: Answer, *, was_refused: bool) -> _End | None:
        choices = self._state.choices
        self._tool_turns += 1
        self._empty = self._continued = self._pauses = 0
        if was_refused:
            return _End("refused")
        if choices.output_tool is not None:
            end = self._take_output(answer, choices.output_tool)
            if end is not None:
                return end
        if answer.stop_reason == "refusal":
            return _End("error_during_execution", "The model declined to go on.")
        if choices.max_turns is not None and self._tool_turns >= choices.max_turns:
            return _End("error_max_turns", f"The run reached its limit of {choices.max_turns} turns.")
        if answer.dropped_call is not None:
            self._between.remind("output_limit", notes.call_dropped(answer.dropped_call))
        if answer.was_cut:
            self._between.remind("stream_cut", notes.STREAM_CUT)
        return None

    def _take_output(self, answer: Answer, tool: str) -> _End | None:
        tried = [reply for reply in answer.replies.values() if reply.name == tool]
        for reply in tried:
            if not reply.is_error:
                self._output = to_builtins(reply.data)
                return _SUCCESS
        return self._output_failed() if tried else None

    def _output_failed(self) -> _End | None:
        self._output_tries += 1
        if self._output_tries <= self._state.choices.max_output_retries:
            return None
        return _End("error_max_structured_output_retries", f"No valid result after {self._output_tries} attempts.")

    def _after_text(self, answer: Answer) -> _End | None:
        choices = self._state.choices
        if answer.stop_reason == "refusal":
            return _End("error_during_execution", "The model declined to answer.")
        if answer.stop_reason == "pause_turn" and self._pauses < _MAX_PAUSES:
            self._pauses += 1
            self._continued += 1
            return None
        if answer.stop_reason == "max_tokens" and self._continued < _MAX_CONTINUED:
            self._continued += 1
            cut = answer.dropped_call
            self._between.remind("output_limit", notes.CONTINUE if cut is None else notes.call_dropped(cut))
            return None
        if not answer.blocks and (self._empty < _MAX_EMPTY or not self._tool_turns):
            return self._after_nothing()
        if choices.output_tool is not None:
            self._between.remind("output_missing", notes.output_missing(choices.output_tool))
            return self._output_failed()
        self._empty = self._continued = self._pauses = 0
        return None if self._between.poll() else _SUCCESS

    def _after_nothing(self) -> _End | None:
        if self._empty < _MAX_EMPTY:
            self._empty += 1
            self._between.remind("empty_answer", notes.EMPTY)
            return None
        return _End("error_during_execution", f"The model gave no answer, {self._empty + 1} times.")

    # Between turns.

    async def _deliver(self) -> bool:
        """Tell what waits; false when hooks kept all of it back and there is nothing to answer."""
        await self._between.gates.turn_ended()
        # In one line with the message, so that after a crash each is told once.
        meta: dict[str, Any] = {DELIVERS_QUEUED: True} if self._between.queue.is_journaled else {}
        self._between.blocked = ""
        blocks = await self._between.take()
        if told := self._between.told:
            meta[PROMPTS] = told
        self._deliver_blocks(blocks, **meta)
        return not self._between.blocked or self._state.history.ends_with_user

    def _deliver_blocks(self, blocks: list[Block], **meta: object) -> None:
        if blocks:
            self._state.history.add_user(blocks)
            self._state.record("user", blocks, **meta)
        self._send_results(blocks)

    def _send_results(self, more: list[Block]) -> None:
        if self._results:
            results, self._results = self._results, []
            self._state.emit(ResultsSent([*results, *more], self._results_uuid))


def _since(before: Usage, now: Usage) -> Usage:
    return Usage(
        now.input_tokens - before.input_tokens,
        now.output_tokens - before.output_tokens,
        now.cache_read_tokens - before.cache_read_tokens,
        now.cache_write_tokens - before.cache_write_tokens,
    )


def _new_blocks(replies: Iterable[CallFinished]) -> Iterable[Block]:
    """What calls add to the conversation beside their results."""
    for reply in replies:
        for message in reply.new_messages:
            content: Any = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else message
            try:
                yield from prompt_blocks(content)
            except UsageError:
                _log.warning("%s (call %s) adds a message that cannot be sent", reply.name, reply.tool_use_id)


def _spent_words(spent_usd: float, limit_usd: float) -> str:
    return f"The run has cost {_usd(spent_usd)}, and its budget is {_usd(limit_usd)}; give it more to go on."


def _usd(amount: float) -> str:
    """An amount as people write it: cents, and more places only where there is something in them."""
    whole, _, places = f"{amount:.6f}".partition(".")
    return f"{whole}.{places[:2]}{places[2:].rstrip('0')} USD"

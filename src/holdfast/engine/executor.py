"""The streaming executor: calls start while the model still streams, replies come in the order of the calls."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast.contract import Asker, Fatal, Resource, SessionFacts, Tool, ToolContext, ToolUse, UsageError
from holdfast.engine.call import Call, Stop, TurnStop, loop_of_this_thread, read_block
from holdfast.engine.changes import apply_changes
from holdfast.engine.deadlines import Deadlines
from holdfast.engine.gate import Gate
from holdfast.engine.outbox import Outbox, ignore, told_in_turn
from holdfast.engine.state import AgentState
from holdfast.events import CallDiscarded, CallFinished, CallProgressed, CallQueued, Event, TurnEnded
from holdfast.lib.closing import ClosedAtExit

if TYPE_CHECKING:
    from holdfast.engine.approve import KeepRules
    from holdfast.hooks import Hook, Hooks
    from holdfast.permissions import Classify, PermissionContext
    from holdfast.registry import Pool

__all__ = ["DEFAULT_MAX_CONCURRENCY", "Executor", "SiblingErrors"]

_log = logging.getLogger(__name__)
SiblingErrors = Literal["cancel-dependents", "cancel-all", "independent"]
DEFAULT_MAX_CONCURRENCY = 10
_INTERRUPTED = Stop("Interrupted by the user before it finished.")
_MESSAGE = Stop("Stopped because the user sent a message. Read it before you go on.")
_WITHDRAWN = Stop("Stopped: whoever made this call does not want it any more.")
_REFUSED = Stop("Not run: the user refused another call of this turn. Stop here and wait for the user.")
_ENDED = Stop("Not run: the run ended.")
_DISCARDED = Stop("The stream is repeated.", discarded=True)


class Executor(ClosedAtExit):
    """Runs the calls of one agent. `add` each call as soon as its input is complete, and read `results`.

    A bare executor has no journal and reads no settings files.
    """

    turn: int = 0
    turn_refused: bool = False
    """A person refused a call of this turn without a word: the model should stop and listen."""
    _turn_stop: TurnStop | None = None
    _count: int = 0
    _fatal: Fatal | None = None
    _closed: bool = False

    def __init__(  # noqa: PLR0913 - every argument is a choice of the caller, all but the first by name
        self,
        tools: "Iterable[Tool] | Pool" = (),
        *,
        permission_mode: str = "default",
        permissions: "PermissionContext | None" = None,
        cwd: str | os.PathLike[str] | None = None,
        session: SessionFacts | None = None,
        hooks: "Iterable[Hook] | Hooks" = (),
        asker: Asker | None = None,
        keep_rules: "KeepRules | None" = None,
        classify: "Classify | None" = None,
        classify_timeout_s: float = 10.0,
        on_event: Callable[[Event], None] | None = None,
        max_concurrency: int = DEFAULT_MAX_CONCURRENCY,
        sibling_errors: SiblingErrors = "cancel-dependents",
        timeout_s: float | None = None,
        cancel_grace_s: float = 10.0,
        spill_directory: Path | None = None,
        resources: Iterable[Resource] | None = None,
    ) -> None:
        from holdfast.engine import parts  # noqa: PLC0415 - loaded with the first executor

        if max_concurrency < 1:
            raise UsageError(f"max_concurrency must be at least 1, got {max_concurrency!r}")
        self.pool = tools if isinstance(tools, parts.Pool) else parts.assemble((), own_tools=tools)
        directory = os.path.abspath(cwd) if cwd is not None else os.getcwd()
        self.state = AgentState(
            directory,
            permissions or parts.PermissionContext.started_in(directory, permission_mode),
            session or SessionFacts(),
        )
        self._emit = on_event or ignore
        self._sibling_errors: SiblingErrors = sibling_errors
        self._cancel_grace_s = cancel_grace_s
        self._spill = parts.SpillStore(spill_directory)
        self._resources = parts.held_by(self.pool) if resources is None else tuple(resources)
        self._outbox = Outbox(self._emit, self._raise_fatal)
        self._gate = Gate(max_concurrency)
        self.yielding = self._gate.yielding
        self._deadlines = Deadlines(self._gate.running, self._overdue, timeout_s)
        self.call_hooks = parts.CallHooks(self.state, self._spill, self._emit)
        self.hooks = hooks
        approver = parts.Approver(self.state, self.call_hooks, asker=asker, emit=self._emit, keep_rules=keep_rules)
        approver.classify_with(classify, classify_timeout_s)
        self._pipeline = parts.Pipeline(
            self.pool,
            self.state,
            approver=approver,
            hooks=self.call_hooks,
            spill=self._spill,
            emit=self._emit,
            on_acting=self._deadlines.start,
            on_refused_turn=self._refuse_turn,
            on_fatal=self._stop_run,
            on_left=self._leave,
        )
        self.state.calls = parts.SubCalls(self._pipeline, self.state, self._gate.running, self._refuse_turn)
        self._telling = (self._outbox, self._pipeline, approver, self.call_hooks)
        self._turn_calls: dict[str, Call] = {}
        self._batch: list[Call] = []

    @property
    def hooks(self) -> "Hooks":
        """The user's hooks; another set counts from the next call on."""
        return self.call_hooks.hooks

    @hooks.setter
    def hooks(self, hooks: "Iterable[Hook] | Hooks") -> None:
        self.call_hooks.use(hooks)

    def add(self, block: Mapping[str, Any] | ToolUse) -> None:
        """Take one complete `tool_use` block. It starts now if it may; it is answered in any case."""
        if self._closed:
            raise UsageError("this executor is closed; make a new one")
        self._count += 1
        call = Call(*read_block(block), self._count, self.turn)
        self._emit(CallQueued(call.id, call.name, call.raw))
        self._outbox.expect(call)
        try:
            if self._turn_calls.setdefault(call.id, call) is not call:
                call.answer(f"The id {call.id!r} was already used in this turn; use a new one each time.", "invalid")
            else:
                self._pipeline.prepare(call)
            if call.reply is None and self._turn_stop is not None and self._turn_stop.holds(call):
                call.answer(self._turn_stop.stop.message, "cancelled")
        finally:
            if call.reply is not None:
                self._outbox.finish(call)
        if call.reply is None:
            self._gate.queue.append(call)
            self._pump()

    def end_turn(self) -> None:
        """Close the turn: calls added from now on start only when all earlier ones have ended."""
        self._emit(TurnEnded(self.turn))
        self.turn += 1
        self.turn_refused = False
        self._turn_stop = None
        self._turn_calls.clear()
        self.call_hooks.begin_turn()

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> CallFinished:
        """One call, without asyncio: runs it and returns its reply."""
        if loop_of_this_thread() is not None:
            raise UsageError("Executor.call is for code without asyncio; in a coroutine use add() and results()")
        return asyncio.run(self._call_once(name, arguments or {}))

    def ready(self) -> Iterator[CallFinished | CallProgressed]:
        """Progress and replies that can be read now, without waiting."""
        yield from self._outbox.ready()
        self._raise_fatal()

    def results(self) -> AsyncIterator[CallFinished | CallProgressed]:
        """Progress at once and replies in call order, until every call added so far is answered."""
        return self._outbox

    def separate_calls(self) -> None:
        """Take each call for itself: answered as soon as it is done, and no failure or refusal stops another one."""
        self._outbox.in_order = False
        self._sibling_errors = "independent"

    def listen(self, listener: Callable[[Event], None]) -> None:
        """From now on tell this one of every event too, after those who listen already."""
        self._emit = told_in_turn(self._emit, listener)
        for part in self._telling:
            part.emit = self._emit

    # Stopping.

    async def interrupt(self) -> None:
        """Hard stop: every call is cancelled and answered; returns when nothing runs any more."""
        self._stop_queued(_INTERRUPTED)
        await self._stop_running(_INTERRUPTED, list(self._gate.running))

    def user_message(self) -> None:
        """The user wrote something mid-run: calls that may be cut short are, all others finish first."""
        for call in self._gate.yielding():
            self._stop(call, _MESSAGE)
        self._pump()  # what waited behind a stopped call may be free to start

    def stop(self, tool_use_id: str) -> bool:
        """Cancel one call, as the one who made it wishes; it is answered too. False when it has ended already."""
        for call in (*self._gate.running, *self._gate.queued()):
            if call.id == tool_use_id:
                self._stop(call, _WITHDRAWN)
                self._pump()  # what waited behind it may be free to start
                return True
        return False

    async def discard(self) -> bool:
        """Forget this turn because its stream is repeated. Only while nothing but read-only calls has started.

        Returns false, and changes nothing, when a call that may have changed something has started already.
        """
        calls = dict.fromkeys(self._turn_calls.values())
        if any(call.acting_since is not None and not call.read_only for call in calls):
            return False
        for call in self._gate.queued():
            if call in calls:
                self._gate.remove(call)
        # Forgotten before the wait, so that the repeated stream may begin, with the same ids, while the old one ends.
        self._outbox.forget(self.turn, self._turn_calls)
        self._turn_calls.clear()
        self._turn_stop = None
        self._batch = [call for call in self._batch if call not in calls]
        try:
            await self._stop_running(_DISCARDED, [call for call in self._gate.running if call in calls])
        finally:
            for call in calls:
                self._emit(CallDiscarded(call.id, call.name))
        return True

    async def close(self) -> None:
        """Stop everything and give back what the executor holds."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.interrupt()
            await self.call_hooks.close()
        finally:
            self._deadlines.cancel()
            self._spill.close()
            for resource in self._resources:
                await resource.close()

    # Inside: the way of a call.

    def _pump(self) -> None:
        gate = self._gate
        while gate.queue and (call := gate.next()) is not None:
            call.state = "executing"
            now = self.state
            around = (now.cwd, call.id, now.session, now.file_reads, self._progress, now, self.call_hooks)
            call.context = ToolContext(*around)
            call.task = asyncio.get_running_loop().create_task(self._pipeline.run(call))

    def _leave(self, call: Call) -> None:
        """The call has its reply: make room for others, unless it was given up before it came to an end."""
        if call.state != "executing":
            return
        self._gate.running.pop(call, None)
        stop = call.stop
        if stop is not None and stop.discarded:
            call.state = "yielded"
            self._pump()
            return
        if call.modifiers or self._batch:
            self._apply_modifiers(call)
        if stop is None:
            if call.failed_shell:
                self._stop_siblings(call)
            elif call.reply is None or (call.reply.outcome == "cancelled" and call.is_stopped_from_outside()):
                self._stop_queued(_ENDED)
        self._outbox.finish(call)
        if self._gate.queue:
            self._pump()

    def _apply_modifiers(self, call: Call) -> None:
        """Exclusive: at once. Concurrent: together when the batch ends, in call order."""
        if call.modifiers:
            self._batch.append(call)
        if self._gate.running:
            return
        batch, self._batch = self._batch, []
        if batch:
            apply_changes(batch, self.state, self._emit)

    def _progress(self, ctx: ToolContext, data: Any) -> None:
        call = next((call for call in tuple(self._gate.running) if call.context is ctx), None)
        if call is None or call.task is None or call.tool is None or (call.stop is not None and call.stop.discarded):
            return
        loop = call.task.get_loop()
        if loop is not loop_of_this_thread():
            loop.call_soon_threadsafe(self._progress, ctx, data)
            return
        elapsed_s = 0.0 if call.acting_since is None else loop.time() - call.acting_since
        self._outbox.progress(CallProgressed(call.id, call.tool.name, data, elapsed_s))

    def _overdue(self, call: Call, took_s: float) -> None:
        self._stop(call, Stop(f"Timed out after {took_s:.1f} s and was stopped. Try a smaller step."))

    # Inside: stopping.

    def _stop(self, call: Call, stop: Stop) -> None:
        if call.state == "queued":
            self._gate.remove(call)
            call.stop = stop
            call.answer(stop.message, "cancelled")
            self._outbox.finish(call)
        else:
            assert call.task is not None
            assert call.context is not None
            if call.stop is None:
                call.task.get_loop().call_later(self._cancel_grace_s, self._give_up, call)
            if call.stop is None or stop.discarded:
                call.stop = stop
            call.context.cancelled = True
            if call.began:
                call.task.cancel()

    def _stop_queued(self, stop: Stop, turn: int | None = None, *, keep_read_only: bool = False) -> None:
        for call in self._gate.queued():
            if (turn is None or call.turn == turn) and not (keep_read_only and call.changes_nothing()):
                self._stop(call, stop)

    async def _stop_running(self, stop: Stop, calls: list[Call]) -> None:
        """Cancel these and wait for them; a call that will not stop is answered and given up after the grace.

        Half the grace belongs to clean-up, undisturbed; then a tool that swallowed the cancellation hears it again.
        """
        current = asyncio.current_task()
        calls = [call for call in calls if call.task is not current]
        for call in calls:
            self._stop(call, stop)
        pending = {call.task for call in calls if call.task is not None}
        for _ in range(2):
            if pending:
                _, pending = await asyncio.wait(pending, timeout=self._cancel_grace_s / 2)
            for task in pending:
                task.cancel()
        for call in calls:
            self._give_up(call)

    def _give_up(self, call: Call) -> None:
        """Answer a call that was stopped and still runs, or whose task died before its first step."""
        if call not in self._gate.running:
            return
        _log.error("the tool %s ignores cancellation; call %s is given up", call.name, call.id)
        call.answer("The call was cancelled but did not stop in time; it may still be running.", "cancelled")
        self._leave(call)

    def _stop_siblings(self, culprit: Call) -> None:
        if self._sibling_errors == "independent":
            return
        stop = Stop(f"Not run: {culprit.name} (call {culprit.id}) failed before it, and this call may depend on it.")
        self._stop_turn(stop, culprit.turn, keep_read_only=self._sibling_errors == "cancel-dependents")
        if self._sibling_errors == "cancel-all":
            for call in list(self._gate.running):
                self._stop(call, stop)

    def _stop_run(self, error: Fatal) -> None:
        self._fatal = error
        self._stop_queued(_ENDED)
        self._stop_turn(_ENDED, self.turn)

    def _refuse_turn(self, call: Call) -> None:
        if not self._outbox.in_order:
            return
        self.turn_refused = True
        self._stop_turn(_REFUSED, call.turn)

    def _stop_turn(self, stop: Stop, turn: int, *, keep_read_only: bool = False) -> None:
        """Stop what waits in this turn, and what the model still adds to it."""
        self._stop_queued(stop, turn, keep_read_only=keep_read_only)
        if turn == self.turn and (self._turn_stop is None or self._turn_stop.keeps_read_only):
            self._turn_stop = TurnStop(stop, keep_read_only)

    def _raise_fatal(self) -> None:
        if self._fatal is not None and not self._outbox.unanswered:
            fatal, self._fatal = self._fatal, None
            raise fatal

    async def _call_once(self, name: str, arguments: Mapping[str, Any] | str) -> CallFinished:
        self.add(ToolUse(f"call-{os.urandom(4).hex()}", name, arguments))
        try:
            replies = [event async for event in self.results() if isinstance(event, CallFinished)]
        finally:
            self._deadlines.cancel()  # the alarm belongs to an event loop that ends now
            for resource in self._resources:
                await resource.leave_loop()
        self.end_turn()
        return replies[-1]

"""Calls that a tool makes itself: of other tools, under the same rights, each judged as if the model had made it."""

import asyncio
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from holdfast.contract import (
    ContextModifier,
    CwdChanged,
    Denied,
    FileRead,
    FileStamp,
    ToolContext,
    ToolFailed,
    UsageError,
)
from holdfast.contract.result import CallReply
from holdfast.engine.call import Call, Stop, loop_of_this_thread
from holdfast.engine.gate import Gate
from holdfast.events import CallFinished, CallStarted, Event, SubCallFinished

if TYPE_CHECKING:
    from holdfast.engine.pipeline import Pipeline
    from holdfast.engine.state import AgentState

__all__ = ["SubCalls"]

_MAX_DEPTH = 8
_MAX_AT_ONCE = 10
_ENDED = Stop("Stopped: the tool that made this call has ended.")
_OVER = "{} has ended, so it makes no more calls; await every ctx.call before the tool returns"


class SubCalls:
    """Makes calls for the calls of one executor. The model reads nothing of them but what the tool tells it."""

    __slots__ = ("_live", "_pipeline", "_refuse_turn", "_running", "_state")

    def __init__(
        self,
        pipeline: "Pipeline",
        state: "AgentState",
        running: Mapping[Call, None],
        refuse_turn: Callable[[Call], None],
    ) -> None:
        """Take the way that every call goes, who runs, and what a refusal without a word ends."""
        self._pipeline = pipeline.beside(
            emit=lambda event: _tell(pipeline, event),
            on_acting=_begin,
            on_refused_turn=self._refused,
            on_left=self._left,
        )
        self._state = state
        self._running = running
        self._refuse_turn = refuse_turn
        self._live: dict[ToolContext[Any], Call] = {}
        """Calls of ours that run now, which may make calls, too."""

    async def make(self, ctx: ToolContext[Any], name: str, arguments: Mapping[str, Any]) -> CallReply:
        """One call; see `ToolContext.call`."""
        family = self._family_of(ctx)
        family.count += 1
        sub = Call(f"{family.parent.id}.{family.count}", name, dict(arguments), family.count, 0)
        self._pipeline.prepare(sub)
        if sub.reply is None:
            family.check(sub)
            await family.enter(sub)
            try:
                await self._run(sub, family)
            finally:
                family.leave(sub)
                self._pipeline.emit(_told(family.parent.id, sub))
        assert sub.reply is not None
        return _read(sub.reply)

    def make_from_thread(self, ctx: ToolContext[Any], name: str, arguments: Mapping[str, Any]) -> CallReply:
        """The same for a tool that is a plain function and runs in a thread."""
        if loop_of_this_thread() is not None:
            raise UsageError("ctx.call_sync is for tools that are plain functions; in a coroutine await ctx.call(…)")
        task = self._parent_of(ctx).task
        assert task is not None
        return asyncio.run_coroutine_threadsafe(self.make(ctx, name, arguments), task.get_loop()).result()

    def _parent_of(self, ctx: ToolContext[Any]) -> Call:
        parent = self._live.get(ctx) or next((call for call in tuple(self._running) if call.context is ctx), None)
        if parent is None:
            raise UsageError(_OVER.format("this call"))
        return parent

    def _family_of(self, ctx: ToolContext[Any]) -> "_Family":
        family = cast("_Family | None", ctx.family)
        if family is None:
            parent = self._parent_of(ctx)
            depth = parent.depth + 1
            if depth > _MAX_DEPTH:
                raise ToolFailed(f"tools call each other {_MAX_DEPTH} deep, and {parent.name} would go on")
            family = ctx.family = _Family(parent, depth, ctx)
        if family.is_over:
            raise UsageError(_OVER.format(family.parent.name))
        return family

    async def _run(self, sub: Call, family: "_Family") -> None:
        now, parent = self._state, family.parent
        sub.state, sub.depth = "executing", family.depth
        sub.context = context = ToolContext(
            family.cwd, sub.id, now.session, family.reads, rights=now, hooks=family.hooks, deps=family.deps
        )
        self._live[context] = sub
        task = sub.task = asyncio.get_running_loop().create_task(self._pipeline.run(sub))
        family.tasks[task] = sub
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            _stop(sub, parent.stop or _ENDED)
            await _end_of([task])
            raise
        finally:
            family.tasks.pop(task, None)
            self._live.pop(context, None)
        for modifier in sub.modifiers:
            if not family.takes(modifier):
                assert sub.tool is not None
                now.apply(modifier, sub.tool.name)

    def _refused(self, sub: Call) -> None:
        """A person said no without a word: the turn of the call that the model made ends."""
        top = next((call for call in self._running if sub.id.startswith(f"{call.id}.")), None)
        if top is not None:
            self._refuse_turn(top)

    def _left(self, sub: Call) -> None:
        if sub.timer is not None:
            sub.timer.cancel()


class _Family:
    """One call and those that it makes: they see what they have read, and the directory they have gone to."""

    __slots__ = (
        "_gate",
        "_seen",
        "_waiting",
        "count",
        "cwd",
        "deps",
        "depth",
        "hooks",
        "is_over",
        "parent",
        "reads",
        "tasks",
    )

    def __init__(self, parent: Call, depth: int, ctx: ToolContext[Any]) -> None:
        self.parent, self.depth = parent, depth
        self.cwd, self.hooks, self.deps = ctx.cwd, ctx.hooks, ctx.own_deps
        self._seen: dict[str, FileStamp] = {}
        """What these calls read: the model has not seen it."""
        self.reads: Mapping[str, FileStamp] = MappingProxyType(ChainMap(self._seen, cast("Any", ctx.file_reads)))
        self._gate = Gate(_MAX_AT_ONCE)
        self._waiting: dict[Call, asyncio.Future[None]] = {}
        self.tasks: dict[asyncio.Task[None], Call] = {}
        self.count = 0
        self.is_over = False

    def check(self, sub: Call) -> None:
        """What the tool promised of its call holds for those that it makes."""
        tool, parent = sub.tool, self.parent
        assert tool is not None
        if parent.read_only and not sub.changes_nothing():
            raise ToolFailed(f"{parent.name} is declared read_only, and {tool.name} may change something")
        if parent.safe and not Gate.is_safe(sub):
            raise ToolFailed(f"{parent.name} is declared concurrency_safe, and {tool.name} must run alone")

    async def enter(self, sub: Call) -> None:
        """Wait until this call may run beside the others of the family."""
        self._waiting[sub] = entered = asyncio.get_running_loop().create_future()
        self._gate.queue.append(sub)
        self._admit()
        try:
            await entered
        except asyncio.CancelledError:
            self._waiting.pop(sub, None)
            self._gate.running.pop(sub, None)
            if sub in self._gate.queue:
                self._gate.remove(sub)
            self._admit()
            raise

    def leave(self, sub: Call) -> None:
        """This call has ended: others may run."""
        self._gate.running.pop(sub, None)
        self._admit()

    def _admit(self) -> None:
        while (call := self._gate.next()) is not None:
            entered = self._waiting.pop(call, None)
            if entered is not None and not entered.done():
                entered.set_result(None)

    def takes(self, modifier: ContextModifier) -> bool:
        """What a call read and where it went stays in the family."""
        if isinstance(modifier, FileRead):
            self._seen[modifier.path] = modifier.stamp
        elif isinstance(modifier, CwdChanged):
            self.cwd = modifier.path
        else:
            return False
        return True

    async def end(self) -> None:
        """The call that made them has ended: what still runs is stopped, and waited for."""
        self.is_over = True
        for entered in self._waiting.values():
            entered.cancel()
        for sub in self.tasks.values():
            _stop(sub, self.parent.stop or _ENDED)
        await _end_of(self.tasks)


def _begin(sub: Call) -> None:
    """The tool begins to work now, and its own time limit to count."""
    loop = asyncio.get_running_loop()
    sub.acting_since = loop.time()
    limit_s = None if sub.tool is None else sub.tool.timeout_s
    if limit_s is not None:
        stop = Stop(f"Timed out after {limit_s:.1f} s and was stopped. Try a smaller step.")
        sub.timer = loop.call_later(limit_s, _stop, sub, stop)


def _stop(sub: Call, stop: Stop) -> None:
    if sub.stop is None:
        sub.stop = stop
    if sub.context is not None:
        sub.context.cancelled = True
    if sub.began and sub.task is not None:
        sub.task.cancel()


async def _end_of(tasks: "Mapping[asyncio.Task[None], Call] | list[asyncio.Task[None]]") -> None:
    """Wait for these, however often we are stopped ourselves: each time they hear it again."""
    stopped = False
    while pending := {task for task in tasks if not task.done()}:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError:
            stopped = True
            for task in pending:
                task.cancel()
    if stopped:
        raise asyncio.CancelledError


def _tell(pipeline: "Pipeline", event: Event) -> None:
    if not isinstance(event, CallStarted):  # faces and transcripts know the calls of the model
        pipeline.emit(event)


def _told(parent_id: str, sub: Call) -> SubCallFinished:
    reply = sub.reply
    if reply is None:
        return SubCallFinished(parent_id, sub.id, sub.name, sub.raw, is_error=True, outcome="cancelled")
    return SubCallFinished(
        parent_id, sub.id, reply.name, sub.raw, reply.is_error, reply.outcome, round(reply.duration_ms, 1)
    )


def _read(reply: CallFinished) -> CallReply:
    read = CallReply(reply.content, reply.data, reply.is_error)
    said = read.text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if reply.outcome == "denied":
        raise Denied(said)
    if reply.outcome != "completed":
        raise ToolFailed(said, error_code=reply.error_code)
    return read

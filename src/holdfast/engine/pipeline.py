"""From raw JSON to exactly one reply: find, parse, validate, permit, call, map, bound.

Denied, cancelled and crashed calls end in exactly one reply too. This is the only place that catches every error.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from holdfast.contract import (
    ArgumentsInvalid,
    Content,
    Denied,
    Fatal,
    Text,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    content_to_wire,
    text_of,
)
from holdfast.engine.approve import Approval, Approver
from holdfast.engine.call import Call
from holdfast.engine.call_hooks import CallHooks, with_note
from holdfast.engine.spill import SpillStore
from holdfast.engine.state import AgentState
from holdfast.events import CallFinished, CallStarted, Event
from holdfast.lib.shortage import shortage
from holdfast.registry import Pool, apply_call_name

__all__ = ["Pipeline"]

_log = logging.getLogger(__name__)
_MAX_INPUT_BYTES = 10_000_000
_RUN_ENDED = "The run ended before the call finished."
_NOT_ANY_MORE = Approval(allowed=False)
"""A call that was stopped before its task took its first step."""


class Pipeline:
    """Takes one call at a time from raw input to its reply; knows nothing of other calls."""

    __slots__ = (
        "_approver",
        "_hooks",
        "_on_acting",
        "_on_fatal",
        "_on_left",
        "_on_refused_turn",
        "_pool",
        "_spill",
        "_state",
        "emit",
    )

    def __init__(  # noqa: PLR0913 - the stages and the ways out, handed in by the executor
        self,
        pool: Pool,
        state: AgentState,
        *,
        approver: Approver,
        hooks: CallHooks,
        spill: SpillStore,
        emit: Callable[[Event], None],
        on_acting: Callable[[Call], None],
        on_refused_turn: Callable[[Call], None],
        on_fatal: Callable[[Fatal], None],
        on_left: Callable[[Call], None],
    ) -> None:
        self._pool = pool
        self._state = state
        self._approver = approver
        self._hooks = hooks
        self._spill = spill
        self.emit = emit
        self._on_acting = on_acting
        self._on_refused_turn = on_refused_turn
        self._on_fatal = on_fatal
        self._on_left = on_left

    def beside(
        self,
        *,
        emit: Callable[[Event], None],
        on_acting: Callable[[Call], None],
        on_refused_turn: Callable[[Call], None],
        on_left: Callable[[Call], None],
    ) -> "Pipeline":
        """The same way for calls that others take care of."""
        return Pipeline(
            self._pool,
            self._state,
            approver=self._approver,
            hooks=self._hooks,
            spill=self._spill,
            emit=emit,
            on_acting=on_acting,
            on_refused_turn=on_refused_turn,
            on_fatal=self._on_fatal,
            on_left=on_left,
        )

    def prepare(self, call: Call) -> None:
        """Find the tool and parse the input; what does not fit is answered here and now."""
        found = self._pool.find(call.name)
        if found is None:
            call.answer(self._pool.missing(call.name), "invalid")
            return
        tool = found.tool
        session = self._state.session
        try:
            if not tool.is_enabled(session):
                call.answer(f"The tool {call.name!r} is not available in this session.", "invalid")
                return
            raw = call.raw if call.raw.__class__ is dict else _as_mapping(call.raw)
            call.raw = raw = raw if found.plain else apply_call_name(found, raw)
            call.args = tool.arguments.parse(raw, session.prompt)
        except ArgumentsInvalid as error:
            call.tool = tool
            how = self._pool.how_to_load(tool)
            call.answer(f"{tool.name}: {error}. {how}Correct the arguments and call {tool.name} again.", "invalid")
        except BaseException as error:
            call.tool = tool
            if isinstance(error, KeyboardInterrupt):
                call.answer(_RUN_ENDED, "cancelled")
                raise
            self._crashed(call, tool)
        else:
            call.tool = tool

    async def run(self, call: Call) -> None:
        """Everything after parsing. However it ends, the call has its reply when `on_left` is told."""
        tool, ctx = call.tool, call.context
        assert tool is not None
        assert ctx is not None
        call.began = True
        hooks = self._hooks
        is_heard = hooks.is_used and tool not in hooks.quiet and hooks.hears(tool)
        try:
            if call.stop is not None:
                approval = _NOT_ANY_MORE
            elif is_heard:
                approval = await self._approve_with_gates(call, tool, ctx)
            else:
                approval = self._approver.at_once(call, tool, ctx)
                if tool.has_validate and (approval is None or approval.allowed):
                    await tool.validate(call.args, ctx)
                if approval is None:
                    approval = await self._approver.settle(call, tool, ctx)
            if approval.allowed and call.stop is None:
                self.emit(CallStarted(call.id, tool.name, call.read_only, call.remote))
                self._on_acting(call)
                self._reply(call, tool, await tool.call(call.args, ctx))
            else:
                self._refuse(call, tool, approval)
                if is_heard and not approval.is_deferred and call.stop is None:
                    await hooks.denied(call, tool, ctx, approval.reason, lambda: self._approver.facts(call, tool, ctx))
        except BaseException as error:
            self._explain(call, tool, error)
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                raise
        finally:
            if is_heard or ctx.family is not None:
                await self._end(call, tool, ctx, is_heard=is_heard)
            self._on_left(call)

    async def _end(self, call: Call, tool: Tool, ctx: ToolContext, *, is_heard: bool) -> None:
        """No call that a tool has made outlives its own; then the user's hooks hear of the end."""
        try:
            if ctx.family is not None:
                await ctx.family.end()
        except asyncio.CancelledError:
            _log.info("call %s was stopped while calls that it had made were ended", call.id)
        if is_heard:
            await self._tell_hooks(call, tool, ctx)

    async def _approve_with_gates(self, call: Call, tool: Tool, ctx: ToolContext) -> Approval:
        """The gates first, then rules and mode; validation only of what is not denied already."""
        heard = None
        if self._hooks.hooks.before(tool.names):
            heard, approval = await self._approver.hear_gates(call, tool, ctx)
        else:
            approval = self._approver.at_once(call, tool, ctx)
        is_changed = heard is not None and heard.updated_input is not None
        if tool.has_validate and not is_changed and (approval is None or approval.allowed):
            await tool.validate(call.args, ctx)  # what replaces the input is validated in its place
        return await self._approver.settle(call, tool, ctx, heard) if approval is None else approval

    def _refuse(self, call: Call, tool: Tool, approval: Approval) -> None:
        if call.stop is not None:
            call.answer(call.stop.message, "cancelled")
            return
        if approval.is_deferred:
            call.answer("Not run yet: a hook of the user leaves the decision for later.", "cancelled")
            self._hooks.deferred = call
            return
        call.answer(
            f"{tool.name} was not run: {approval.reason}. Do not try to get around this; choose another way or ask.",
            "denied",
        )
        if approval.ends_turn:
            self._on_refused_turn(call)

    def _explain(self, call: Call, tool: Tool, error: BaseException) -> None:
        """Answer a call that ended in an error; a reply it already has stands, because the work was done."""
        if call.reply is not None:
            return
        if isinstance(error, asyncio.CancelledError):
            call.answer(call.stop.message if call.stop else "The call was cancelled before it finished.", "cancelled")
        elif isinstance(error, (KeyboardInterrupt, GeneratorExit)):
            call.answer(_RUN_ENDED, "cancelled")
            call.ends_run = True
        elif isinstance(error, ToolFailed):
            call.answer(str(error), "failed", error_code=error.error_code)
        elif isinstance(error, ArgumentsInvalid):
            call.answer(f"{tool.name}: {error}", "invalid", error_code=error.error_code)
        elif isinstance(error, Denied):
            call.answer(str(error), "denied")
        elif isinstance(error, Fatal):
            call.answer(str(error), "failed")
            self._on_fatal(error)
        elif (lacks := shortage(error)) is not None:
            _log.error("%s could not go on: %s", tool.name, lacks, exc_info=error)
            call.answer(f"{tool.name} could not go on: {lacks}", "failed")
        else:
            self._crashed(call, tool)

    def _reply(self, call: Call, tool: Tool, result: Any) -> None:
        call.deadline = None
        if not isinstance(result, ToolResult):  # a user's tool may return bare data
            result = ToolResult(result)
        data: Any = result.data  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        _, content, is_error, modifiers, display, new_messages, backgrounded, _ = result  # pyright: ignore[reportUnknownVariableType]
        if content is None:
            content = tool.to_blocks(data)
        spilled_to = None
        limit = tool.max_result_chars
        if limit is not None and (len(content) > limit or not isinstance(content, str)):
            content, spilled_to = self._bound(content, call, tool, limit)
        call.reply = CallFinished(
            call.id,
            tool.name,
            content if isinstance(content, str) else content_to_wire(content),
            is_error,
            "completed",
            call.duration_ms(),
            data,
            display,
            new_messages,
            spilled_to,
            None,
            call.remote,
        )
        if modifiers:
            call.modifiers = modifiers
        if is_error and tool.failure_cancels_dependents:
            call.failed_shell = not call.read_only and not backgrounded

    def _bound(self, content: Content, call: Call, tool: Tool, limit: int) -> tuple[Content, str | None]:
        text = text_of(content)
        if len(text) <= limit:
            return content, None
        preview = self._spill.shorten(text, call.id, limit=limit, keep=tool.overflow, preview_chars=tool.preview_chars)
        if isinstance(content, str):
            return preview.text, preview.path
        others = tuple(block for block in content if not isinstance(block, Text))
        return (Text(preview.text), *others), preview.path

    async def _tell_hooks(self, call: Call, tool: Tool, ctx: ToolContext) -> None:
        """After the call: hooks may add to the reply; their failure is only said, the work is done."""
        if call.context_notes and call.reply is not None:
            call.reply = with_note(call.reply, "\n\n".join(call.context_notes))
        if call.acting_since is None or call.ends_run or call.reply is None:
            return
        try:
            await self._hooks.finished(call, tool, ctx, lambda: self._approver.facts(call, tool, ctx))
        except asyncio.CancelledError:
            _log.info("the hooks about call %s were ended before they had answered", call.id)
        except Exception:  # noqa: BLE001 - the user's code; the work is done, so the reply stands
            _log.exception("hooks about call %s (%s) failed", call.id, tool.name)

    def _crashed(self, call: Call, tool: Tool) -> None:
        _log.exception("internal error in tool %s (call %s)", tool.name, call.id)
        call.answer(
            f"Internal error in {tool.name}: this is a bug in the tool, not in your arguments. "
            "Its details are in the log; try another way.",
            "crashed",
        )


def _as_mapping(raw: Any) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return dict(cast("Mapping[str, Any]", raw))
    if raw is None:
        return {}
    if not isinstance(raw, (str, bytes)):
        raise ArgumentsInvalid(f"the input must be a JSON object, got {type(raw).__name__}")
    if not raw.strip():
        return {}
    if len(raw) > _MAX_INPUT_BYTES:
        raise ArgumentsInvalid(f"the input has {len(raw):,} characters; at most {_MAX_INPUT_BYTES:,} are read")
    try:
        decoded: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ArgumentsInvalid(f"the input is not valid JSON ({error})") from error
    if not isinstance(decoded, dict):
        raise ArgumentsInvalid(f"the input must be a JSON object, got {type(decoded).__name__}")
    return cast("dict[str, Any]", decoded)

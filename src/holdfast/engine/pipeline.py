"""From raw JSON to exactly one reply: find, parse, validate, permit, call, map, bound.

Denied, cancelled and crashed calls end in exactly one reply too. This is the only place that catches every error.
"""

import asyncio
import logging
import time
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
from holdfast.engine.call import Call, Stop
from holdfast.engine.spill import SpillStore
from holdfast.engine.state import AgentState
from holdfast.events import CallFinished, CallStarted, Event
from holdfast.hooks import HookCall, Hooks
from holdfast.registry import Pool, apply_call_name

__all__ = ["Pipeline"]

_log = logging.getLogger(__name__)
_MAX_INPUT_BYTES = 10_000_000


class Pipeline:
    """Takes one call at a time from raw input to its reply; knows nothing of other calls."""

    __slots__ = ("_approver", "_emit", "_hooks", "_on_acting", "_on_refused_turn", "_pool", "_spill", "_state")

    def __init__(
        self,
        pool: Pool,
        state: AgentState,
        *,
        approver: Approver,
        hooks: Hooks,
        spill: SpillStore,
        emit: Callable[[Event], None],
        on_acting: Callable[[Call], None],
        on_refused_turn: Callable[[Call], None],
    ) -> None:
        self._pool = pool
        self._state = state
        self._approver = approver
        self._hooks = hooks
        self._spill = spill
        self._emit = emit
        self._on_acting = on_acting
        self._on_refused_turn = on_refused_turn

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
            call.raw = apply_call_name(found, _as_mapping(call.raw))
            call.args = tool.arguments.parse(call.raw, session.prompt)
        except ArgumentsInvalid as error:
            call.answer(f"{tool.name}: {error}. Correct the arguments and call {tool.name} again.", "invalid")
        except Exception:  # noqa: BLE001 - the engine's edge: whatever the tool raises, its call is answered
            self._crashed(call, tool, 0.0)
        else:
            call.tool = tool

    async def run(self, call: Call) -> None:
        """Everything after parsing, ending in `call.reply`."""
        tool, ctx = call.tool, call.context
        assert tool is not None
        assert ctx is not None
        began = time.perf_counter()
        try:
            approval = await self._approve(call, tool, ctx)
            if approval.allowed:
                await self._act(call, tool, ctx)
                return
            call.answer(_refusal(tool, approval), "denied", duration_ms=_ms_since(began))
            if approval.ends_turn:
                self._on_refused_turn(call)
        except asyncio.CancelledError:
            stop = call.stop or Stop("The call was cancelled before it finished.")
            call.answer(stop.message, "cancelled", duration_ms=_ms_since(began))
        except ToolFailed as error:
            call.answer(str(error), "failed", duration_ms=_ms_since(began))
        except ArgumentsInvalid as error:
            call.answer(f"{tool.name}: {error}", "invalid", duration_ms=_ms_since(began))
        except Denied as error:
            call.answer(str(error), "denied", duration_ms=_ms_since(began))
        except Fatal as error:
            call.answer(str(error), "failed", duration_ms=_ms_since(began))
            raise
        except (Exception, SystemExit):  # noqa: BLE001 - the engine's edge, as above
            self._crashed(call, tool, _ms_since(began))

    async def _approve(self, call: Call, tool: Tool, ctx: ToolContext) -> Approval:
        decision = self._approver.first_look(call, tool, ctx)
        if self._approver.settles_at_once(decision, tool):
            if decision.behavior == "allow" and tool.has_validate:
                await tool.validate(call.args, ctx)
            return self._approver.conclude(call, tool, decision)
        if tool.has_validate:
            await tool.validate(call.args, ctx)
        return await self._approver.settle(call, tool, ctx, decision)

    async def _act(self, call: Call, tool: Tool, ctx: ToolContext) -> None:
        began = time.perf_counter()
        self._emit(CallStarted(call.id, tool.name, call.read_only))
        self._on_acting(call)
        result = await tool.call(call.args, ctx)
        call.deadline = None
        if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] - users' tools
            result = ToolResult(result)
        call.reply = self._reply(call, tool, result, _ms_since(began))
        call.modifiers = result.modifiers
        call.failed_shell = (
            result.is_error and tool.failure_cancels_dependents and not call.read_only and not result.backgrounded
        )
        if self._hooks.after(tool.names):
            await self._tell_hooks(call, tool, ctx)

    def _reply(self, call: Call, tool: Tool, result: ToolResult[Any], duration_ms: float) -> CallFinished:
        content: Content = result.text if result.text is not None else tool.to_blocks(result.data)
        spilled_to = None
        limit = tool.max_result_chars
        if limit is not None and (len(content) > limit if isinstance(content, str) else True):
            content, spilled_to = self._bound(content, call, tool, limit)
        return CallFinished(
            call.id,
            tool.name,
            content if isinstance(content, str) else content_to_wire(content),
            result.is_error,
            "completed",
            duration_ms,
            result.data,
            result.display,
            result.new_messages,
            spilled_to,
        )

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
        """After the call: a hook may add context to the reply; its failure is only logged, the work is done."""
        for hook in self._hooks.after(tool.names):
            assert call.reply is not None
            try:
                answer = await hook.run(HookCall(call.id, tool.name, call.raw, ctx.cwd, call.reply))
            except Exception:  # noqa: BLE001 - the user's code; the work is done, so the reply stands
                _log.exception("a PostToolUse hook for %s failed", tool.name)
                continue
            if answer is not None and answer.additional_context:
                call.reply = _with_note(call.reply, answer.additional_context)

    def _crashed(self, call: Call, tool: Tool, duration_ms: float) -> None:
        _log.exception("internal error in tool %s (call %s)", tool.name, call.id)
        call.answer(
            f"Internal error in {tool.name}: this is a bug in the tool, not in your arguments. "
            "Its details are in the log; try another way.",
            "crashed",
            duration_ms=duration_ms,
        )


def _as_mapping(raw: Any) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return cast("Mapping[str, Any]", raw)
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


def _refusal(tool: Tool, approval: Approval) -> str:
    return f"{tool.name} was not run: {approval.reason}. Do not try to get around this; choose another way or ask."


def _with_note(reply: CallFinished, note: str) -> CallFinished:
    content = reply.content
    if isinstance(content, str):
        return msgspec.structs.replace(reply, content=f"{content}\n\n{note}")
    return msgspec.structs.replace(reply, content=[*content, {"type": "text", "text": note}])


def _ms_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)

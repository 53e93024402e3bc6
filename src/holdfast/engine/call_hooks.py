"""What the user's hooks are told about calls, and what they change: before, when refused, when done, when failed."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from holdfast.contract import Tool, ToolContext
from holdfast.contract.roles import HookWord
from holdfast.engine.call import Call
from holdfast.engine.spill import SpillStore
from holdfast.engine.state import AgentState
from holdfast.events import CallFinished, Event, HookSpoke, TerminalSignalled, to_builtins
from holdfast.hooks import NO_HOOKS, Hook, Hooks
from holdfast.permissions import CallFacts, Decision, HookOpinion

if TYPE_CHECKING:
    from holdfast.hooks.hear import Verdict
    from holdfast.hooks.inputs import HookInput

__all__ = ["MAX_CONTEXT_CHARS", "CallHooks", "opinion_of", "suggested_updates", "with_note"]

_log = logging.getLogger(__name__)
MAX_CONTEXT_CHARS = 10_000
_PREVIEW_CHARS = 2_000
_AFTER_INTERRUPT_S = 3.0
_NOT_FOR_PEOPLE = "updatedToolOutput for {} is ignored: the model reads what the person answered"
_Input = TypeVar("_Input", bound="HookInput")
FactsOf = Callable[[], CallFacts]


class CallHooks:
    """The hooks of one executor. Another set may take over between two calls."""

    __slots__ = (
        "_background",
        "_spill",
        "awaited",
        "before_hooks",
        "deferred",
        "emit",
        "hooks",
        "is_used",
        "may_defer",
        "quiet",
        "state",
        "stop",
    )

    def __init__(self, state: AgentState, spill: SpillStore, emit: Callable[[Event], None]) -> None:
        self.hooks: Hooks = NO_HOOKS
        self.is_used = False
        """There are hooks at all; without any a call asks for nothing but this."""
        self.quiet: set[Tool] = set()
        """Tools that no hook is about; their calls ask for nothing but this."""
        self.emit = emit
        self.stop: str | None = None
        """A hook wants the run to end, and why."""
        self.may_defer = False
        """A call may be left for a later process to decide, as `-p` can."""
        self.deferred: Call | None = None
        self.state = state
        self.before_hooks: Callable[[], object] | None = None
        """Called before hooks hear an event: brings the transcript up to date that they may read."""
        self._spill = spill
        self._background: set[asyncio.Task[None]] = set()
        self.awaited: set[asyncio.Task[None]] = set()
        """Questions beside the work that the next turn waits for."""

    def use(self, hooks: Iterable[Hook] | Hooks) -> None:
        """Another set takes over with the next call."""
        self.hooks = hooks if isinstance(hooks, Hooks) else Hooks(hooks)
        self.is_used = len(self.hooks) > 0
        self.quiet = set()

    def hears(self, tool: Tool) -> bool:
        """Some hook is about calls of this tool."""
        if self.hooks.hears(tool.names):
            return True
        self.quiet.add(tool)
        return False

    async def settled(self) -> None:
        """Wait for what must be known before the work goes on."""
        if self.awaited:
            await asyncio.wait(tuple(self.awaited))

    def begin_turn(self) -> None:
        """What hooks said about the last turn is done with."""
        self.stop = None
        self.deferred = None

    def fill(self, kind: "type[_Input]", **fields: Any) -> _Input:
        """An event's record with what every hook is told."""
        state, session = self.state, self.state.session
        known: dict[str, Any] = {
            "session_id": session.session_id,
            "transcript_path": session.transcript_path,
            "cwd": state.cwd,
            "permission_mode": state.permissions.mode,
        }
        optional = {
            "prompt_id": state.prompt_id,
            "effort": None if state.effort is None else {"level": state.effort},
            "agent_id": session.agent_id,
            "agent_type": session.agent_type,
        }
        known.update((name, value) for name, value in optional.items() if value is not None)
        return kind(**{**known, **fields})

    async def fire(self, event: "HookInput") -> "Verdict":
        """Tell an event that is about no call to the hooks that fit."""
        return await self._hear(self.hooks.fitting(event.event_name, event.subjects()), event)

    def hears_of(self, event: str) -> bool:
        """Some hook is about this event."""
        return self.hooks.has(event)

    async def tell(self, event: str, /, **fields: Any) -> HookWord:
        """Tell an event that a tool is about, and what the hooks say."""
        if not self.hooks.has(event):
            return HookWord()
        from holdfast.hooks.events import EVENTS  # noqa: PLC0415 - as above

        verdict = await self.fire(self.fill(EVENTS[event], **fields))
        return HookWord(verdict.blocks, verdict.reason, verdict.more)

    # Around one call.

    async def before(self, call: Call, tool: Tool, ctx: ToolContext, facts: FactsOf) -> "Verdict | None":
        """Ask the gates, all with the original input; None when none of them fits."""
        from holdfast.hooks.inputs import PreToolUse  # noqa: PLC0415 - see above

        found = self._meant(self.hooks.before(tool.names), facts)
        if not found:
            return None
        event = self.fill(PreToolUse, cwd=ctx.cwd, tool_name=tool.name, tool_input=call.raw, tool_use_id=call.id)
        verdict = await self._hear(found, event)
        call.context_notes += tuple(self._bounded(verdict.contexts, call.id))
        return verdict

    async def requested(
        self, call: Call, tool: Tool, ctx: ToolContext, facts: FactsOf, suggestions: tuple[str, ...]
    ) -> "Verdict | None":
        """Ask the hooks that may answer a question in place of a person."""
        from holdfast.hooks.inputs import PermissionRequest  # noqa: PLC0415 - see above

        found = self._meant(self.hooks.fitting("PermissionRequest", tool.names), facts)
        if not found:
            return None
        event = self.fill(
            PermissionRequest,
            cwd=ctx.cwd,
            tool_name=tool.name,
            tool_input=call.raw,
            permission_suggestions=suggested_updates(suggestions),
        )
        return await self._hear(found, event)

    async def denied(self, call: Call, tool: Tool, ctx: ToolContext, reason: str, facts: FactsOf) -> None:
        """Tell that a call was refused; a hook may let the model try again."""
        from holdfast.hooks.inputs import PermissionDenied  # noqa: PLC0415 - see above

        found = self._meant(self.hooks.fitting("PermissionDenied", tool.names), facts)
        if not found:
            return
        event = self.fill(
            PermissionDenied, cwd=ctx.cwd, tool_name=tool.name, tool_input=call.raw, tool_use_id=call.id, reason=reason
        )
        verdict = await self._hear(found, event)
        notes = self._bounded(verdict.contexts, call.id)
        if verdict.retry:
            notes = [*notes, "A hook of the user lets you try this call again."]
        self._note(call, notes)

    async def finished(self, call: Call, tool: Tool, ctx: ToolContext, facts: FactsOf) -> None:
        """Tell how a call went; hooks may add to what the model reads, or replace it."""
        reply = call.reply
        assert reply is not None
        if reply.is_error:
            await self._failed(call, tool, ctx, reply, facts)
            return
        found = self._meant(self.hooks.fitting("PostToolUse", tool.names), facts)
        if found:
            from holdfast.hooks.inputs import PostToolUse  # noqa: PLC0415 - see above

            response = response_of(reply)
            event = self.fill(
                PostToolUse,
                cwd=ctx.cwd,
                tool_name=tool.name,
                tool_input=call.raw,
                tool_use_id=call.id,
                tool_response=response,
                tool_result=response,
                tool_output=response,
                duration_ms=reply.duration_ms,
            )
            self._change(call, tool, await self._hear(found, event))

    async def _failed(self, call: Call, tool: Tool, ctx: ToolContext, reply: CallFinished, facts: FactsOf) -> None:
        found = self._meant(self.hooks.fitting("PostToolUseFailure", tool.names), facts)
        if not found:
            return
        from holdfast.hooks.inputs import PostToolUseFailure  # noqa: PLC0415 - see above

        event = self.fill(
            PostToolUseFailure,
            cwd=ctx.cwd,
            tool_name=tool.name,
            tool_input=call.raw,
            tool_use_id=call.id,
            error=text_of_reply(reply),
            is_interrupt=reply.outcome == "cancelled",
            duration_ms=reply.duration_ms,
        )
        if reply.outcome != "cancelled":
            self._change(call, tool, await self._hear(found, event))
            return
        try:  # whoever interrupted waits for this
            async with asyncio.timeout(_AFTER_INTERRUPT_S):
                await self._hear(found, event)
        except TimeoutError:
            _log.warning("hooks about the interrupted call %s took too long and were ended", call.id)

    def notify(self, message: str, kind: str, title: str = "") -> None:
        """Tell the user's notifiers beside the work."""
        if not self.hooks.fitting("Notification", (kind,)):
            return
        from holdfast.hooks.session_inputs import Notification  # noqa: PLC0415 - see above

        event = self.fill(Notification, message=message, title=title, notification_type=kind)
        self._in_background(event)

    async def close(self) -> None:
        """End what runs beside the work."""
        for task in (*self._background, *self.awaited):
            task.cancel()
        if self._background or self.awaited:
            await asyncio.wait((*self._background, *self.awaited))

    # Inside.

    def _in_background(self, event: "HookInput") -> None:
        async def tell() -> None:
            await self.fire(event)

        task = asyncio.get_running_loop().create_task(tell())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _hear(self, found: tuple[Hook, ...], event: "HookInput") -> "Verdict":
        from holdfast.hooks.hear import hear  # noqa: PLC0415 - who has no hooks needs none of it

        if found and self.before_hooks is not None:
            self.before_hooks()
        verdict = await hear(found, event, self.hooks, emit=self.emit)
        self._pass_on(event.event_name, verdict)
        return verdict

    def _pass_on(self, event: str, verdict: "Verdict") -> None:
        verdict.reason = self.bounded(verdict.reason, f"{event}-hook")
        if verdict.stop is not None:
            verdict.stop = self.bounded(verdict.stop, f"{event}-hook")
        for text in verdict.messages:
            self.emit(HookSpoke(event, text[:MAX_CONTEXT_CHARS]))
        if sequence := verdict.more.get("terminalSequence"):
            self.emit(TerminalSignalled(event, sequence))
        for text in verdict.warnings:
            _log.warning("%s", text)
            self.emit(HookSpoke(event, text[:MAX_CONTEXT_CHARS], is_warning=True))
        if verdict.stop is not None and self.stop is None:
            self.stop = verdict.stop

    def _meant(self, found: tuple[Hook, ...], facts: FactsOf) -> tuple[Hook, ...]:
        """Those whose `if` speaks of this call; whatever cannot be told counts as meant."""
        if all(hook.condition is None for hook in found):
            return found
        from holdfast.engine.hook_conditions import is_meant  # noqa: PLC0415 - few hooks have one

        call, permissions = facts(), self.state.permissions
        return tuple(hook for hook in found if hook.condition is None or is_meant(hook.condition, call, permissions))

    def _change(self, call: Call, tool: Tool, verdict: "Verdict") -> None:
        reply = call.reply
        assert reply is not None
        if verdict.updated_output is not None and tool.requires_user_interaction:
            self.emit(HookSpoke("PostToolUse", _NOT_FOR_PEOPLE.format(tool.name), is_warning=True))
        elif verdict.updated_output is not None:
            text = _as_text(verdict.updated_output)
            reply = msgspec.structs.replace(reply, content=self._bounded([text], call.id)[0])
            call.reply = reply
        notes = self._bounded(verdict.contexts, call.id)
        if verdict.blocks:
            notes += self._bounded([verdict.reason], call.id)
        self._note(call, notes)

    def _note(self, call: Call, notes: list[str]) -> None:
        if notes and call.reply is not None:
            call.reply = with_note(call.reply, "\n\n".join(notes))

    def _bounded(self, texts: list[str], call_id: str) -> list[str]:
        """What is too long goes to a file."""
        return [self.bounded(text, f"{call_id}-hook") for text in texts if text]

    def bounded(self, text: str, name: str) -> str:
        """The text, or its beginning and where the rest is."""
        return self._spill.shorten(
            text, name, limit=MAX_CONTEXT_CHARS, keep="keep-start", preview_chars=_PREVIEW_CHARS
        ).text


def response_of(reply: CallFinished) -> dict[str, Any]:
    """A result as hook scripts read it: always an object, never the numbered text that the model reads."""
    try:
        data: Any = to_builtins(reply.data)
    except (TypeError, ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        found = dict(cast("dict[str, Any]", data))
    else:
        found = {"content": text_of_reply(reply) if data is None else data}
    file: Any = found.get("file")
    if "filePath" not in found and isinstance(file, dict) and "filePath" in file:
        found["filePath"] = file["filePath"]
    found.setdefault("success", not reply.is_error)
    return found


def text_of_reply(reply: CallFinished) -> str:
    """What the model reads, as text."""
    if isinstance(reply.content, str):
        return reply.content
    return "\n".join(str(block.get("text", "")) for block in reply.content if block.get("type") == "text")


def with_note(reply: CallFinished, note: str) -> CallFinished:
    """The reply with more for the model to read."""
    content = reply.content
    if isinstance(content, str):
        return msgspec.structs.replace(reply, content=f"{content}\n\n{note}")
    return msgspec.structs.replace(reply, content=[*content, {"type": "text", "text": note}])


def _as_text(output: Any) -> str:
    """What a hook puts in the place of a result, as the model reads it: the text that is in it, else all of it."""
    known: Any = output
    if isinstance(known, dict):
        fields = cast("dict[str, Any]", known)
        if isinstance(fields.get("stdout"), str):
            parts = [fields["stdout"], fields.get("stderr")]
            return "\n".join(part for part in parts if isinstance(part, str) and part)
        file: Any = fields.get("file")
        known = cast("dict[str, Any]", file).get("content") if isinstance(file, dict) else fields.get("content")
    if isinstance(known, list):
        blocks = [cast("dict[str, Any]", block) for block in cast("list[Any]", known) if isinstance(block, dict)]
        known = "\n".join(str(block["text"]) for block in blocks if isinstance(block.get("text"), str)) or None
    return known if isinstance(known, str) else msgspec.json.encode(output).decode()


def suggested_updates(rules: tuple[str, ...]) -> list[dict[str, Any]]:
    """What "always" would save, as programs that answer questions read it."""
    if not rules:
        return []
    from holdfast.permissions.policy.suggest import for_this_session  # noqa: PLC0415 - with the first question

    found = [_rule_on_wire(text) for text in rules]
    place = "session" if for_this_session(rules) else "localSettings"
    return [{"type": "addRules", "rules": found, "behavior": "allow", "destination": place}]


def _rule_on_wire(text: str) -> dict[str, str]:
    name, bracket, content = text.partition("(")
    return {"toolName": name, "ruleContent": content.removesuffix(")")} if bracket else {"toolName": name}


def opinion_of(heard: "Verdict", original: Decision) -> HookOpinion | None:
    """What the gates' word amounts to. A question that a rule puts about the input as it came is not changed away."""
    hook: HookOpinion | None = None
    if heard.behavior is not None:
        reason = heard.reason or "a PreToolUse hook said so"
        if heard.behavior == "defer":
            hook = HookOpinion("ask", f"a hook wants to decide later, which is not possible here: {reason}")
        else:
            hook = HookOpinion(heard.behavior, reason)
    changed = heard.updated_input is not None
    if changed and original.behavior == "ask" and original.layer in ("ask", "guard", "ceiling"):
        return HookOpinion("ask", f"{original.reason}, before a hook changed the input")
    return hook

"""From a parsed call to a yes or no: the user's gates, the rules, and a person where those say ask."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from holdfast.contract import (
    Answer,
    ArgumentsInvalid,
    Asker,
    Form,
    FormAnswer,
    ModeUpdate,
    Opinion,
    Question,
    Tool,
    ToolContext,
)
from holdfast.engine.asked import Approval, Asked, Heard, again_seen, fully_told, with_circumstances, without_input
from holdfast.engine.askers import nobody_to_ask
from holdfast.engine.call import Call, may_object, word_judge
from holdfast.engine.call_hooks import CallHooks, opinion_of
from holdfast.engine.consult import DEFAULT_CLASSIFY_TIMEOUT_S, consult
from holdfast.engine.forms import FormDesk
from holdfast.engine.state import AgentState
from holdfast.engine.updating import KeepRules, RightsUpdater, chosen_by_hook
from holdfast.events import Event, PermissionAsked, PermissionDecided, PermissionWithdrawn
from holdfast.permissions import CallFacts, Classify, Decision, HookOpinion, Step, decide
from holdfast.permissions.facts import places_of, with_places

if TYPE_CHECKING:
    from holdfast.hooks import Verdict

__all__ = ["Approval", "Approver", "KeepRules"]

_log = logging.getLogger(__name__)
_REMEMBERED = 256
_HELD_FOR_PEOPLE = frozenset({"ask", "guard", "ceiling", "hook"})
"""Layers whose question no hook may answer with yes."""


_YES = Approval(allowed=True)


class Approver:
    """Decides each call of one agent. Nothing here can turn a deny into anything else."""

    __slots__ = (
        "_asked",
        "_asker",
        "_classify",
        "_classify_timeout_s",
        "_forms",
        "_hooks",
        "_judges_commands",
        "_known",
        "_known_for",
        "_remembered",
        "_state",
        "_updater",
        "emit",
    )

    def __init__(
        self,
        state: AgentState,
        hooks: CallHooks,
        *,
        asker: Asker | None,
        emit: Callable[[Event], None],
        keep_rules: KeepRules | None = None,
    ) -> None:
        self.classify_with(None, DEFAULT_CLASSIFY_TIMEOUT_S)
        self._updater = RightsUpdater(state, keep_rules)
        self._forms = FormDesk(asker, self._emit_late, hooks.notify)
        self._state = state
        self._hooks = hooks
        self._asker = asker
        self._asked = 0
        self.emit = emit
        self._known: dict[tuple[object, ...], Decision] = {}
        self._known_for = state.permissions
        self._judges_commands = state.permissions.judges_commands()
        self._remembered: set[Tool] = set()
        """Tools of which some decision depends on nothing but the input."""

    def _emit_late(self, event: Event) -> None:
        self.emit(event)  # whoever listens by then

    def classify_with(self, classify: Classify | None, timeout_s: float) -> None:
        """Hear a second classifier about calls whose risk our own analysis does not know."""
        self._classify = classify
        self._classify_timeout_s = timeout_s

    def first_look(self, call: Call, tool: Tool, ctx: ToolContext) -> Decision:
        """What rules and mode say, before anything about the call's target is revealed."""
        permissions = self._state.permissions
        if self._known_for is not permissions:
            self._known.clear()
            self._known_for = permissions
            self._judges_commands = permissions.judges_commands()
        if self._state.tells_every_layer:
            self.facts(call, tool, ctx)
        if not tool.judged_by_name:
            return self._look_at_input(call, tool, ctx)
        call.read_only = read_only = tool.is_read_only(call.args)
        decision = self._known.get((tool, read_only))
        if decision is None:
            decision = decide(self.facts(call, tool, ctx), permissions)
            if not permissions.judges_input(tool.names):
                self._known[tool, read_only] = decision  # as many as there are tools
        return decision

    def _look_at_input(self, call: Call, tool: Tool, ctx: ToolContext) -> Decision:
        """A command that touches no file is judged by its words alone: the same words, the same decision."""
        key: tuple[object, ...] | None = None
        call.read_only = read_only = tool.is_read_only(call.args)
        if tool in self._remembered:
            key = (tool, read_only, ctx.cwd, *call.raw.items())
            try:
                decision = self._known.get(key)
            except TypeError:  # a value that cannot be looked up
                key = decision = None
            if decision is not None:
                return decision
        facts = self.facts(call, tool, ctx)
        subject = facts.subject
        if subject.kind != "command" or not word_judge()(tool.name, subject.value, facts.effects, cwd=ctx.cwd):
            return decide(facts, self._state.permissions)
        self._remembered.add(tool)
        # Where no rule speaks of commands, all that only read and touch no file are judged alike.
        shared = None if self._judges_commands else (tool, read_only)
        decision = None if shared is None else self._known.get(shared)
        if decision is None:
            decision = decide(facts, self._state.permissions)
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        for known in (key, shared):
            if known is not None:
                self._known[known] = decision
        return decision

    def at_once(self, call: Call, tool: Tool, ctx: ToolContext) -> Approval | None:
        """The final word if nothing further can change it: no gate or opinion to hear, no person to ask."""
        decision = self.first_look(call, tool, ctx)
        behavior = decision.behavior
        stays_open = behavior != "deny" and (
            (tool.has_opinion and tool.may_object(call.args)) or (self._classify is not None and decision.classified)
        )
        if behavior == "allow" and not stays_open:
            ctx.granted = "classifier" if decision.classified else decision.layer
            self._tell(call, tool, decision)
            return _YES
        if stays_open or (behavior == "ask" and self._may_be_answered()):
            call.first = (decision, self._state.permissions)
            return None
        return self.conclude(call, tool, decision)

    def _may_be_answered(self) -> bool:
        return nobody_to_ask(self._asker) is None or self._hooks.hooks.has("PermissionRequest")

    async def hear_gates(self, call: Call, tool: Tool, ctx: ToolContext) -> "tuple[Verdict | None, Approval | None]":
        """Ask the gates about the input as it came, and say whether a no of theirs or of the rules stands already.

        The gates hear every call, also one that a rule denies; but they cannot lift that.
        """
        heard = await self._hooks.before(call, tool, ctx, lambda: self.facts(call, tool, ctx))
        call.facts = call.first = None  # hooks take their time, and what they run may move what a path leads to
        decision = self.first_look(call, tool, ctx)
        if decision.behavior == "deny" and not self._yields_to_hook(decision):
            return heard, self.conclude(call, tool, decision)
        if heard is None:
            return None, self.at_once(call, tool, ctx)
        if heard.behavior == "deny":
            hook = HookOpinion("deny", heard.reason or "a PreToolUse hook said no")
            return heard, self.conclude(
                call, tool, decide(self.facts(call, tool, ctx), self._state.permissions, hook=hook)
            )
        if heard.behavior == "defer" and self._hooks.may_defer:
            return heard, Approval(allowed=False, reason=heard.reason, is_deferred=True)
        return heard, None

    def _yields_to_hook(self, decision: Decision) -> bool:
        """The deny only stands for a question that `dontAsk` puts to nobody, and a hook's yes would answer it."""
        permissions = self._state.permissions
        if decision.layer == "mode":
            return permissions.effective_mode == "dontAsk"
        return decision.layer == "ceiling" and any(
            above.effective_mode == "dontAsk" for above in permissions.ancestors()
        )

    def conclude(self, call: Call, tool: Tool, decision: Decision) -> Approval:
        """Announce a decision that stands, and turn it into a yes or no."""
        if decision.behavior == "ask":
            reason = f"{decision.reason}, and {nobody_to_ask(self._asker) or 'nobody was asked'}"
            step = Step("ask", "deny", reason)
            decision = Decision("deny", decision.layer, reason, decision.rule, (*decision.trace, step))
        self._tell(call, tool, decision)
        return _YES if decision.behavior == "allow" else Approval(allowed=False, reason=decision.reason)

    async def settle(self, call: Call, tool: Tool, ctx: ToolContext, heard: "Verdict | None" = None) -> Approval:
        """Decide with what the gates and the tool itself say, and ask a person if need be."""
        first = call.first
        is_fresh = first is not None and first[1] is self._state.permissions
        decision = first[0] if first is not None and is_fresh else self.first_look(call, tool, ctx)
        hook = None if heard is None else opinion_of(heard, decision)
        opinion: Opinion | None = None
        if heard is not None and heard.updated_input is not None:
            await self._replace_input(call, tool, ctx, heard.updated_input)
        if heard is not None or may_object(call, tool):
            # A gate may have changed the input, so the tool is asked anew whether it has something to say.
            opinion = await tool.check_permission(call.args, ctx) if may_object(call, tool) else None
            if opinion is not None and opinion.updated_input is not None:
                await self._replace_input(call, tool, ctx, opinion.updated_input)
            opinion = without_input(opinion)
            decision = decide(self.facts(call, tool, ctx), self._state.permissions, hook=hook, opinion=opinion)
        decision = await self._consulted(self.facts(call, tool, ctx), decision, (hook, opinion))
        if decision.behavior != "ask":
            return self._by_rights(call, tool, ctx, decision)
        if self._hooks.hooks.has("PermissionRequest"):
            answered = await self._ask_hooks(call, tool, ctx, decision)
            if answered is not None:
                return answered
        if nobody_to_ask(self._asker) is not None:
            return self.conclude(call, tool, decision)
        return await self._ask(call, tool, ctx, decision, (hook, opinion))

    async def _consulted(self, facts: CallFacts, decision: Decision, heard: Heard) -> Decision:
        if self._classify is None or not decision.classified:
            return decision
        judge = partial(decide, facts, hook=heard[0], opinion=heard[1])
        limit_s = self._classify_timeout_s
        return await consult(
            self._classify, facts, lambda one: judge(self._state.permissions, classifier=one), timeout_s=limit_s
        )

    def _by_rights(self, call: Call, tool: Tool, ctx: ToolContext, decision: Decision) -> Approval:
        ctx.granted = "classifier" if decision.classified else decision.layer
        return self.conclude(call, tool, decision)

    async def _as_it_stands(self, call: Call, tool: Tool, ctx: ToolContext, hook: HookOpinion | None) -> Approval:
        """Nobody had to answer, as the rights say yes by now: they decide alone, and no person has agreed."""
        opinion = without_input(await tool.check_permission(call.args, ctx)) if may_object(call, tool) else None
        call.facts = facts = again_seen(self.facts(call, tool, ctx), self._state.permissions)
        decision = decide(facts, self._state.permissions, hook=hook, opinion=opinion)
        decision = await self._consulted(facts, decision, (hook, opinion))
        if decision.behavior == "ask":
            return await self._ask(call, tool, ctx, decision, (hook, opinion))
        return self._by_rights(call, tool, ctx, decision)

    def facts(self, call: Call, tool: Tool, ctx: ToolContext) -> CallFacts:
        """What the input would do. It is worked out once: every later look is at the same places."""
        if call.facts is not None:
            return call.facts
        call.read_only = tool.is_read_only(call.args)
        facts = CallFacts(
            tool.name,
            tool.names,
            call.raw,
            ctx.cwd,
            call.read_only,
            tool.effects(call.args, ctx),
            tool.permission_matcher(call.args, ctx),
            tool.is_session_state(call.args),
            tool.requires_user_interaction,
            sandboxed=tool.is_confined(call.args, ctx),
            holds_files=partial(tool.holds_files, call.args, ctx),
            server=tool.mcp_info and tool.mcp_info.server,
            classifier_input=None if tool.judged_by_name else tool.classifier_input(call.args),
        )
        call.facts = facts = with_places(facts, self._state.permissions)
        return facts

    async def _ask_hooks(self, call: Call, tool: Tool, ctx: ToolContext, decision: Decision) -> Approval | None:
        """Let the user's hooks answer the question. A no counts always, a yes where no rule or guard wants a person."""
        from holdfast.permissions.policy.suggest import suggest_rules_for  # noqa: PLC0415 - with the first question

        facts = self.facts(call, tool, ctx)
        asked = Asked(decision, places_of(facts, self._state.permissions))
        began_s = perf_counter()
        heard = await self._hooks.requested(
            call, tool, ctx, lambda: facts, suggest_rules_for(facts, self._state.permissions)
        )
        if heard is None or heard.behavior not in ("allow", "deny"):
            return None
        if heard.behavior == "deny":
            reason = heard.reason or "a PermissionRequest hook said no"
            approval = Approval(allowed=False, reason=reason, ends_turn=heard.interrupts)
        elif decision.layer in _HELD_FOR_PEOPLE or decision.guarded or tool.requires_user_interaction:
            return None
        else:
            said = Answer("allow", heard.updated_input, updates=chosen_by_hook(heard.updates, self._state.permissions))
            approval = await self._take_answer(call, tool, ctx, said, asked=asked)
            ctx.asked, ctx.granted = False, "hook"  # a hook is no person
        self._announce(call, tool, decision, approval, layer="hook", began_s=began_s)
        return approval

    async def _ask(self, call: Call, tool: Tool, ctx: ToolContext, decision: Decision, heard: Heard) -> Approval:
        from holdfast.permissions.policy.suggest import suggest_rules_for  # noqa: PLC0415 - with the first question

        assert self._asker is not None
        facts = self.facts(call, tool, ctx)
        places = places_of(facts, self._state.permissions)
        form = await tool.form(call.args, ctx) if tool.has_form else None
        if form is not None:
            return await self._ask_form(call, tool, ctx, Asked(decision, places), form)
        rules = suggest_rules_for(facts, self._state.permissions)
        preview = await tool.preview(call.args, ctx) if tool.has_preview else None
        shown = "" if preview is None else preview.diff
        self._asked += 1  # people tell questions apart by the number, programs by the rest
        id_ = f"ask-{self._asked}-{os.urandom(4).hex()}"
        question = Question(id_, call.id, tool.name, call.raw, decision.reason, rules, decision.trace, shown)
        question = with_circumstances(question, facts, self._state, heard)
        self.emit(PermissionAsked(question.id, call.id, tool.name, call.raw, decision.reason, rules))
        began_s = perf_counter()
        self._hooks.notify(f"{tool.name} needs your permission: {decision.reason}", "permission_prompt")
        try:
            answer = await self._asker.ask(question)
        except asyncio.CancelledError:
            self.emit(PermissionWithdrawn(question.id, call.id, tool.name, _since_ms(began_s)))
            raise
        except Exception:  # noqa: BLE001 - a face's bug: nobody said yes, and it is not the tool's fault
            _log.exception("the question about %s (call %s) could not be asked", tool.name, call.id)
            approval = Approval(allowed=False, reason="the question could not be put to the user")
        else:
            if answer.by_nobody and answer.behavior == "allow":
                return await self._as_it_stands(call, tool, ctx, heard[0])
            approval = await self._take_answer(call, tool, ctx, answer, asked=Asked(decision, places))
            if preview is not None and approval.allowed and answer.updated_input is None:
                call.args = tool.arguments.with_internal(call.args, preview.internal)
        self._announce(call, tool, decision, approval, layer="ask", began_s=began_s)
        return approval

    async def _ask_form(self, call: Call, tool: Tool, ctx: ToolContext, asked: Asked, form: Form) -> Approval:
        """Let a person fill in what the call needs: who accepts the form lets the call run with what stands in it."""
        form = form._replace(tool_use_id=call.id, input=form.input or call.raw)
        began_s = perf_counter()
        said: FormAnswer = await self._forms.put(form)
        is_yes = said.action == "accept"
        answer = Answer("allow" if is_yes else "deny", message=said.message, updates=said.updates)
        approval = await self._take_answer(call, tool, ctx, answer, asked=asked)
        if approval.allowed:
            call.args = tool.arguments.with_internal(call.args, tool.filled(call.args, said))
        self._announce(call, tool, asked.decision, approval, layer="ask", began_s=began_s)
        return approval

    def _announce(
        self, call: Call, tool: Tool, asked: Decision, approval: Approval, *, layer: str, began_s: float
    ) -> None:
        behavior = "allow" if approval.allowed else "deny"
        reason = approval.reason or f"{'the user' if layer == 'ask' else 'a hook'} said yes"
        trace = (*asked.trace, Step(layer, behavior, reason))
        self._tell(call, tool, Decision(behavior, layer, reason, asked.rule, trace), _since_ms(began_s))

    def _tell(self, call: Call, tool: Tool, decision: Decision, took_ms: float = 0.0) -> None:
        if self._state.tells_every_layer and call.facts is not None:
            decision = fully_told(decision, call.facts, self._state.permissions)
        self.emit(PermissionDecided(call.id, tool.name, decision.behavior, decision, took_ms))

    async def _take_answer(self, call: Call, tool: Tool, ctx: ToolContext, answer: Answer, *, asked: Asked) -> Approval:
        for update in answer.added:
            if not isinstance(update, ModeUpdate):
                self._updater.take(call, update, self.emit)
        if answer.behavior != "allow":
            ends_turn = not answer.message and self._state.session.agent_id is None
            return Approval(allowed=False, reason=answer.refusal, ends_turn=ends_turn)
        if answer.updated_input is not None:
            await self._replace_input(call, tool, ctx, answer.updated_input)
        else:
            call.facts = again_seen(self.facts(call, tool, ctx), self._state.permissions)
            if moved := asked.moved(call.facts, self._state.permissions):
                return Approval(allowed=False, reason=moved)
        # A deny or a guard that came while the question was open holds, and so does one that the changed input meets.
        again = self.first_look(call, tool, ctx)
        for update in answer.added:
            if isinstance(update, ModeUpdate):  # for what comes after this call: about this one the user has spoken
                self._updater.take(call, update, self.emit)
        if again.behavior == "deny" or asked.is_new_guard(again):
            return Approval(allowed=False, reason=again.reason)
        ctx.asked, ctx.granted = True, "ask"
        return _YES

    async def _replace_input(self, call: Call, tool: Tool, ctx: ToolContext, raw: Mapping[str, Any]) -> None:
        """A changed input is parsed, validated and judged like the first one."""
        try:
            call.args = tool.arguments.parse(raw, self._state.session.prompt)
        except ArgumentsInvalid as error:
            raise ArgumentsInvalid(f"the changed input does not fit: {error}", problems=error.problems) from error
        call.raw = raw
        call.facts = call.first = None
        if tool.has_validate:
            await tool.validate(call.args, ctx)


def _since_ms(began_s: float) -> float:
    return (perf_counter() - began_s) * 1000

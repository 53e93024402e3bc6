"""May this call happen: a pure function of the call and the context, with its trace."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from holdfast.contract import Effects, Opinion, RuleSubject
from holdfast.permissions.context import Behavior, PermissionContext, Rule

__all__ = ["CallFacts", "Decision", "HookOpinion", "Step", "decide"]


class CallFacts(NamedTuple):
    """A call as the permission layers see it."""

    tool: str
    names: tuple[str, ...]
    input: Mapping[str, Any]
    cwd: str
    read_only: bool
    effects: Effects
    subject: RuleSubject
    session_state: bool = False
    requires_interaction: bool = False


class HookOpinion(NamedTuple):
    """What the user's own gates said before the rules."""

    behavior: Behavior
    reason: str = ""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layer's verdict."""

    layer: str
    behavior: str
    reason: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict, what decided it, and how it came about."""

    behavior: Behavior
    layer: str
    reason: str
    rule: Rule | None = None
    trace: tuple[Step, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """The decision as JSON."""
        return {
            "behavior": self.behavior,
            "layer": self.layer,
            "reason": self.reason,
            "rule": self.rule.to_wire() if self.rule else None,
            "trace": self.trace,
        }


def decide(
    call: CallFacts, context: PermissionContext, *, hook: HookOpinion | None = None, opinion: Opinion | None = None
) -> Decision:
    """The verdict for one call. Deny beats ask beats allow, whatever the source or the mode."""
    trace: list[Step] = []
    if hook is not None:
        trace.append(Step("hook", hook.behavior, hook.reason))
        if hook.behavior == "deny":
            return _end("deny", "hook", hook.reason, trace)
    found = _rule(call, context, "deny")
    if found is not None:
        return _end("deny", "deny rules", f"the rule {found.text} denies it", trace, found)
    if opinion is not None and opinion.behavior == "deny":
        return _end("deny", "tool", opinion.reason, trace)
    found = _rule(call, context, "ask")
    if found is not None:
        return _asked("ask rules", f"the rule {found.text} asks first", context, trace, found)
    if hook is not None and hook.behavior == "ask":
        return _asked("hook", hook.reason, context, trace)
    if opinion is not None and opinion.behavior == "ask":
        return _asked("tool", opinion.reason, context, trace)
    return _allowed(call, context, trace, hook=hook, opinion=opinion)


def _allowed(
    call: CallFacts,
    context: PermissionContext,
    trace: list[Step],
    *,
    hook: HookOpinion | None,
    opinion: Opinion | None,
) -> Decision:
    free = call.read_only or call.session_state
    if context.mode == "plan" and not free:
        return _end("deny", "mode", "plan mode allows nothing that writes", trace)
    if hook is not None and hook.behavior == "allow":
        return _end("allow", "hook", hook.reason, trace)
    found = _rule(call, context, "allow")
    if found is not None:
        return _end("allow", "allow rules", f"the rule {found.text} allows it", trace, found)
    if context.mode == "bypassPermissions":
        return _end("allow", "mode", "bypassPermissions allows what no rule forbids", trace)
    if free and (opinion is None or opinion.behavior != "passthrough"):
        return _end("allow", "mode", "it changes nothing", trace)
    return _asked("mode", f"{context.mode} mode asks before a call that may change something", context, trace)


def _rule(call: CallFacts, context: PermissionContext, behavior: Behavior) -> Rule | None:
    for name in call.names:
        for rule in context.rules_for(name):
            if rule.behavior == behavior and rule.content is None:
                return rule
    return None


def _asked(
    layer: str, reason: str, context: PermissionContext, trace: list[Step], rule: Rule | None = None
) -> Decision:
    if context.mode == "dontAsk":
        return _end("deny", layer, f"{reason}, and in dontAsk mode nobody is asked", trace, rule)
    return _end("ask", layer, reason, trace, rule)


def _end(behavior: Behavior, layer: str, reason: str, trace: list[Step], rule: Rule | None = None) -> Decision:
    trace.append(Step(layer, behavior, reason))
    return Decision(behavior, layer, reason, rule, tuple(trace))

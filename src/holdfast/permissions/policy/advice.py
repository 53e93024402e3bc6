"""What would let a call pass that is asked about or denied: a rule, a mode, or nothing at all."""

import shlex
from typing import Final, NamedTuple

from holdfast.contract import UsageError
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.policy.suggest import suggest_rules_for
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import ALIASES

__all__ = ["Advice", "flags_for", "what_would_allow"]

_LOOSER: Final = ("default", "acceptEdits", "bypassPermissions")


class Advice(NamedTuple):
    """How a call could be allowed."""

    rules: tuple[str, ...] = ()
    """Allow rules that are missing."""
    mode: str | None = None
    """The permission mode that is needed, too; none: the one that holds will do."""
    reason: str = ""
    """Why nothing of that helps; empty when it does."""


def what_would_allow(call: CallFacts, context: PermissionContext) -> Advice:
    """The narrowest rules under which the call passes, in this mode or else in a looser one. Nothing is changed."""
    decision = decide(call, context)
    if decision.behavior == "allow":
        return Advice()
    if decision.layer == "deny" and decision.rule is not None:
        return Advice(reason=f"the rule {decision.rule.text} denies it, and nothing overrides a deny")
    modes = [mode for mode in _LOOSER if mode not in context.disabled_modes and mode != context.mode]
    candidates = _candidates(call, context)
    for rules in candidates:
        if _passes(call, context, rules):
            return Advice(rules)
    for mode in modes:
        for rules in ((), *candidates):
            if _passes(call, context.with_mode(mode), rules):
                return Advice(rules, mode)
    return Advice(reason=decision.reason)


def flags_for(rules: tuple[str, ...], mode: str | None = None) -> str:
    """The options of the command line that give these rules and this mode, ready for a shell."""
    allowed = f"--allowed-tools {shlex.quote(' '.join(rules))}" if rules else ""
    return " ".join(filter(None, (f"--permission-mode {mode}" if mode else "", allowed)))


def _candidates(call: CallFacts, context: PermissionContext) -> list[tuple[str, ...]]:
    """Rules that may cover the call, the narrowest first."""
    kind, value = call.subject
    found = [suggest_rules_for(call, context)]
    if kind == "command" and value.isprintable() and value.count("(") == value.count(")"):
        found.append((f"{call.tool}({value})",))
    found.append((call.tool,))
    return [rules for rules in found if rules]


def _passes(call: CallFacts, context: PermissionContext, rules: tuple[str, ...]) -> bool:
    source = RuleSource("command_line", root=call.cwd)
    try:
        parsed = [Rule.parse("allow", text, source, aliases=ALIASES) for text in rules]
    except UsageError:
        return False
    return decide(call, context.with_rules(*parsed)).behavior == "allow"

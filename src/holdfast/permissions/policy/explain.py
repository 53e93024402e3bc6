"""A decision in words and as JSON: how it came about, what would allow it, what to know before a yes."""

import shlex
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from holdfast.contract import QuestionBrief, QuestionPart, UsageError
from holdfast.permissions.classifier import DeterministicClassifier, Risk, Seen
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import Decision, Step, decide, survey
from holdfast.permissions.facts import CallFacts, ShellPart, ShellVerdict, look
from holdfast.permissions.policy.suggest import suggest_rules_for
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import ALIASES, facts_from_input

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


_VERDICTS = {"allow": "allowed", "ask": "asks first", "deny": "denied"}


def explain_lines(
    decision: Decision,
    shell: ShellVerdict | None = None,
    *,
    layers: Sequence[Step] = (),
    advice: Advice | None = None,
    suggestions: Sequence[str] = (),
) -> list[str]:
    """The verdict, what decided it, and each layer's word, one line each.

    Args:
        decision: What is to be explained.
        shell: The analysis, for a shell call.
        layers: What each layer says by itself (`survey`); without it, only those that spoke are shown.
        advice: What would allow the call.
        suggestions: Rules that would be offered with the question.
    """
    lines = [f"{_VERDICTS[decision.behavior]}: {decision.reason}", f"  layer  {decision.layer}"]
    if decision.rule is not None:
        lines.append(f"  rule   {decision.rule.text}   ({decision.rule.source.place})")
    if shell is not None:
        lines.append(f"  shell  {'only reads' if shell.read_only else 'may change something'}")
        lines += [f"    - {_part(part)}" for part in shell.parts]
        lines += [f"    left open by the allow rules: {_one_line(text)}" for text in shell.left_open]
    if advice is not None and decision.behavior != "allow":
        way = flags_for(advice.rules, advice.mode)
        lines.append(f"  allow  {_one_line(f'it with {way}' if way else f'not possible: {advice.reason}')}")
    lines += [f"  offer  {_one_line(rule)}" for rule in suggestions]
    lines.append("  trace")
    lines += [f"    {number}. {_step(step)}" for number, step in enumerate(_trace(decision, layers), 1)]
    return lines


def _trace(decision: Decision, layers: Sequence[Step]) -> list[Step]:
    """Every layer in order, with what it said when the decision was made where it spoke then."""
    spoken = {step.layer: step for step in decision.trace}
    silent = {step.layer for step in layers}
    return [spoken.get(step.layer, step) for step in layers] + [
        step for step in decision.trace if step.layer not in silent
    ]


def _step(step: Step) -> str:
    where = f"   ({step.rule.source.place})" if step.rule is not None else ""
    said = ", ".join(filter(None, (step.behavior, step.reason)))
    return f"{step.layer}: {_one_line(said)}{where}"


def _part(part: ShellPart) -> str:
    return f"{_one_line(part.text)}   ({'only reads' if part.read_only else part.reason})"


def _one_line(text: str) -> str:
    """Text from outside never reaches the screen raw."""
    return text if text.isprintable() else repr(text)[1:-1]


def explain_wire(
    decision: Decision,
    shell: ShellVerdict | None = None,
    *,
    layers: Sequence[Step] = (),
    advice: Advice | None = None,
    suggestions: Sequence[str] = (),
) -> dict[str, Any]:
    """The same as JSON: verdict, layer, rule, source, trace; for shell calls also the analysis."""
    answer: dict[str, Any] = {
        "verdict": decision.behavior,
        "layer": decision.layer,
        "reason": decision.reason,
        "rule": decision.rule.text if decision.rule else None,
        "source": decision.rule.source.place if decision.rule else None,
        "trace": [_step_wire(step) for step in _trace(decision, layers)],
    }
    if shell is not None:
        answer["read_only"] = shell.read_only
        answer["subcommands"] = [part._asdict() for part in shell.parts]
    if advice is not None and decision.behavior != "allow":
        answer["allow_with"] = {"rules": advice.rules, "mode": advice.mode, "reason": advice.reason or None}
    if decision.behavior == "ask":
        answer["suggestions"] = list(suggestions)
    return answer


def _step_wire(step: Step) -> dict[str, Any]:
    wire: dict[str, Any] = {"layer": step.layer, "behavior": step.behavior, "reason": step.reason}
    if step.rule is not None:
        wire |= {"rule": step.rule.text, "source": step.rule.source.place}
    return wire


def with_every_layer(decision: Decision, call: CallFacts, context: "PermissionContext") -> Decision:
    """The same decision, its trace filled up with what the layers say that it did not need."""
    left = list(decision.trace)
    trace: list[Step] = []
    for step in survey(call, context):
        own = next((one for one in left if one.layer == step.layer and (step.layer != "ask" or one.rule)), None)
        if own is not None:
            left.remove(own)
        trace.append(own or step)
    return msgspec.structs.replace(decision, trace=(*trace, *left))


_MOST_PARTS = 40
"""The further ones are counted by whoever shows them; to judge each would keep the person waiting."""

_EDITS = "acceptEdits"
_WRITES = "it writes to "


def brief_of(call: CallFacts, context: PermissionContext) -> QuestionBrief:
    """Look at the call once more, for the eyes of a person. Nothing is decided here."""
    if call.subject.kind != "command":
        risk = DeterministicClassifier().classify(call, context, Seen(look(call, context)))
        return _told((), risk, call)._replace(passes_in=_looser_mode(call, context))
    from holdfast.permissions.shell.judge.verdict import judge_shell  # noqa: PLC0415 - with the first command

    shell = judge_shell(call, context)
    parts = tuple(_part_of_question(part, call, context) for part in shell.parts[:_MOST_PARTS])
    risk = Risk("high", shell.critical) if shell.critical else shell.risk
    return _told(parts, risk, call)


def _looser_mode(call: CallFacts, context: PermissionContext) -> str:
    if context.mode != "default" or _EDITS in context.disabled_modes:
        return ""
    return _EDITS if decide(call, context.with_mode(_EDITS)).behavior == "allow" else ""


def _told(parts: tuple[QuestionPart, ...], risk: Risk, call: CallFacts) -> QuestionBrief:
    word = risk.reason.partition(": ")[2] or risk.reason  # without the class that only settings name
    return QuestionBrief(parts, risk.level == "high", word, call.sandboxed)


def _part_of_question(part: ShellPart, call: CallFacts, context: PermissionContext) -> QuestionPart:
    decision = decide(facts_from_input(call.tool, {"command": part.text}, call.cwd), context)
    rule = "" if decision.rule is None else decision.rule.text
    if part.read_only and decision.behavior == "allow":
        return QuestionPart(part.text, "reads", rule=rule)
    behavior = decision.behavior
    if behavior == "allow" and (decision.layer != "allow" or part.reason.startswith(_WRITES)):
        behavior = "ask"  # its own text leaves out where it writes to, which is what it is asked about
    return QuestionPart(part.text, behavior, part.reason or decision.reason, rule)

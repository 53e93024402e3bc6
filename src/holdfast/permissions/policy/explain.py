"""A decision in words for people and as JSON for programs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.permissions.decision import Decision, Step, survey
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.policy.advice import Advice, flags_for
from holdfast.permissions.verdicts import ShellPart, ShellVerdict

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext

__all__ = ["explain_lines", "explain_wire", "with_every_layer"]

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

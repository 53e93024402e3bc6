"""A decision in words for people and as JSON for programs."""

from typing import Any

from holdfast.permissions.decide import Decision, Step
from holdfast.permissions.rules import Rule
from holdfast.permissions.verdicts import ShellPart, ShellVerdict

__all__ = ["explain_lines", "explain_wire", "place_of"]

_VERDICTS = {"allow": "allowed", "ask": "asks first", "deny": "denied"}


def place_of(rule: Rule) -> str:
    """Where a rule was written: file and line, or the kind of its source."""
    source = rule.source
    if source.path is None:
        return source.kind
    return source.path if source.line is None else f"{source.path}:{source.line}"


def explain_lines(decision: Decision, shell: ShellVerdict | None = None) -> list[str]:
    """The verdict, what decided it, and each layer's word, one line each."""
    lines = [f"{_VERDICTS[decision.behavior]}: {decision.reason}", f"  layer  {decision.layer}"]
    if decision.rule is not None:
        lines.append(f"  rule   {decision.rule.text}   ({place_of(decision.rule)})")
    if shell is not None:
        lines.append(f"  shell  {'only reads' if shell.read_only else 'may change something'}")
        lines += [f"    - {_part(part)}" for part in shell.parts]
        lines += [f"    left open by the allow rules: {_one_line(text)}" for text in shell.left_open]
    lines.append("  trace")
    lines += [f"    {number}. {_step(step)}" for number, step in enumerate(decision.trace, 1)]
    return lines


def _step(step: Step) -> str:
    where = f"   ({place_of(step.rule)})" if step.rule is not None else ""
    return f"{step.layer}: {step.behavior}, {step.reason}{where}"


def _part(part: ShellPart) -> str:
    return f"{_one_line(part.text)}   ({'only reads' if part.read_only else part.reason})"


def _one_line(text: str) -> str:
    """Text from outside never reaches the screen raw."""
    return text if text.isprintable() else repr(text)[1:-1]


def explain_wire(decision: Decision, shell: ShellVerdict | None = None) -> dict[str, Any]:
    """The same as JSON: verdict, layer, rule, source, trace; for shell calls also the analysis."""
    answer: dict[str, Any] = {
        "verdict": decision.behavior,
        "layer": decision.layer,
        "reason": decision.reason,
        "rule": decision.rule.text if decision.rule else None,
        "source": place_of(decision.rule) if decision.rule else None,
        "trace": [_step_wire(step) for step in decision.trace],
    }
    if shell is not None:
        answer["read_only"] = shell.read_only
        answer["subcommands"] = [part._asdict() for part in shell.parts]
    return answer


def _step_wire(step: Step) -> dict[str, Any]:
    wire: dict[str, Any] = {"layer": step.layer, "behavior": step.behavior, "reason": step.reason}
    if step.rule is not None:
        wire |= {"rule": step.rule.text, "source": place_of(step.rule)}
    return wire

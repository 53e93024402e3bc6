"""What a person should know before answering a question: the parts of a command, each with a verdict, and the risk."""

from holdfast.contract import QuestionBrief, QuestionPart
from holdfast.permissions.classifier import DeterministicClassifier, Risk, Seen
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts, look
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.permissions.verdicts import ShellPart

__all__ = ["brief_of"]

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
    parts = tuple(_part(part, call, context) for part in shell.parts[:_MOST_PARTS])
    risk = Risk("high", shell.critical) if shell.critical else shell.risk
    return _told(parts, risk, call)


def _looser_mode(call: CallFacts, context: PermissionContext) -> str:
    if context.mode != "default" or _EDITS in context.disabled_modes:
        return ""
    return _EDITS if decide(call, context.with_mode(_EDITS)).behavior == "allow" else ""


def _told(parts: tuple[QuestionPart, ...], risk: Risk, call: CallFacts) -> QuestionBrief:
    word = risk.reason.partition(": ")[2] or risk.reason  # without the class that only settings name
    return QuestionBrief(parts, risk.level == "high", word, call.sandboxed)


def _part(part: ShellPart, call: CallFacts, context: PermissionContext) -> QuestionPart:
    decision = decide(facts_from_input(call.tool, {"command": part.text}, call.cwd), context)
    rule = "" if decision.rule is None else decision.rule.text
    if part.read_only and decision.behavior == "allow":
        return QuestionPart(part.text, "reads", rule=rule)
    behavior = decision.behavior
    if behavior == "allow" and (decision.layer != "allow" or part.reason.startswith(_WRITES)):
        behavior = "ask"  # its own text leaves out where it writes to, which is what it is asked about
    return QuestionPart(part.text, behavior, part.reason or decision.reason, rule)

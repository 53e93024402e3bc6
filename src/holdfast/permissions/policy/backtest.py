"""What other rules would have said to the calls of a recorded session.

Each call is judged anew with the input the model sent, in the directory and mode it had. What hooks and the tool itself
said then is taken as recorded; nothing is run.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from holdfast.contract import Opinion
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import STRICTNESS, Decision, HookOpinion, Step, decide
from holdfast.permissions.rules.grammar import Behavior, Rule
from holdfast.permissions.tool_facts import KNOWN_TOOLS, facts_from_input


class RecordedCall(NamedTuple):
    """One call as a session's journal has it."""

    id: str
    tool: str
    input: Mapping[str, Any]
    cwd: str
    behavior: str
    """How it ended: what the rules said, or a person."""
    decision: object = None
    """The decision with its trace, as it was kept."""
    read_only: bool = False
    mode: str | None = None
    """The mode that the session had changed to by then, if it had."""


class OldVerdict(NamedTuple):
    """What was decided then."""

    behavior: Behavior
    """The word of the rules and the mode, before a person answered."""
    answered: Behavior | None
    """What the person said; none when nobody had to be asked."""
    layer: str
    rule: Rule | None
    trace: tuple[Step, ...] = ()


class Comparison(NamedTuple):
    """One call under the old rules and the new."""

    call: RecordedCall
    old: OldVerdict
    new: Decision

    @property
    def changed(self) -> bool:
        """Whether the verdict is another one."""
        return self.old.behavior != self.new.behavior

    def to_wire(self) -> dict[str, Any]:
        """The line that `--json` prints."""
        call, old, new = self
        wire: dict[str, Any] = {"type": "call", "id": call.id, "tool": call.tool, "input": call.input, "cwd": call.cwd}
        wire |= {"changed": self.changed, "old": _verdict(old.behavior, old.layer, old.rule)}
        if old.answered is not None:
            wire["old"]["answered"] = old.answered
        wire["new"] = {**_verdict(new.behavior, new.layer, new.rule), "reason": new.reason}
        return wire


def _verdict(behavior: str, layer: str, rule: Rule | None) -> dict[str, Any]:
    source = None if rule is None else rule.source.place
    return {"verdict": behavior, "layer": layer, "rule": rule.text if rule else None, "source": source}


def compare(call: RecordedCall, context: PermissionContext) -> Comparison:
    """Judge a recorded call under other rights."""
    old = old_verdict(call)
    facts = facts_from_input(call.tool, call.input, call.cwd)
    if call.read_only and facts.tool not in KNOWN_TOOLS:
        facts = facts._replace(read_only=True)  # a tool of the user's own: only the session knew
    where = context if call.mode is None else context.with_mode(call.mode)
    return Comparison(call, old, decide(facts, where, hook=_hook_of(old), opinion=_opinion_of(old)))


def old_verdict(call: RecordedCall) -> OldVerdict:
    """What was decided then; a record that cannot be read tells at least how the call ended."""
    ended: Behavior = "allow" if call.behavior == "allow" else "ask" if call.behavior == "ask" else "deny"
    try:
        decision = msgspec.convert(call.decision, Decision)
    except (msgspec.ValidationError, RecursionError):
        return OldVerdict(ended, None, "", None)
    trace = decision.trace
    last = trace[-1] if trace else None
    # A person's answer stands last, after the word that asked for it. An ask rule's own step names its rule.
    if last is not None and last.layer == "ask" and last.rule is None and last.behavior in ("allow", "deny"):
        asking = next((step for step in reversed(trace[:-1]) if step.behavior == "ask"), None)
        if asking is not None:
            answered = decision.behavior
            return OldVerdict("ask", answered, asking.layer, asking.rule, trace)
    return OldVerdict(decision.behavior, None, decision.layer, decision.rule, trace)


def _hook_of(old: OldVerdict) -> HookOpinion | None:
    first = next((step for step in old.trace if step.layer == "hook"), None)
    if first is None:
        return None
    known: Behavior = "allow" if first.behavior == "allow" else "deny" if first.behavior == "deny" else "ask"
    return HookOpinion(known, first.reason)


def _opinion_of(old: OldVerdict) -> Opinion | None:
    """The tool's own word, where it decided; a deny may stand for a question that nobody could be asked."""
    step = next((step for step in old.trace if step.layer == "tool" and step.behavior in STRICTNESS), None)
    if step is None or step.behavior == "allow":
        return None
    return Opinion.deny(step.reason) if step.behavior == "deny" else Opinion.ask(step.reason)

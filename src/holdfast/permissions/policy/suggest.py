"""Rules that "always allow" would save for a call: the shortest that are still safe, shown before they are saved.

Each set of rules is judged against the very call before it is offered, so a rule that is saved is never asked about
again for the same. Where no family of commands is safe to allow, exactly this text is offered.
"""

from typing import TYPE_CHECKING, Final

from holdfast.contract import UsageError
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.policy.suggest_places import anchored, move_rules, read_rules, write_rules
from holdfast.permissions.protected import is_secret
from holdfast.permissions.web import WebTarget, check_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

_MAX_WHOLE_CHARS: Final = 4_000
_MAX_OFFERED: Final = 8


def suggest_rules_for(call: CallFacts, context: "PermissionContext | None" = None) -> tuple[str, ...]:
    """The rules, or none where no safe rule covers the call and the answer can only be for this once.

    With a context, rules that are in force already are left out: to save them again would change nothing.
    """
    if call.requires_interaction:
        return ()
    from holdfast.permissions.context import PermissionContext  # noqa: PLC0415 - with the first question
    from holdfast.permissions.decision import decide  # noqa: PLC0415 - it needs what this module needs

    # What the agent above may do is a question of its own, which rules of this one do not answer.
    context = PermissionContext.started_in(call.cwd) if context is None else context.with_options(parent=None)
    if context.effective_mode in ("plan", "dontAsk"):
        context = context.with_mode("default")
    decision = decide(call, context)
    if decision.guarded or decision.behavior != "ask":
        return ()
    for rules in _candidates(call, context):
        if rules and len(rules) <= _MAX_OFFERED and _passes(call, context, rules):
            return _needed(call, context, rules)
    return ()


def for_this_session(rules: "Sequence[str]") -> bool:
    """Whether rules spell out what is not worth keeping: a whole text, or a call of an interpreter."""
    from holdfast.permissions.shell.programs.program import runs_code  # noqa: PLC0415 - with the first question

    exact = [rule.removeprefix("Bash(") for rule in rules if rule.startswith("Bash(") and not rule.endswith(" *)")]
    return any(rule.startswith("= ") or runs_code(rule.split(None, 1)[0].rpartition("/")[2]) for rule in exact)


def _passes(call: CallFacts, context: "PermissionContext", rules: "Sequence[str]") -> bool:
    from holdfast.permissions.decision import decide  # noqa: PLC0415 - it needs what this module needs
    from holdfast.permissions.rules.grammar import Rule, RuleSource  # noqa: PLC0415 - see above
    from holdfast.permissions.tool_facts import ALIASES  # noqa: PLC0415 - see above

    try:
        parsed = [Rule.parse("allow", text, RuleSource(), aliases=ALIASES) for text in rules]
    except UsageError:
        return False
    return decide(call, context.with_rules(*parsed)).behavior == "allow"


def _needed(call: CallFacts, context: "PermissionContext", rules: tuple[str, ...]) -> tuple[str, ...]:
    """The rules without those that the call does not need."""
    for rule in rules if len(rules) > 1 else ():
        fewer = tuple(other for other in rules if other != rule)
        if fewer and _passes(call, context, fewer):
            rules = fewer
    return rules


def _candidates(call: CallFacts, context: "PermissionContext") -> "Iterator[tuple[str, ...]]":
    kind, value = call.subject
    if kind == "command":
        yield from _shell_candidates(call, context)
    elif kind == "edit_path":
        yield (f"Edit({anchored(value, call.cwd)})",)
    elif kind == "read_path":
        yield (f"Read({anchored(value, call.cwd)})",)
    elif kind == "domain":
        target = check_url(value)
        if isinstance(target, WebTarget):
            yield (f"{call.tool}(domain:{target.host})",)
    elif kind in ("agent", "skill"):
        yield (f"{call.tool}({value})",) if value else ()
    else:
        yield (call.tool,)


def _shell_candidates(call: CallFacts, context: "PermissionContext") -> "Iterator[tuple[str, ...]]":
    """Sets of rules, those that save the most questions first: families, the words of each command, the whole text."""
    from holdfast.permissions.shell.judge.verdict import judge_shell  # noqa: PLC0415 - the parser loads with the first command
    from holdfast.permissions.shell.text.analysis import analyse  # noqa: PLC0415 - see above

    analysis = analyse(call.subject.value, cwd=call.cwd)
    reads = judge_shell(call, context).unlisted
    if analysis.doubt or any(is_secret(path.names) for path in reads):
        return
    writes = write_rules(analysis, call, context)
    if writes is None:
        return
    places = (*read_rules(reads, call, context), *writes)
    for exact in (False, True):
        rules = _part_rules(analysis, call, context, exact=exact)
        if rules is not None:
            yield (*rules, *places)
            moves = move_rules(analysis, call, context)
            yield (*rules, *moves, *places) if moves else ()
    yield from _whole_text(analysis, writes)


def _part_rules(
    analysis: "Analysis", call: CallFacts, context: "PermissionContext", *, exact: bool
) -> tuple[str, ...] | None:
    from holdfast.permissions.decision import decide  # noqa: PLC0415 - it needs what this module needs
    from holdfast.permissions.policy.suggest_commands import rules_of_parts  # noqa: PLC0415 - see above
    from holdfast.permissions.tool_facts import facts_from_input  # noqa: PLC0415 - the same

    def is_covered(part: "Part") -> bool:
        found = decide(facts_from_input("Bash", {"command": part.source}, call.cwd), context)
        return (found.behavior, found.layer) == ("allow", "allow")

    if analysis.assigned:
        return None
    rules = rules_of_parts(analysis, is_covered, exact=exact)
    return None if rules is None else tuple(f"Bash({content})" for content in rules)


def _whole_text(analysis: "Analysis", writes: tuple[str, ...]) -> "Iterator[tuple[str, ...]]":
    """Exactly this text and no other."""
    from holdfast.permissions.rules.command_index import WHOLE_TEXT  # noqa: PLC0415 - see above
    from holdfast.permissions.shell.risk.classes import REMOTE_CODE, risks  # noqa: PLC0415 - with the first question
    from holdfast.settings.steering import is_steering_variable  # noqa: PLC0415 - see above

    text = analysis.command.strip()
    if len(text) > _MAX_WHOLE_CHARS or analysis.dynamic or "privilege" in analysis.effects.classes:
        return
    assigned = (*analysis.assigned, *(name for part in analysis.parts for name in part.assigns))
    if not any(map(is_steering_variable, assigned)) and REMOTE_CODE not in risks(analysis):
        yield (f"Bash({WHOLE_TEXT}{text})", *writes)

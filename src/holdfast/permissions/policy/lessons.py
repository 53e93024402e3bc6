"""Which rules would have spared the most questions, learnt from calls that a person was asked about.

Only what was allowed then counts. A rule is offered as it would have been offered with the question itself, so it is
never wider than that; every rule says what it would let pass beyond what was seen.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.policy.suggest import for_this_session, suggest_rules_for
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import ALIASES

_EXAMPLES: Final = 3
_WHOLE_TEXT: Final = "Bash(= "


class Lesson(NamedTuple):
    """Rules that belong together, and what they would have spared."""

    rules: tuple[str, ...]
    spares: int
    """How many of the questions would not have been put."""
    examples: tuple[CallFacts, ...]
    """The first of the calls, different ones."""

    @property
    def beyond(self) -> tuple[str, ...]:
        """What each rule lets pass that was not seen; empty where it is exactly what was seen."""
        return tuple(filter(None, map(reach_of, self.rules)))


def learn(calls: Sequence[CallFacts], context: PermissionContext, *, most: int = 20) -> list[Lesson]:
    """The rules that spare the most questions of these calls first; each counts what those before it leave.

    Args:
        calls: Calls that a person was asked about and allowed, in any order.
        context: The rights without those rules.
        most: So many at most.
    """
    open_calls = [call for call in calls if decide(call, context).behavior == "ask"]
    offered = _offered(open_calls, context)
    lessons: list[Lesson] = []
    while offered and len(lessons) < most:
        rules, covered = max(offered.items(), key=lambda item: (len(item[1]), -len(item[0]), item[0]))
        examples = {call.subject.value: call for call in reversed(covered)}
        lessons.append(Lesson(rules, len(covered), tuple(reversed(examples.values()))[:_EXAMPLES]))
        context = context.with_rules(*_parsed(rules))
        open_calls = [call for call in open_calls if decide(call, context).behavior == "ask"]
        offered = _covering(offered, open_calls, context)
    return [lesson for lesson in lessons if lesson.spares]


def _offered(calls: Iterable[CallFacts], context: PermissionContext) -> dict[tuple[str, ...], list[CallFacts]]:
    """Every set of rules that would have been offered and is worth keeping, with the calls that it lets pass."""
    found: dict[tuple[str, ...], list[CallFacts]] = {}
    known: dict[tuple[str, str, str], tuple[str, ...]] = {}
    asked = list(calls)
    for call in asked:
        key = (call.tool, call.subject.value, call.cwd)
        if key not in known:
            known[key] = suggest_rules_for(call, context)
        rules = known[key]
        if rules and not for_this_session(rules):
            found[rules] = []
    return _covering(found, asked, context)


def _covering(
    offered: Iterable[tuple[str, ...]], calls: Sequence[CallFacts], context: PermissionContext
) -> dict[tuple[str, ...], list[CallFacts]]:
    found: dict[tuple[str, ...], list[CallFacts]] = {}
    for rules in offered:
        with_them = context.with_rules(*_parsed(rules))
        covered = [call for call in calls if decide(call, with_them).behavior == "allow"]
        if covered:
            found[rules] = covered
    return found


def _parsed(rules: Iterable[str]) -> list[Rule]:
    return [Rule.parse("allow", text, RuleSource(), aliases=ALIASES) for text in rules]


def reach_of(rule: str) -> str:
    """What a rule lets pass besides the call that it was made for, in words; nothing where it is exact."""
    tool, _, content = rule.partition("(")
    content = content.removesuffix(")")
    if not content:
        return f"every call of {tool}"
    if tool == "Bash":
        if rule.startswith(_WHOLE_TEXT):
            return ""
        if content.endswith((" *", ":*")):
            return f"`{content[:-2]}` with any further words"
        return f"whatever fits `{content}`" if "*" in content else ""
    if content.endswith("/**"):
        return f"{'reading' if tool == 'Read' else 'changing'} everything below {content[:-3].removeprefix('/')}"
    return f"every page of {content.removeprefix('domain:')}" if content.startswith("domain:") else ""

"""Which rule speaks to a call: deny and ask rules reach every name it has, allow rules must cover all of it."""

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from holdfast.permissions.paths import PathFacts
from holdfast.permissions.rules.grammar import Behavior, Rule

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts, ShellVerdict, Sight
    from holdfast.permissions.rules.book import RuleBook, Wholes

_GRANTS_READ: Final = ("Read", "Edit")
"""Whoever may edit a file may read it."""
_GRANTS_WRITE: Final = ("Edit",)
_NAMED_SUBJECTS: Final = frozenset({"domain", "agent", "skill"})
_SET_ASIDE_IN_AUTO: Final = frozenset({"Agent", "Monitor"})


class Hits(NamedTuple):
    """The path rules that speak to a call."""

    denied: Rule | None = None
    asked: Rule | None = None
    reads: tuple[Rule | None, ...] = ()
    """For each read path: the rule that allows it."""
    writes: tuple[Rule | None, ...] = ()


_NO_HITS: Final = Hits()


def path_hits(call: "CallFacts", context: "PermissionContext", sight: "Sight") -> Hits:
    """Hold every path of a call against the path rules, once."""
    reads, writes, covered, _, changed = sight
    if not (reads or writes or covered or changed):
        return _NO_HITS
    book = context.book
    if not book.paths:
        if book.grants_reads is None:  # a rule that grants writes would grant reads too
            return _NO_HITS
        return Hits(reads=(book.grants_reads,) * len(reads), writes=(book.grants_writes,) * len(writes))
    anchors = _anchors(context, call.cwd)
    held: list[Rule] = []

    def meet(paths: tuple[PathFacts, ...], tool: str, granting: tuple[str, ...] = ()) -> list[Rule | None]:
        grants: list[Rule | None] = []
        for path in paths:
            found, granted = _rules_of(path, book, anchors, granting)
            if found:
                # A deny on reading a file also keeps it from being edited.
                held.extend(rule for rule in found if rule.tool == tool or (tool == "Edit" and rule.behavior == "deny"))
            grants.append(granted)
        return grants

    may_read = [granted or book.grants_reads for granted in meet(reads, "Read", _GRANTS_READ)]
    may_write = [granted or book.grants_writes for granted in meet(writes, "Edit", _GRANTS_WRITE)]
    meet(covered, "Read")
    meet(changed, "Edit")
    return Hits(_first(held, "deny"), _first(held, "ask"), tuple(may_read), tuple(may_write))


def _first(rules: list[Rule], behavior: Behavior) -> Rule | None:
    for rule in rules:
        if rule.behavior == behavior:
            return rule
    return None


_Anchors: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Where relative patterns are anchored: those of deny and ask rules, and those of allow rules."""


def _anchors(context: "PermissionContext", cwd: str) -> _Anchors:
    """Deny and ask hold here and where the session started; allow only there: no model moves it by `cd`."""
    here = context.forms_of(cwd)
    start = context.start_directories
    if not start or start == here:
        return here, here
    return (*here, *start), context.grant_directories


def _rules_of(
    path: PathFacts, book: "RuleBook", anchors: _Anchors, granting: tuple[str, ...]
) -> tuple[list[Rule], Rule | None]:
    """The deny and ask rules that meet the path under any of its names, and the path rule that allows all of it."""
    index, is_dir = book.paths, path.is_dir
    cwds, grant_cwds = anchors
    held: list[Rule] = []
    grants: dict[str, Rule] = {}
    for name in path.names:
        for rule in index.find(name, cwds=cwds, grant_cwds=grant_cwds, is_dir=is_dir):
            if rule.behavior != "allow":
                held.append(rule)
            elif rule.tool in granting:
                grants.setdefault(name, rule)
        if path.folds:
            held += index.find_folded(name, cwds=cwds, is_dir=is_dir)
    return held, (grants.get(path.given) if grants and path.target in grants else None)


def grant_of(tool: str, path: PathFacts, call: "CallFacts", context: "PermissionContext") -> Rule | None:
    """The rule that allows reading or editing one path."""
    book = context.book
    granting, whole = (_GRANTS_READ, book.grants_reads) if tool == "Read" else (_GRANTS_WRITE, book.grants_writes)
    return _rules_of(path, book, _anchors(context, call.cwd), granting)[1] or whole


class Voices(NamedTuple):
    """Everything that rules may speak to in one call, put together once."""

    sight: "Sight"
    hits: Hits
    whole: "Wholes"
    shell: "ShellVerdict | None"


def matching_rule(behavior: Behavior, call: "CallFacts", context: "PermissionContext", voices: Voices) -> Rule | None:
    """A rule of this behaviour for the call; for allow, only rules that need no look at its paths."""
    sight, hits, whole, shell = voices
    found: Rule | None = None
    if behavior != "allow":
        found = (whole.deny or hits.denied) if behavior == "deny" else (whole.ask or hits.asked)
        found = found or context.book.parameter(behavior, call.names, call.input)
        if found is None and shell is not None:
            found = shell.denied if behavior == "deny" else shell.asked
    if found is None and call.subject.kind in _NAMED_SUBJECTS:
        found = _by_subject(behavior, call, context, sight)
    return found


def whole_allow(context: "PermissionContext", voices: Voices) -> Rule | None:
    """A rule that allows every call of this tool."""
    if voices.shell is not None:
        return None  # the shell verdict has already weighed it against what the command does
    found = voices.whole.allow
    if found is not None and context.effective_mode == "auto" and found.tool in _SET_ASIDE_IN_AUTO:
        return None
    return found


def _by_subject(behavior: Behavior, call: "CallFacts", context: "PermissionContext", sight: "Sight") -> Rule | None:
    kind, value = call.subject
    if kind == "domain":
        from holdfast.permissions.web import WebTarget  # noqa: PLC0415 - the first request needs no addresses

        return context.book.domain(behavior, sight.web.host) if isinstance(sight.web, WebTarget) else None
    if kind == "agent":
        return context.book.named(behavior, "Agent", value, with_arguments=False)
    if kind == "skill":
        named = str(call.input.get("skill") or call.input.get("command") or "").strip()
        arguments = bool(call.input.get("args")) or len(named.split(maxsplit=1)) > 1
        return context.book.named(behavior, "Skill", value, with_arguments=arguments)
    return None


def denies_read(path: str, context: "PermissionContext", *, cwd: str) -> Rule | None:
    """The rule that forbids reading a file found by a search; searches leave such files out."""
    for bound in (context, *context.ancestors()):
        facts = bound.disk.look(path, cwd, home=bound.home)
        held, _ = _rules_of(facts, bound.book, _anchors(bound, cwd), ())
        found = next((rule for rule in held if rule.behavior == "deny" and rule.tool == "Read"), None)
        if found is not None:
            return found
    return None


def denials_at(path: str, context: "PermissionContext", *, cwd: str, is_dir: bool) -> frozenset[str]:
    """`Read` and `Edit` where a rule denies them for this absolute path; by its name alone, nothing is looked up."""
    found: set[str] = set()
    for bound in (context, *context.ancestors()):
        if bound.book.holds_reads or bound.book.holds_edits:
            held = bound.book.paths.find(path, cwds=_anchors(bound, cwd)[0], grant_cwds=(), is_dir=is_dir)
            found.update(rule.tool for rule in held if rule.behavior == "deny")
    return frozenset(found)

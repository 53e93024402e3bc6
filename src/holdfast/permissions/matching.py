"""Which rule speaks to a call: deny and ask rules reach every name and road, allow rules must cover all of it."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.paths import PathFacts
from holdfast.permissions.rules import Behavior, Rule
from holdfast.permissions.web import WebTarget

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts, Sight
    from holdfast.permissions.verdicts import ShellVerdict

__all__ = ["Hits", "denies_read", "grant_of", "matching_rule", "path_hits", "whole_allow"]

_GRANTS_READ: Final = ("Read", "Edit")
"""Whoever may edit a file may read it."""
_GRANTS_WRITE: Final = ("Edit",)
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
    if not (sight.reads or sight.writes or sight.covered):
        return _NO_HITS
    book = context.book
    if not book.paths:
        whole = book.whole("allow", _GRANTS_WRITE), book.whole("allow", _GRANTS_READ)
        if whole == (None, None):
            return _NO_HITS
        return Hits(reads=(whole[1],) * len(sight.reads), writes=(whole[0],) * len(sight.writes))
    anchors = _anchors(context, call.cwd)
    held: list[Rule] = []
    reads: list[Rule | None] = []
    writes: list[Rule | None] = []
    for path in sight.reads:
        found, granted = _rules_of(path, context, anchors, _GRANTS_READ)
        held += [rule for rule in found if rule.tool == "Read"]
        reads.append(granted)
    for path in sight.writes:
        found, granted = _rules_of(path, context, anchors, _GRANTS_WRITE)
        # A deny on reading a file also keeps it from being edited.
        held += [rule for rule in found if rule.tool == "Edit" or rule.behavior == "deny"]
        writes.append(granted)
    for path in sight.covered:
        found, _ = _rules_of(path, context, anchors, ())
        held += [rule for rule in found if rule.tool == "Read"]
    denied = next((rule for rule in held if rule.behavior == "deny"), None)
    asked = next((rule for rule in held if rule.behavior == "ask"), None)
    return Hits(denied, asked, tuple(reads), tuple(writes))


class _Anchors(NamedTuple):
    held: tuple[str, ...]
    """Relative deny and ask patterns hold where the session is now and where it started."""
    granted: tuple[str, ...]
    """Relative allow patterns hold where the session started: a model cannot move them by changing directory."""


def _anchors(context: "PermissionContext", cwd: str) -> _Anchors:
    here = context.forms_of(cwd)
    start = context.start_directories
    if not start or start == here:
        return _Anchors(here, here)
    return _Anchors((*here, *start), start)


def _rules_of(
    path: PathFacts, context: "PermissionContext", anchors: _Anchors, granting: tuple[str, ...]
) -> tuple[list[Rule], Rule | None]:
    """The deny and ask rules that meet the path under any of its names, and the rule that allows all of it."""
    index = context.book.paths
    held: list[Rule] = []
    grants: dict[str, Rule] = {}
    for name in path.names:
        for rule in index.find(name, cwds=anchors.held, grant_cwds=anchors.granted, is_dir=path.is_dir):
            if rule.behavior != "allow":
                held.append(rule)
            elif rule.tool in granting:
                grants.setdefault(name, rule)
        if path.folds:
            held += index.find_folded(name, cwds=anchors.held, is_dir=path.is_dir)
    granted = grants.get(path.given) if path.target in grants else None
    return held, granted or (context.book.whole("allow", granting) if granting else None)


def grant_of(tool: str, path: PathFacts, call: "CallFacts", context: "PermissionContext") -> Rule | None:
    """The rule that allows reading or editing one path."""
    granting = _GRANTS_READ if tool == "Read" else _GRANTS_WRITE
    return _rules_of(path, context, _anchors(context, call.cwd), granting)[1]


def matching_rule(
    behavior: Behavior,
    call: "CallFacts",
    context: "PermissionContext",
    *,
    sight: "Sight",
    hits: Hits,
    shell: "ShellVerdict | None",
) -> Rule | None:
    """A rule of this behaviour for the call; for allow, only rules that need no look at its paths."""
    book = context.book
    if behavior == "allow":
        return _by_subject(behavior, call, context, sight)
    found = book.whole(behavior, _governing(call, behavior), server=call.server)
    found = found or (hits.denied if behavior == "deny" else hits.asked)
    found = found or book.parameter(behavior, call.names, call.input)
    if found is None and shell is not None:
        found = shell.denied if behavior == "deny" else shell.asked
    return found or _by_subject(behavior, call, context, sight)


def _governing(call: "CallFacts", behavior: Behavior) -> tuple[str, ...]:
    """The names under which a rule for every call of a tool reaches this one."""
    kind = call.subject.kind
    if kind == "name":
        return call.names
    if kind == "read_path":
        return (*call.names, "Read")
    if kind == "edit_path":
        return (*call.names, "Edit", "Read") if behavior == "deny" else (*call.names, "Edit")
    if kind == "command" and call.tool not in ("Bash", "PowerShell"):
        return (*call.names, "Bash")
    return call.names


def whole_allow(call: "CallFacts", context: "PermissionContext", *, shell: "ShellVerdict | None") -> Rule | None:
    """A rule that allows every call of this tool."""
    if shell is not None:
        return None  # the shell verdict has already weighed it against what the command does
    found = context.book.whole("allow", _governing(call, "allow"), server=call.server)
    if found is not None and context.effective_mode == "auto" and found.tool in _SET_ASIDE_IN_AUTO:
        return None
    return found


def _by_subject(behavior: Behavior, call: "CallFacts", context: "PermissionContext", sight: "Sight") -> Rule | None:
    kind, value = call.subject
    if kind == "domain":
        return context.book.domain(behavior, sight.web.host) if isinstance(sight.web, WebTarget) else None
    if kind == "agent":
        return context.book.named(behavior, "Agent", value, with_arguments=False)
    if kind == "skill":
        arguments = bool(call.input.get("args")) or " " in str(call.input.get("command", "")).strip()
        return context.book.named(behavior, "Skill", value, with_arguments=arguments)
    return None


def denies_read(path: str, context: "PermissionContext", *, cwd: str) -> Rule | None:
    """The rule that forbids reading a file found by a search; searches leave such files out."""
    for bound in (context, *context.ancestors()):
        facts = bound.disk.look(path, cwd, home=bound.home)
        held, _ = _rules_of(facts, bound, _anchors(bound, cwd), ())
        found = next((rule for rule in held if rule.behavior == "deny" and rule.tool == "Read"), None)
        if found is not None:
            return found
    return None

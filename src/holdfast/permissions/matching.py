"""Which rule speaks to a call: deny and ask rules reach every name and road, allow rules must cover all of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast.lib.gitignore import fold_case
from holdfast.permissions.paths import PathFacts
from holdfast.permissions.web import WebTarget

if TYPE_CHECKING:
    from holdfast.permissions.bash_rules import ShellVerdict
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts, Sight
    from holdfast.permissions.path_rules import AnchoredPaths
    from holdfast.permissions.rules import Behavior, Rule

__all__ = ["allowing_part", "denies_read", "matching_rule", "whole_allow"]

_READERS: Final = ("Read",)
_WRITERS: Final = ("Edit", "Read")
"""A deny on reading a file also keeps it from being edited."""
_SET_ASIDE_IN_AUTO: Final = frozenset({"Agent", "Monitor"})


def matching_rule(
    behavior: "Behavior",
    call: "CallFacts",
    context: "PermissionContext",
    *,
    sight: "Sight",
    shell: "ShellVerdict | None",
) -> "Rule | None":
    """A rule of this behaviour for the call; for allow, only rules that need no look at its paths."""
    book = context.book
    found = book.parameter(behavior, call.names, call.input)
    if found is None and behavior != "allow":
        found = book.whole(behavior, _governing(call, behavior), server=call.server)
        found = found or _path_rule(behavior, context, sight, cwd=call.cwd)
    if found is None and shell is not None and behavior != "allow":
        found = shell.denied if behavior == "deny" else shell.asked
    if found is None:
        found = _by_subject(behavior, call, context, sight)
    return found


def _governing(call: "CallFacts", behavior: "Behavior") -> tuple[str, ...]:
    """The names under which a rule for every call of a tool reaches this one."""
    kind = call.subject.kind
    if kind == "read_path":
        return (*call.names, "Read")
    if kind == "edit_path":
        return (*call.names, "Edit", "Read") if behavior == "deny" else (*call.names, "Edit")
    if kind == "command" and call.tool not in ("Bash", "PowerShell"):
        return (*call.names, "Bash")
    return call.names


def whole_allow(call: "CallFacts", context: "PermissionContext", *, shell: "ShellVerdict | None") -> "Rule | None":
    """A rule that allows every call of this tool."""
    if shell is not None:
        return None  # the shell verdict has already weighed it against what the command does
    names = _governing(call, "allow")
    found = context.book.whole("allow", names, server=call.server)
    if found is not None and context.effective_mode == "auto" and found.tool in _SET_ASIDE_IN_AUTO:
        return None
    return found


def _by_subject(behavior: "Behavior", call: "CallFacts", context: "PermissionContext", sight: "Sight") -> "Rule | None":
    kind, value = call.subject
    if kind == "domain":
        return context.book.domain(behavior, sight.web.host) if isinstance(sight.web, WebTarget) else None
    if kind == "agent":
        return context.book.named(behavior, "Agent", value, with_arguments=False)
    if kind == "skill":
        arguments = bool(call.input.get("args")) or " " in str(call.input.get("command", "")).strip()
        return context.book.named(behavior, "Skill", value, with_arguments=arguments)
    return None


def _path_rule(behavior: "Behavior", context: "PermissionContext", sight: "Sight", *, cwd: str) -> "Rule | None":
    if not (sight.reads or sight.writes or sight.covered):
        return None
    book = context.book
    readers = [book.paths(behavior, tool) for tool in _READERS]
    writers = [book.paths(behavior, tool) for tool in (_WRITERS if behavior == "deny" else ("Edit",))]
    cwds = _deny_anchors(context, cwd)
    for path in (*sight.reads, *sight.covered):
        found = _any_name(readers, path, cwds)
        if found is not None:
            return found
    for path in sight.writes:
        found = _any_name(writers, path, cwds)
        if found is not None:
            return found
    return None


def _deny_anchors(context: "PermissionContext", cwd: str) -> tuple[str, ...]:
    """Relative deny and ask patterns hold where the session is now and where it started."""
    return tuple(dict.fromkeys((cwd, context.disk.real(cwd), *context.start_directories)))


def _any_name(rule_sets: Sequence["AnchoredPaths[Rule]"], path: PathFacts, cwds: Sequence[str]) -> "Rule | None":
    is_dir = path.is_dir is not False  # what may be a directory counts as one
    for rules in rule_sets:
        if not rules:
            continue
        for name in path.names:
            found = rules.find(name, cwds=cwds, is_dir=is_dir)
            if found is None and path.folds:
                folded_cwds = [fold_case(cwd) for cwd in cwds]
                found = rules.folded().find(fold_case(name), cwds=folded_cwds, is_dir=is_dir)
            if found is not None:
                return found
    return None


def allowing_part(tool: str, path: PathFacts, call: "CallFacts", context: "PermissionContext") -> "Rule | None":
    """A rule that allows reading or writing this path: it must cover the name as given and the target."""
    tools = ("Read", "Edit") if tool == "Read" else ("Edit",)
    cwds = context.start_directories or tuple(dict.fromkeys((call.cwd, context.disk.real(call.cwd))))
    is_dir = path.is_dir is True
    whole = context.book.whole("allow", tools)
    if whole is not None:
        return whole
    found: Rule | None = None
    for name in dict.fromkeys((path.given, path.target)):
        found = None
        for owner in tools:
            found = found or context.book.paths("allow", owner).find(name, cwds=cwds, is_dir=is_dir)
        if found is None:
            return None
    return found


def denies_read(path: str, context: "PermissionContext", *, cwd: str) -> "Rule | None":
    """The rule that forbids reading a file found by a search; searches leave such files out."""
    facts = context.disk.look(path, cwd, home=context.home)
    return _any_name([context.book.paths("deny", "Read")], facts, _deny_anchors(context, cwd))

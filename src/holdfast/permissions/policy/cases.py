"""Unit tests of a policy: one JSON object per line, judged as `holdfast permissions test` promises.

A line's rules replace the settings' rules and are anchored like project settings at `project_root` (the working
directory when absent). A working directory that does not exist is fine; then nothing is read from disk.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from holdfast.contract import UsageError
from holdfast.lib.spelling import did_you_mean
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import Decision, decide
from holdfast.permissions.paths import Disk, LiveDisk, NoDisk
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleProblem, RuleSource, parse_rules
from holdfast.permissions.shell.judge.verdict import only_reads
from holdfast.permissions.tool_facts import ALIASES, facts_from_input

_BEHAVIORS: Final[tuple[Behavior, ...]] = ("allow", "ask", "deny")
_SHELL: Final = frozenset({"Bash", "Monitor", "PowerShell"})
_KEYS: Final = ("tool", "input", "command", "rules", "mode", "cwd", "project_root", "expect", "read_only")
_NOTES: Final = frozenset({"id", "name", "class", "comment", "note", "why"})
"""What people write beside a case; it means nothing."""
_LIVE: Final = LiveDisk()
_NONE: Final = NoDisk()


CheckCall = Callable[[str, Mapping[str, Any]], None]
"""Raises a `UsageError` for a call that no tool takes."""


class CaseResult(NamedTuple):
    """The answer to one line."""

    decision: Decision
    read_only: bool | None
    """For shell calls: whether the command only reads."""
    ok: bool | None
    """Whether the line's expectations hold; none when it has none."""
    failures: tuple[str, ...]
    problems: tuple[RuleProblem, ...]
    """Rules of the line that are not in force."""

    def to_wire(self) -> dict[str, Any]:
        """The line that `--json` prints."""
        decision = self.decision
        answer: dict[str, Any] = {
            "verdict": decision.behavior,
            "layer": decision.layer,
            "rule": decision.rule.text if decision.rule else None,
        }
        if self.read_only is not None:
            answer["read_only"] = self.read_only
        if self.ok is not None:
            answer["ok"] = self.ok
        return answer


def run_case(case: Mapping[str, Any], base: PermissionContext, *, check: CheckCall | None = None) -> CaseResult:
    """Judge one line. `base` supplies what the line does not say: rules, mode, home; `check` looks at the call itself.

    Raises:
        UsageError: A field is not known or has the wrong type, or the call makes no sense; the message names it.
    """
    _check_keys(case)
    tool = _text(case, "tool", "Bash")
    arguments = _arguments(case)
    if check is not None:
        check(tool, arguments)
    cwd = os.path.normpath(os.path.join(os.getcwd(), _text(case, "cwd", "") or "."))
    default_root = base.project_root if base.project_root and "cwd" not in case and "rules" not in case else "."
    root = os.path.normpath(os.path.join(cwd, _text(case, "project_root", "") or default_root))
    context, problems = _context(case, base, cwd=cwd, root=root)
    facts = facts_from_input(tool, arguments, cwd)
    decision = decide(facts, context)
    read_only = only_reads(facts) if facts.tool in _SHELL else None
    failures = _failures(case, decision, read_only=read_only)
    expects = "expect" in case or "read_only" in case
    return CaseResult(decision, read_only, not failures if expects else None, failures, problems)


def judge(
    tool: str,
    arguments: Mapping[str, Any],
    *,
    mode: str = "default",
    cwd: str = "/project",
    home: str = "/home/user",
    **rules: Sequence[str],
) -> Decision:
    """The decision on one call under rules given as text: a policy's unit test in one line of Python.

    `judge("Read", {"file_path": ".env"}, deny=["Read(.env)"]).behavior == "deny"`; directories need not exist.
    """
    case = {"tool": tool, "input": arguments, "mode": mode, "cwd": cwd, "rules": rules}
    return run_case(case, PermissionContext(home=home, disk=_NONE)).decision


def _context(
    case: Mapping[str, Any], base: PermissionContext, *, cwd: str, root: str
) -> tuple[PermissionContext, tuple[RuleProblem, ...]]:
    disk: Disk = _LIVE if os.path.isdir(cwd) else _NONE
    mode = _text(case, "mode", base.mode)
    rules: tuple[Rule, ...] = base.rules
    problems: list[RuleProblem] = []
    if "rules" in case:
        rules, problems = _rules(case["rules"], root)
    context = PermissionContext(
        mode,
        rules,
        working_directories=tuple(dict.fromkeys((cwd, root))),
        project_root=root,
        home=base.home,
        trusted="rules" in case or base.trusted,
        disk=disk,
    )
    return context, tuple(problems)


def _rules(given: object, root: str) -> tuple[tuple[Rule, ...], list[RuleProblem]]:
    if not isinstance(given, Mapping):
        raise UsageError(f"'rules' is {given!r}; write an object with the lists allow, deny and ask")
    lists = cast("Mapping[str, object]", given)
    for key in lists:
        if key not in _BEHAVIORS:
            raise UsageError(f"'rules' has no list {key!r}.{did_you_mean(key, _BEHAVIORS)}".rstrip("."))
    source = RuleSource("test", root=root)
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for behavior in _BEHAVIORS:
        texts = lists.get(behavior) or ()
        if not isinstance(texts, list | tuple):
            raise UsageError(f"'rules.{behavior}' is {texts!r}; write a list of rules")
        found, bad = parse_rules(cast("list[object]", texts), behavior, source, aliases=ALIASES)
        rules += found
        problems += bad
    return tuple(rules), problems


def _check_keys(case: Mapping[str, Any]) -> None:
    for key in case:
        if key not in _KEYS and key not in _NOTES:
            meant = did_you_mean(key, _KEYS)
            raise UsageError(f"{key!r} is not a key of a case.{meant} Known are {', '.join(_KEYS)}")
    expected = case.get("expect")
    if expected is not None and expected not in _BEHAVIORS:
        meant = did_you_mean(str(expected), _BEHAVIORS)
        raise UsageError(f"'expect' is {expected!r}; write allow, ask or deny.{meant}".rstrip("."))
    if not isinstance(case.get("read_only", False), bool | None):
        raise UsageError(f"'read_only' is {case['read_only']!r}; write true or false")


def _arguments(case: Mapping[str, Any]) -> Mapping[str, Any]:
    given = case.get("input")
    if given is None:
        return {"command": _text(case, "command", "")} if "command" in case else {}
    if not isinstance(given, Mapping):
        raise UsageError(f"'input' is {given!r}; write the tool's arguments as an object")
    return cast("Mapping[str, Any]", given)


def _text(case: Mapping[str, Any], key: str, default: str) -> str:
    value = case.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise UsageError(f"{key!r} is {value!r}; write a string")
    return value


def _failures(case: Mapping[str, Any], decision: Decision, *, read_only: bool | None) -> tuple[str, ...]:
    failures: list[str] = []
    expected = case.get("expect")
    if expected is not None and expected != decision.behavior:
        failures.append(f"expected {expected}, the answer is {decision.behavior}: {decision.reason}")
    wanted = case.get("read_only")
    if wanted is not None and read_only is not None and wanted != read_only:
        failures.append(f"expected read_only {wanted}, the answer is {read_only}")
    return tuple(failures)

"""Unit tests of a policy: one JSON object per line, judged as `holdfast permissions test` promises.

A line's rules replace the settings' rules and are anchored like project settings at `project_root` (the working
directory when absent). A working directory that does not exist is fine; then nothing is read from disk.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from holdfast.contract import UsageError
from holdfast.permissions.bash_rules import only_reads
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decide import Decision, decide
from holdfast.permissions.paths import Disk, LiveDisk, NoDisk
from holdfast.permissions.rules import Behavior, Rule, RuleProblem, RuleSource, parse_rules
from holdfast.permissions.traits import ALIASES, facts_from_input

__all__ = ["CaseResult", "judge", "run_case"]

_BEHAVIORS: Final[tuple[Behavior, ...]] = ("allow", "ask", "deny")
_SHELL: Final = frozenset({"Bash", "Monitor", "PowerShell"})
_LIVE: Final = LiveDisk()
_NONE: Final = NoDisk()


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


def run_case(case: Mapping[str, Any], base: PermissionContext) -> CaseResult:
    """Judge one line. `base` supplies what the line does not say: rules, mode, home.

    Raises:
        UsageError: A field has the wrong type; the message names it.
    """
    tool = _text(case, "tool", "Bash")
    arguments = _arguments(case)
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

"""May this happen."""

from typing import TYPE_CHECKING

from holdfast.permissions.context import MODES, Behavior, PermissionContext, PermissionMode, Rule, RuleSource
from holdfast.permissions.decide import CallFacts, Decision, HookOpinion, Step, decide

if TYPE_CHECKING:
    from holdfast.permissions.bash_rules import judge_shell
    from holdfast.permissions.classifier import Classifier, DeterministicClassifier, Risk
    from holdfast.permissions.explain import explain_lines, explain_wire
    from holdfast.permissions.facts import normalised
    from holdfast.permissions.lint import Finding, lint
    from holdfast.permissions.matching import denies_read
    from holdfast.permissions.paths import LiveDisk, NoDisk, PathFacts
    from holdfast.permissions.policy_tests import CaseResult, judge, run_case
    from holdfast.permissions.rules import RuleProblem, parse_rule, parse_rules
    from holdfast.permissions.traits import facts_from_input
    from holdfast.permissions.web import WebRefusal, WebTarget, address_problem, check_url

_HOMES = {
    "judge_shell": "bash_rules",
    "Classifier": "classifier",
    "DeterministicClassifier": "classifier",
    "Risk": "classifier",
    "explain_lines": "explain",
    "explain_wire": "explain",
    "normalised": "facts",
    "Finding": "lint",
    "lint": "lint",
    "denies_read": "matching",
    "LiveDisk": "paths",
    "NoDisk": "paths",
    "PathFacts": "paths",
    "CaseResult": "policy_tests",
    "judge": "policy_tests",
    "run_case": "policy_tests",
    "RuleProblem": "rules",
    "parse_rule": "rules",
    "parse_rules": "rules",
    "facts_from_input": "traits",
    "WebRefusal": "web",
    "WebTarget": "web",
    "address_problem": "web",
    "check_url": "web",
}

__all__ = [
    "MODES",
    "Behavior",
    "CallFacts",
    "CaseResult",
    "Classifier",
    "Decision",
    "DeterministicClassifier",
    "Finding",
    "HookOpinion",
    "LiveDisk",
    "NoDisk",
    "PathFacts",
    "PermissionContext",
    "PermissionMode",
    "Risk",
    "Rule",
    "RuleProblem",
    "RuleSource",
    "Step",
    "WebRefusal",
    "WebTarget",
    "address_problem",
    "check_url",
    "decide",
    "denies_read",
    "explain_lines",
    "explain_wire",
    "facts_from_input",
    "judge",
    "judge_shell",
    "lint",
    "normalised",
    "parse_rule",
    "parse_rules",
    "run_case",
]


def __getattr__(name: str) -> object:
    """Load a name on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - nothing is loaded before it is used

    return getattr(import_module(f"{__name__}.{home}"), name)

"""May this happen."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.bash_rules import judge_shell
    from holdfast.permissions.classifier import (
        Classifier,
        ClassifierAnswer,
        ClassifierRequest,
        Classify,
        DeterministicClassifier,
        Risk,
        SecondOpinion,
    )
    from holdfast.permissions.context import MODES, Behavior, PermissionContext, PermissionMode, Rule, RuleSource
    from holdfast.permissions.decide import CallFacts, Decision, HookOpinion, Step, decide
    from holdfast.permissions.explain import explain_lines, explain_wire
    from holdfast.permissions.facts import normalised
    from holdfast.permissions.lint import Finding, lint
    from holdfast.permissions.matching import denies_read
    from holdfast.permissions.model_question import model_classifier
    from holdfast.permissions.paths import LiveDisk, NoDisk, PathFacts
    from holdfast.permissions.policy_tests import CaseResult, judge, run_case
    from holdfast.permissions.rules import RuleProblem, parse_rule, parse_rules
    from holdfast.permissions.traits import facts_from_input
    from holdfast.permissions.web import WebRefusal, WebTarget, address_problem, check_url

__all__ = [
    "MODES",
    "Behavior",
    "CallFacts",
    "CaseResult",
    "Classifier",
    "ClassifierAnswer",
    "ClassifierRequest",
    "Classify",
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
    "SecondOpinion",
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
    "model_classifier",
    "normalised",
    "parse_rule",
    "parse_rules",
    "run_case",
]

# Most programs never lint, test or explain a policy.
export_lazily(
    __name__,
    {
        "bash_rules": ("judge_shell",),
        "classifier": (
            "Classifier",
            "ClassifierAnswer",
            "ClassifierRequest",
            "Classify",
            "DeterministicClassifier",
            "Risk",
            "SecondOpinion",
        ),
        "context": (
            "Behavior",
            "MODES",
            "PermissionContext",
            "PermissionMode",
            "Rule",
            "RuleSource",
        ),
        "decide": (
            "CallFacts",
            "Decision",
            "HookOpinion",
            "Step",
            "decide",
        ),
        "explain": (
            "explain_lines",
            "explain_wire",
        ),
        "facts": ("normalised",),
        "lint": (
            "Finding",
            "lint",
        ),
        "matching": ("denies_read",),
        "model_question": ("model_classifier",),
        "paths": (
            "LiveDisk",
            "NoDisk",
            "PathFacts",
        ),
        "policy_tests": (
            "CaseResult",
            "judge",
            "run_case",
        ),
        "rules": (
            "RuleProblem",
            "parse_rule",
            "parse_rules",
        ),
        "traits": ("facts_from_input",),
        "web": (
            "WebRefusal",
            "WebTarget",
            "address_problem",
            "check_url",
        ),
    },
)

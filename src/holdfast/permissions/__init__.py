"""May this happen."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.classifier import (
        Classifier,
        ClassifierAnswer,
        ClassifierRequest,
        Classify,
        DeterministicClassifier,
        Risk,
        SecondOpinion,
    )
    from holdfast.permissions.context import MODES, Behavior, PermissionContext, PermissionMode
    from holdfast.permissions.decision import Decision, HookOpinion, Step, decide
    from holdfast.permissions.facts import CallFacts, normalised
    from holdfast.permissions.matching import denies_read
    from holdfast.permissions.model_question import model_classifier
    from holdfast.permissions.paths import LiveDisk, NoDisk, PathFacts
    from holdfast.permissions.policy.cases import CaseResult, judge, run_case
    from holdfast.permissions.policy.explain import explain_lines, explain_wire
    from holdfast.permissions.policy.linting import Finding, lint
    from holdfast.permissions.rules.grammar import Rule, RuleProblem, RuleSource, parse_rule, parse_rules
    from holdfast.permissions.shell.judge.verdict import judge_shell
    from holdfast.permissions.tool_facts import facts_from_input
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
        "shell.judge.verdict": ("judge_shell",),
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
        "decision": (
            "CallFacts",
            "Decision",
            "HookOpinion",
            "Step",
            "decide",
        ),
        "policy.explain": (
            "explain_lines",
            "explain_wire",
        ),
        "facts": ("normalised",),
        "policy.linting": (
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
        "policy.cases": (
            "CaseResult",
            "judge",
            "run_case",
        ),
        "rules.grammar": (
            "RuleProblem",
            "parse_rule",
            "parse_rules",
        ),
        "tool_facts": ("facts_from_input",),
        "web": (
            "WebRefusal",
            "WebTarget",
            "address_problem",
            "check_url",
        ),
    },
)

"""May this happen."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.classifier import ClassifierAnswer, ClassifierRequest, Classify
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.decision import Decision, HookOpinion, Step, decide
    from holdfast.permissions.facts import CallFacts
    from holdfast.permissions.matching import denies_read
    from holdfast.permissions.model_question import model_classifier
    from holdfast.permissions.paths import LiveDisk, NoDisk
    from holdfast.permissions.rules.grammar import Rule, RuleSource
    from holdfast.permissions.tool_facts import facts_from_input

__all__ = [
    "CallFacts", "ClassifierAnswer", "ClassifierRequest", "Classify", "Decision", "HookOpinion", "LiveDisk", "NoDisk",
    "PermissionContext", "Rule", "RuleSource", "Step", "decide", "denies_read", "facts_from_input", "model_classifier",
]  # fmt: skip

export_lazily(
    __name__,
    {
        "classifier": ("ClassifierAnswer", "ClassifierRequest", "Classify"),
        "context": ("PermissionContext",),
        "decision": ("Decision", "HookOpinion", "Step", "decide"),
        "facts": ("CallFacts",),
        "matching": ("denies_read",),
        "model_question": ("model_classifier",),
        "paths": ("LiveDisk", "NoDisk"),
        "rules.grammar": ("Rule", "RuleSource"),
        "tool_facts": ("facts_from_input",),
    },
)

"""May this happen."""

from holdfast.permissions.context import MODES, Behavior, PermissionContext, PermissionMode, Rule, RuleSource
from holdfast.permissions.decide import CallFacts, Decision, HookOpinion, Step, decide

__all__ = [
    "MODES",
    "Behavior",
    "CallFacts",
    "Decision",
    "HookOpinion",
    "PermissionContext",
    "PermissionMode",
    "Rule",
    "RuleSource",
    "Step",
    "decide",
]

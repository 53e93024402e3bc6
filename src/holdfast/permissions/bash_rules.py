"""Shell calls: what the analysis of the command says, in the terms of the decision."""

from typing import TYPE_CHECKING, NamedTuple

from holdfast.permissions.classifier import Risk
from holdfast.permissions.facts import Sight

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts
    from holdfast.permissions.rules import Rule

__all__ = ["ShellVerdict", "judge_shell"]


class ShellVerdict(NamedTuple):
    """A command, analysed and held against the rules."""

    read_only: bool = False
    denied: "Rule | None" = None
    asked: "Rule | None" = None
    allowed: "Rule | None" = None
    """A rule that covers the whole command, part by part."""
    critical: str = ""
    """Why this removal is asked about in every mode; empty when it is none."""
    file_command: bool = False
    """Only mkdir, touch, mv and cp of plain paths."""
    risk: Risk = Risk("high", "the command was not analysed")
    sight: Sight = Sight()
    parts: tuple[str, ...] = ()


def judge_shell(call: "CallFacts", context: "PermissionContext") -> ShellVerdict:
    """Analyse the command of a call."""
    del context
    return ShellVerdict(parts=(call.subject.value,))

"""Shell text: what it would do, which rules cover it, and what to tell people about it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.permissions.shell.analysis import Analysis, analyse
    from holdfast.permissions.shell.classify import high_risk
    from holdfast.permissions.shell.critical import critical_removal
    from holdfast.permissions.shell.deceive import deception, show, visible
    from holdfast.permissions.shell.match import (
        BashRule,
        Coverage,
        Hit,
        RuleIndex,
        allowed,
        ask_matches,
        compile_bash_rule,
        deny_matches,
        possible_match,
    )
    from holdfast.permissions.shell.parts import Part, Redirect
    from holdfast.permissions.shell.suggest import suggest_rules
    from holdfast.permissions.shell.words import Word

_HOMES = {
    "Analysis": "analysis",
    "analyse": "analysis",
    "high_risk": "classify",
    "critical_removal": "critical",
    "deception": "deceive",
    "show": "deceive",
    "visible": "deceive",
    "BashRule": "match",
    "Coverage": "match",
    "Hit": "match",
    "RuleIndex": "match",
    "allowed": "match",
    "ask_matches": "match",
    "compile_bash_rule": "match",
    "deny_matches": "match",
    "possible_match": "match",
    "Part": "parts",
    "Redirect": "parts",
    "suggest_rules": "suggest",
    "Word": "words",
}

__all__ = [
    "Analysis",
    "BashRule",
    "Coverage",
    "Hit",
    "Part",
    "Redirect",
    "RuleIndex",
    "Word",
    "allowed",
    "analyse",
    "ask_matches",
    "compile_bash_rule",
    "critical_removal",
    "deception",
    "deny_matches",
    "high_risk",
    "possible_match",
    "show",
    "suggest_rules",
    "visible",
]


def __getattr__(name: str) -> object:
    """Load a name on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - nothing is loaded before it is used

    return getattr(import_module(f"{__name__}.{home}"), name)

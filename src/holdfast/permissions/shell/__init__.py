"""Shell text: what it would do, which rules cover it, and what to tell people about it."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.shell.analysis import Analysis, analyse
    from holdfast.permissions.shell.classify import high_risk
    from holdfast.permissions.shell.critical import critical_removal
    from holdfast.permissions.shell.deceive import deception, show, visible
    from holdfast.permissions.shell.match import Coverage, Hit, allowed, ask_matches, deny_matches, possible_match
    from holdfast.permissions.shell.parts import Part, Redirect
    from holdfast.permissions.shell.rule_index import BashRule, RuleIndex, compile_bash_rule
    from holdfast.permissions.shell.suggest import suggest_rules
    from holdfast.permissions.shell.words import Word

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

export_lazily(
    __name__,
    {
        "analysis": ("Analysis", "analyse"),
        "classify": ("high_risk",),
        "critical": ("critical_removal",),
        "deceive": ("deception", "show", "visible"),
        "match": ("Coverage", "Hit", "allowed", "ask_matches", "deny_matches", "possible_match"),
        "parts": ("Part", "Redirect"),
        "rule_index": ("BashRule", "RuleIndex", "compile_bash_rule"),
        "suggest": ("suggest_rules",),
        "words": ("Word",),
    },
)

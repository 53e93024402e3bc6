"""The `if` of a hook: one permission rule that says which calls the hook is about."""

import logging
from typing import TYPE_CHECKING

from holdfast.contract import UsageError
from holdfast.hooks.doubts import is_more_than_one_rule
from holdfast.permissions import CallFacts, Rule, RuleSource, decide
from holdfast.registry import ALIASES

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext

__all__ = ["is_meant"]

_log = logging.getLogger(__name__)


def is_meant(condition: str, call: CallFacts, permissions: "PermissionContext") -> bool:
    """Whether the rule speaks of this call, as a deny rule would, or may speak of it: what cannot be told is heard."""
    if is_more_than_one_rule(condition):
        return True
    try:
        # An alias must not turn `if` into a rule about another tool; the canonical name is what calls carry.
        rule = Rule.parse("deny", condition, RuleSource("hook"), aliases=ALIASES)
    except UsageError as error:
        _log.warning("the `if` of a hook is ignored, so the hook hears every call: %s", error)
        return True
    # Where nothing else asks, what is held back is a command of which nobody knows whether the rule is about it.
    found = decide(call, permissions.with_mode("bypassPermissions").replacing_rules([rule]))
    return found.layer == "deny" or (found.layer == "guard" and rule.tool in call.names)

"""Rules that "always allow" would save for a call: the shortest that are still safe, shown before they are saved."""

import os
import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.facts import CallFacts
from holdfast.permissions.web import WebTarget, check_url

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.shell.parts import Part

__all__ = ["suggest_rules_for"]

_GLOB_CHARACTERS: Final = re.compile(r"([\\*?\[\]!#])")


def suggest_rules_for(call: CallFacts, context: "PermissionContext | None" = None) -> tuple[str, ...]:
    """The rules, or none where no safe rule covers the call and the answer can only be for this once.

    With a context, rules that are in force already are left out: to save them again would change nothing.
    """
    if call.requires_interaction:
        return ()
    known = [] if context is None else [rule.text for rule in context.rules if rule.behavior == "allow"]
    return tuple(rule for rule in _rules(call, context) if rule not in known)


def _rules(call: CallFacts, context: "PermissionContext | None") -> tuple[str, ...]:
    kind, value = call.subject
    if kind == "command":
        return _shell_rules(value, call, context)
    if kind == "edit_path":
        return (f"Edit({_anchored(value, call.cwd)})",)
    if kind == "read_path":
        return (f"Read({_anchored(value, call.cwd)})",)
    if kind == "domain":
        target = check_url(value)
        return (f"{call.tool}(domain:{target.host})",) if isinstance(target, WebTarget) else ()
    if kind in ("agent", "skill"):
        return (f"{call.tool}({value})",) if value else ()
    return (call.tool,)


def _shell_rules(command: str, call: CallFacts, context: "PermissionContext | None") -> tuple[str, ...]:
    from holdfast.permissions.shell.analysis import analyse  # noqa: PLC0415 - the parser loads with the first command
    from holdfast.permissions.shell.suggest import suggest_rules  # noqa: PLC0415 - see above

    def is_covered(part: "Part") -> bool:
        if context is None:
            return False
        from holdfast.permissions.decide import decide  # noqa: PLC0415 - it needs what this module needs
        from holdfast.permissions.traits import facts_from_input  # noqa: PLC0415 - the same

        found = decide(facts_from_input(call.tool, {"command": part.source}, call.cwd), context)
        return (found.behavior, found.layer) == ("allow", "allow")

    analysis = analyse(command, cwd=call.cwd)
    return tuple(f"Bash({content})" for content in suggest_rules(analysis, is_covered))


def _anchored(path: str, cwd: str) -> str:
    """One path as a rule: anchored at the root of the file system, with glob characters made plain."""
    whole = os.path.normpath(os.path.join(cwd, path))
    return "/" + _GLOB_CHARACTERS.sub(r"\\\1", whole)

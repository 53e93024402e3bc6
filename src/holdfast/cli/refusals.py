"""Calls that were refused, told to people: how many, which tools, and what would allow them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from holdfast.cli.counted import counted
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext
    from holdfast.permissions.policy.explain import Advice

__all__ = ["refusal_line"]

_MOST_RULES = 6


def refusal_line(denials: Iterable[Mapping[str, Any]], context: "PermissionContext", cwd: str) -> str:
    """One line about the refused calls of a run; empty when there are none."""
    refused = list(denials)
    if not refused:
        return ""
    tools = ", ".join(sorted({visible(str(denial["tool_name"]), limit_chars=60) for denial in refused}))
    were = "was" if len(refused) == 1 else "were"
    way_out = _way_out([_advice(denial, context, cwd) for denial in refused])
    return f"{counted(len(refused), 'call')} {were} refused ({tools}); {way_out}"


def _advice(denial: Mapping[str, Any], context: "PermissionContext", cwd: str) -> "Advice":
    from holdfast.permissions.policy.explain import what_would_allow  # noqa: PLC0415 - only where something was refused
    from holdfast.permissions.tool_facts import facts_from_input  # noqa: PLC0415 - the same

    given = denial.get("tool_input")
    raw: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    return what_would_allow(facts_from_input(str(denial["tool_name"]), raw, cwd), context)


def _way_out(found: "list[Advice]") -> str:
    from holdfast.permissions.policy.explain import flags_for  # noqa: PLC0415 - see above

    rules = list(dict.fromkeys(rule for advice in found for rule in advice.rules))
    modes = {advice.mode for advice in found if advice.mode}
    hopeless = list(dict.fromkeys(advice.reason for advice in found if advice.reason))
    mode = max(modes, key=("default", "acceptEdits", "bypassPermissions").index) if modes else None
    said: list[str] = []
    if rules or mode:
        flags = flags_for(tuple(rules[:_MOST_RULES]), mode)
        more = f" and {len(rules) - _MOST_RULES} more rules" if len(rules) > _MOST_RULES else ""
        said.append(f"allow {'them' if len(found) > 1 else 'it'} with {visible(flags, limit_chars=2000)}{more}")
    elif not hopeless:
        said.append("a person or a hook said no, or the rules have changed since")
    said += [visible(reason, limit_chars=300) for reason in hopeless]
    return "; ".join(said)

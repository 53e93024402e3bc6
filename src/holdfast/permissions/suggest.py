"""Rules that "always allow" would save for a call: the shortest that are still safe, shown before they are saved."""

import os
import re
from typing import Final

from holdfast.permissions.facts import CallFacts
from holdfast.permissions.web import WebTarget, check_url

__all__ = ["suggest_rules_for"]

_GLOB_CHARACTERS: Final = re.compile(r"([\\*?\[\]!#])")


def suggest_rules_for(call: CallFacts) -> tuple[str, ...]:
    """The rules, or none where no safe rule covers the call and the answer can only be for this once."""
    kind, value = call.subject
    if call.requires_interaction:
        return ()
    if kind == "command":
        return _shell_rules(value, call.cwd)
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


def _shell_rules(command: str, cwd: str) -> tuple[str, ...]:
    from holdfast.permissions.shell.analysis import analyse  # noqa: PLC0415 - the parser loads with the first command
    from holdfast.permissions.shell.suggest import suggest_rules  # noqa: PLC0415 - see above

    return tuple(f"Bash({content})" for content in suggest_rules(analyse(command, cwd=cwd)))


def _anchored(path: str, cwd: str) -> str:
    """One path as a rule: anchored at the root of the file system, with glob characters made plain."""
    whole = os.path.normpath(os.path.join(cwd, path))
    return "/" + _GLOB_CHARACTERS.sub(r"\\\1", whole)

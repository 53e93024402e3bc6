"""PowerShell commands: no parser of ours proves them read-only, so they run by rule or by question.

Rules have the shape of Bash rules; names are compared without case and common aliases by their full name.
"""

import re
from typing import Final

from holdfast.permissions.classifier import Risk
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.facts import CallFacts, ShellPart, ShellVerdict
from holdfast.permissions.rules.globs import StarGlob
from holdfast.permissions.rules.grammar import Behavior, Rule

_SEPARATORS = re.compile(r"[;|&\r\n(){}]+")
_DYNAMIC: Final = frozenset(";|&\r\n(){}<>$`@\"'#%[]")
_ALIASES: Final = {
    **dict.fromkeys(("rm", "del", "erase", "rd", "ri", "rmdir"), "remove-item"),
    **dict.fromkeys(("ls", "dir", "gci"), "get-childitem"),
    **dict.fromkeys(("cat", "gc", "type"), "get-content"),
    **dict.fromkeys(("cp", "copy", "cpi"), "copy-item"),
    **dict.fromkeys(("mv", "move", "mi"), "move-item"),
    **dict.fromkeys(("iex",), "invoke-expression"),
    **dict.fromkeys(("iwr", "curl", "wget"), "invoke-webrequest"),
    **dict.fromkeys(("irm",), "invoke-restmethod"),
    **dict.fromkeys(("sc",), "set-content"),
    **dict.fromkeys(("cd", "chdir", "sl"), "set-location"),
    **dict.fromkeys(("echo", "write"), "write-output"),
    **dict.fromkeys(("kill", "spps"), "stop-process"),
    **dict.fromkeys(("start", "saps"), "start-process"),
}
_CRITICAL = re.compile(r"remove-item\b.*(\s|^)([a-z]:)?[\\/~*.]+(\s|$)")


def judge_powershell(call: "CallFacts", context: "PermissionContext") -> ShellVerdict:
    """Hold a command against the PowerShell rules; in doubt it is asked about."""
    command = call.subject.value
    pieces = [_plain(piece) for piece in _SEPARATORS.split(command)]
    pieces = [piece for piece in pieces if piece]
    certain = _DYNAMIC.isdisjoint(command) and command.isascii()
    denied = _find("deny", [*pieces, _plain(command)], context)
    asked = _find("ask", [*pieces, _plain(command)], context)
    allowed = _find("allow", pieces[:1], context) if certain and len(pieces) == 1 else None
    if allowed is None and certain and context.effective_mode != "auto":  # there so broad a rule is set aside
        allowed = context.book.whole("allow", ("PowerShell",))
    holds_back = context.book.commands("deny", "PowerShell") or context.book.commands("ask", "PowerShell")
    return ShellVerdict(
        denied=denied,
        asked=asked,
        allowed=allowed,
        critical="it may remove a whole directory tree" if any(map(_CRITICAL.search, pieces)) else "",
        doubt="the command holds parts that no rule can see through" if holds_back and not certain else "",
        risk_of=lambda: Risk("high", "PowerShell commands are not analysed", unknown=certain),
        parts_of=lambda: tuple(
            ShellPart(piece, read_only=False, reason="PowerShell is not analysed") for piece in pieces
        ),
    )


def _plain(piece: str) -> str:
    words = piece.replace('"', " ").replace("'", " ").lower().split()
    if words:
        words[0] = _ALIASES.get(words[0], words[0])
    return " ".join(words)


def _find(behavior: "Behavior", pieces: list[str], context: "PermissionContext") -> "Rule | None":
    for rule in context.book.commands(behavior, "PowerShell"):
        content = (rule.content or "").replace(":*", " *")
        prefix = content.endswith(" *")
        plain = _plain(content.removesuffix(" *"))
        glob = StarGlob(f"{plain} *" if prefix else plain)
        if any(glob.matches(piece) or (prefix and piece == plain) for piece in pieces):
            return rule
    return None

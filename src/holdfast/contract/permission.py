"""What a tool says about permission, how rules are matched against it, and what an answer changes of the rights."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = [
    "NO_OBJECTION",
    "PASSTHROUGH",
    "DirectoryUpdate",
    "ModeUpdate",
    "Opinion",
    "PermissionUpdate",
    "Preview",
    "RuleSubject",
    "RuleUpdate",
    "SubjectKind",
]

SubjectKind = Literal["name", "command", "read_path", "edit_path", "domain", "mcp", "agent", "skill"]


class RuleSubject(NamedTuple):
    """What the content of a rule, as in `Bash(git *)`, is compared with."""

    kind: SubjectKind = "name"
    value: str = ""


class Opinion(NamedTuple):
    """A tool's own view of one call. It can hold back, never grant."""

    behavior: Literal["no_objection", "passthrough", "ask", "deny"]
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None

    @classmethod
    def ask(cls, reason: str) -> "Opinion":
        """Somebody should look at this call first."""
        return cls("ask", reason)

    @classmethod
    def deny(cls, reason: str) -> "Opinion":
        """This call must not happen."""
        return cls("deny", reason)


class Preview(NamedTuple):
    """What a call would change, shown with the question; what was shown is what is then done."""

    diff: str
    internal: Mapping[str, Any]
    """The internal fields that hold the tool to what was shown, see `internal`."""


NO_OBJECTION = Opinion("no_objection")
"""The rules and the mode decide, with the tool's declared behaviour."""
PASSTHROUGH = Opinion("passthrough")
"""The tool has no opinion: without a rule the answer is ask."""


class RuleUpdate(NamedTuple):
    """Rules that an answer adds or takes away, and where they are kept."""

    behavior: Literal["allow", "ask", "deny"]
    rules: tuple[str, ...]
    destination: str = "session"
    replaces: bool = False
    """They stand in place of the allow rules that were kept there; rules that deny or ask are only ever added."""
    removes: bool = False
    """They go instead: only allow rules ever do."""


class ModeUpdate(NamedTuple):
    """Another permission mode, for the rest of the session."""

    mode: str
    destination: str = "session"
    """Where it is kept, too, for later sessions."""


class DirectoryUpdate(NamedTuple):
    """Directories that count as inside for the rest of the session, or no longer do."""

    directories: tuple[str, ...]
    removes: bool = False
    """Only what an answer has added ever goes."""
    destination: str = "session"
    """Where they are kept, too, for later sessions."""


PermissionUpdate = RuleUpdate | ModeUpdate | DirectoryUpdate

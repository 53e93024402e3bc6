"""What a tool says about permission: its own opinion of a call, and how rules are matched against it."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = ["NO_OBJECTION", "PASSTHROUGH", "Opinion", "Preview", "RuleSubject", "SubjectKind"]

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

"""What hooks are told: the base of every event, and the events around one call.

An event is one declaration: its fields, what exit code 2 means, and who waits for it. The fields are those that
existing hook scripts read from standard input. A Python function gets the very same record.
"""

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

__all__ = [
    "ExitTwo",
    "HookInput",
    "PermissionDenied",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PreToolUse",
    "ToolHookInput",
    "Waits",
]

ExitTwo: TypeAlias = Literal["blocks", "tells the model", "shows the user", "is ignored"]
Waits: TypeAlias = Literal["engine", "loop", "tool", "app", "later", "never"]
"""Who tells the event and waits: one call, the loop, a tool whose work it is, the session's start, or nobody yet."""
_TIMEOUT_S = 600.0


class HookInput(msgspec.Struct, frozen=True, kw_only=True, tag_field="hook_event_name", tag=True):
    """What every hook is told."""

    about: ClassVar[str] = ""
    exit_two: ClassVar[ExitTwo] = "shows the user"
    awaited: ClassVar[Waits] = "later"
    matched_by: ClassVar[str] = ""
    """The field that a matcher is compared with; none: a matcher is not looked at."""
    says: ClassVar[frozenset[str]] = frozenset()
    """What of `hookSpecificOutput` counts for it."""
    plain_is_context: ClassVar[bool] = False
    """Plain text on standard output is told to the model."""
    timeout_s: ClassVar[float] = _TIMEOUT_S
    is_gate: ClassVar[bool] = False
    """A hook that fails must not wave the call through."""
    must_succeed: ClassVar[bool] = False
    """Whatever is no success blocks."""

    session_id: str = ""
    prompt_id: str | UnsetType = UNSET
    transcript_path: str = ""
    cwd: str = ""
    permission_mode: str = "default"
    effort: dict[str, str] | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    agent_type: str | UnsetType = UNSET

    @property
    def event_name(self) -> str:
        """The event's name."""
        return type(self).__name__

    def subjects(self) -> tuple[str, ...]:
        """What a matcher is compared with."""
        return (str(getattr(self, self.matched_by)) if self.matched_by else "",)


class ToolHookInput(HookInput, frozen=True, kw_only=True):
    """An event about one call."""

    matched_by: ClassVar[str] = "tool_name"
    awaited: ClassVar[Waits] = "engine"

    tool_name: str
    tool_input: Any


class PreToolUse(ToolHookInput, frozen=True, kw_only=True):
    """Before a call, and before any rule speaks."""

    about: ClassVar[str] = "before a call, whatever the rules will say about it"
    exit_two: ClassVar[ExitTwo] = "blocks"
    says: ClassVar[frozenset[str]] = frozenset(
        {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}
    )
    is_gate: ClassVar[bool] = True

    tool_use_id: str


class PermissionRequest(ToolHookInput, frozen=True, kw_only=True):
    """Before a person is asked about a call."""

    about: ClassVar[str] = "before a person is asked about a call"
    exit_two: ClassVar[ExitTwo] = "is ignored"
    says: ClassVar[frozenset[str]] = frozenset({"decision"})
    is_gate: ClassVar[bool] = True

    permission_suggestions: list[Any] = msgspec.field(default_factory=list[Any])


class PermissionDenied(ToolHookInput, frozen=True, kw_only=True):
    """After a call was refused."""

    about: ClassVar[str] = "after a call was refused"
    says: ClassVar[frozenset[str]] = frozenset({"retry", "additionalContext"})

    tool_use_id: str
    reason: str


class PostToolUse(ToolHookInput, frozen=True, kw_only=True):
    """After a call that worked."""

    about: ClassVar[str] = "after a call that worked"
    exit_two: ClassVar[ExitTwo] = "tells the model"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext", "updatedToolOutput", "updatedMCPToolOutput"})

    tool_use_id: str
    tool_response: Any
    duration_ms: float = 0.0
    tool_result: Any = UNSET
    """The same once more, under names that scripts read."""
    tool_output: Any = UNSET


class PostToolUseFailure(ToolHookInput, frozen=True, kw_only=True):
    """After a call that failed."""

    about: ClassVar[str] = "after a call that failed or was interrupted"
    exit_two: ClassVar[ExitTwo] = "tells the model"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext", "updatedToolOutput"})

    tool_use_id: str
    error: str
    is_interrupt: bool = False
    duration_ms: float = 0.0

"""What happened, as immutable records. Faces, journals, hooks and SDK users all read these and nothing else."""

from typing import Any, Literal

import msgspec

__all__ = [
    "AgentTold",
    "CallDiscarded",
    "CallFinished",
    "CallProgressed",
    "CallQueued",
    "CallStarted",
    "ContextChanged",
    "Event",
    "FormAnswered",
    "FormAsked",
    "FormWithdrawn",
    "HookRan",
    "HookSpoke",
    "HookStarted",
    "Outcome",
    "PermissionAsked",
    "PermissionDecided",
    "PermissionWithdrawn",
    "SubCallFinished",
    "TaskChanged",
    "TerminalSignalled",
    "TurnEnded",
]

Outcome = Literal[
    "completed",  # it ran; `is_error` tells whether it worked
    "failed",  # it ran and could not do its work
    "invalid",  # name or arguments did not fit
    "denied",  # a rule, a mode or a person said no
    "cancelled",  # stopped: by the user, a sibling or a deadline
    "crashed",  # a bug in the tool
]


class Event(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of everything that happened."""


class AgentTold(Event, frozen=True, tag="agent_event"):
    """Something happened in an agent that a call has started."""

    agent_id: str
    agent_type: str
    parent_tool_use_id: str
    event: Any
    """What happened there, as an event of its own."""
    chain_id: str = ""
    """The prompt that all of this is the answer to, the same for all agents below it."""
    depth: int = 1
    """How many calls of Agent lead to it."""


class CallQueued(Event, frozen=True, tag="call_queued"):
    """A model asked for this; nothing has been done yet."""

    tool_use_id: str
    name: str
    input: Any


class PermissionAsked(Event, frozen=True, tag="permission_request"):
    """A person has to decide."""

    request_id: str
    tool_use_id: str
    name: str
    input: Any
    reason: str
    suggestions: tuple[str, ...] = ()


class PermissionWithdrawn(Event, frozen=True, tag="permission_withdrawn"):
    """The question is no longer open: its call was stopped before anybody answered."""

    request_id: str
    tool_use_id: str
    name: str
    duration_ms: float = 0.0
    """How long it was open."""


class FormAsked(Event, frozen=True, tag="form_request"):
    """A person has something to fill in, to open or to edit."""

    request_id: str
    tool_use_id: str
    """The call that it belongs to; empty where a server asks."""
    form: Any


class FormWithdrawn(Event, frozen=True, tag="form_withdrawn"):
    """The form is no longer open: whoever asked does not wait any more."""

    request_id: str
    tool_use_id: str


class FormAnswered(Event, frozen=True, tag="form_answered"):
    """What became of a form; what was filled in is told to whoever asked."""

    request_id: str
    tool_use_id: str
    action: str
    message: str = ""


class PermissionDecided(Event, frozen=True, tag="permission_decision"):
    """May this happen, and why."""

    tool_use_id: str
    name: str
    behavior: str
    decision: Any
    """Who decided (its layer), and what everybody said."""
    duration_ms: float = 0.0
    """How long a person or hooks were waited for; 0 where nobody was asked."""


class RemoteTool(msgspec.Struct, frozen=True):
    """A tool of an MCP server, by the names that the server knows it by."""

    server: str
    tool: str


class CallStarted(Event, frozen=True, tag="call_started"):
    """The tool begins to act now."""

    tool_use_id: str
    name: str
    read_only: bool
    mcp: RemoteTool | None = None
    """For a tool of a server."""


class CallProgressed(Event, frozen=True, tag="tool_progress"):
    """A tool tells how its work goes on."""

    tool_use_id: str
    name: str
    data: Any
    elapsed_s: float = 0.0


class CallFinished(Event, frozen=True, tag="tool_result"):
    """The one reply to a call."""

    tool_use_id: str
    name: str
    content: str | list[dict[str, Any]]
    """What the model reads."""
    is_error: bool = False
    outcome: Outcome = "completed"
    duration_ms: float = 0.0
    data: Any = None
    """What programs read."""
    display: str | None = None
    """What people read, when it differs."""
    new_messages: tuple[Any, ...] = ()
    spilled_to: str | None = None
    """Where the full text is, when it was too long to send."""
    error_code: int | None = None
    """Which error it is, for programs: a number of the tool's own."""
    mcp: RemoteTool | None = None
    """For a tool of a server."""


class SubCallFinished(Event, frozen=True, tag="sub_call"):
    """A tool has called another one, under the same rights; the model reads of it only what the tool tells."""

    tool_use_id: str
    """The call that made it."""
    id: str
    """Its own, as permission events name it."""
    name: str
    input: Any
    is_error: bool = False
    outcome: Outcome = "completed"
    duration_ms: float = 0.0


class CallDiscarded(Event, frozen=True, tag="call_discarded"):
    """The stream is repeated: this call leaves the transcript without a reply."""

    tool_use_id: str
    name: str


class ContextChanged(Event, frozen=True, tag="context_changed"):
    """A finished call changed the session, such as its directory."""

    tool_use_id: str
    change: str
    value: Any


class TaskChanged(Event, frozen=True, tag="task_changed"):
    """A background task began, ended or was stopped."""

    task_id: str
    task_type: str
    status: str
    description: str
    tool_use_id: str | None = None
    exit_code: int | None = None
    output_file: str | None = None


class TurnEnded(Event, frozen=True, tag="turn_ended"):
    """Every call of a turn is answered."""

    turn: int


class HookStarted(Event, frozen=True, tag="hook_started"):
    """A hook of the user begins to work."""

    event: str
    label: str
    origin: str
    hook_id: str
    status: str = ""
    """What people may be shown meanwhile, in the hook's own words."""
    tool_use_id: str = ""


class HookRan(Event, frozen=True, tag="hook"):
    """A hook of the user was heard, and what it said."""

    event: str
    label: str
    """What was run."""
    origin: str
    """Where it was configured."""
    outcome: str
    """Its decision; `ok` without one, `failed`, or `cancelled`."""
    reason: str = ""
    duration_ms: float = 0.0
    tool_use_id: str = ""
    hook_id: str = ""


class HookSpoke(Event, frozen=True, tag="hook_message"):
    """Something that hooks want the user to see: their own words, or that one of them failed."""

    event: str
    text: str
    is_warning: bool = False


class TerminalSignalled(Event, frozen=True, tag="terminal_signal"):
    """A hook wants the user's terminal to ring, notify or have a title; nothing else is ever in the sequence."""

    event: str
    sequence: str

"""What hooks are told about a session beside its calls: prompts, starts and ends, compaction, settings, files."""

import os
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.hooks.inputs import ExitTwo, HookInput, Waits

__all__ = [
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PostCompact",
    "PostModelSwitch",
    "PostToolBatch",
    "PreCompact",
    "PreModelSwitch",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "WorktreeCreate",
    "WorktreeRemove",
]


class PostToolBatch(HookInput, frozen=True, kw_only=True):
    """After all calls of one answer."""

    about: ClassVar[str] = "after all calls of one answer, before the model reads their results"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    exit_two: ClassVar[ExitTwo] = "blocks"
    awaited: ClassVar[Waits] = "loop"

    tool_calls: list[Any] = msgspec.field(default_factory=list[Any])


class UserPromptSubmit(HookInput, frozen=True, kw_only=True):
    """The user said something."""

    about: ClassVar[str] = "when the user says something, before the model reads it"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext", "sessionTitle"})
    exit_two: ClassVar[ExitTwo] = "blocks"
    awaited: ClassVar[Waits] = "loop"
    plain_is_context: ClassVar[bool] = True
    timeout_s: ClassVar[float] = 30.0

    prompt: str


class UserPromptExpansion(HookInput, frozen=True, kw_only=True):
    """A command of the user is expanded."""

    about: ClassVar[str] = "when a slash command is expanded"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    awaited: ClassVar[Waits] = "loop"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "command_name"
    plain_is_context: ClassVar[bool] = True

    expansion_type: str = ""
    command_name: str = ""
    command_args: str = ""
    command_source: str = ""
    prompt: str = ""


class MessageDisplay(HookInput, frozen=True, kw_only=True):
    """A message of the model is shown."""

    about: ClassVar[str] = "when a text of the model is complete, before it is shown"
    says: ClassVar[frozenset[str]] = frozenset({"displayContent"})
    exit_two: ClassVar[ExitTwo] = "is ignored"
    awaited: ClassVar[Waits] = "loop"

    timeout_s: ClassVar[float] = 10.0  # people wait for it

    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = True
    delta: str = ""


class Notification(HookInput, frozen=True, kw_only=True):
    """The user should look."""

    about: ClassVar[str] = "when the user should look: a question is open, or the agent waits"
    matched_by: ClassVar[str] = "notification_type"
    awaited: ClassVar[Waits] = "engine"

    message: str = ""
    title: str = ""
    notification_type: str = ""


class SessionStart(HookInput, frozen=True, kw_only=True):
    """A session begins or goes on."""

    about: ClassVar[str] = "when a session begins, is resumed or forked, or was compacted"
    says: ClassVar[frozenset[str]] = frozenset(
        {"additionalContext", "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"}
    )
    matched_by: ClassVar[str] = "source"
    awaited: ClassVar[Waits] = "loop"
    plain_is_context: ClassVar[bool] = True

    source: Literal["startup", "resume", "clear", "compact", "fork"] = "startup"
    model: str = ""


class SessionEnd(HookInput, frozen=True, kw_only=True):
    """A session ends."""

    about: ClassVar[str] = "when a session ends; all its hooks together have 1.5 s"
    matched_by: ClassVar[str] = "reason"
    awaited: ClassVar[Waits] = "loop"
    timeout_s: ClassVar[float] = 1.5

    reason: str = "other"


class Setup(HookInput, frozen=True, kw_only=True):
    """A project is prepared."""

    about: ClassVar[str] = "with `--init`, `--init-only` or `--maintenance`, before the session starts"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    matched_by: ClassVar[str] = "trigger"
    awaited: ClassVar[Waits] = "app"

    trigger: str = "init"


class Stop(HookInput, frozen=True, kw_only=True):
    """The model is done."""

    about: ClassVar[str] = "when the model is done; a block makes it go on, at most 8 times in a row"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    exit_two: ClassVar[ExitTwo] = "blocks"
    awaited: ClassVar[Waits] = "loop"

    stop_hook_active: bool = False
    last_assistant_message: str = ""
    background_tasks: list[Any] = msgspec.field(default_factory=list[Any])
    session_crons: list[Any] = msgspec.field(default_factory=list[Any])


class StopFailure(HookInput, frozen=True, kw_only=True):
    """A run ended by an error."""

    about: ClassVar[str] = "when a run ends because the model could not be asked"
    exit_two: ClassVar[ExitTwo] = "is ignored"
    matched_by: ClassVar[str] = "error"
    awaited: ClassVar[Waits] = "loop"

    error: str = ""
    error_details: str = ""
    last_assistant_message: str = ""


class SubagentStart(HookInput, frozen=True, kw_only=True):
    """A subagent begins."""

    about: ClassVar[str] = "when a subagent begins"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    awaited: ClassVar[Waits] = "loop"
    matched_by: ClassVar[str] = "agent_type"


class SubagentStop(HookInput, frozen=True, kw_only=True):
    """A subagent is done."""

    about: ClassVar[str] = "when a subagent is done; a block makes it go on"
    says: ClassVar[frozenset[str]] = frozenset({"additionalContext"})
    awaited: ClassVar[Waits] = "loop"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "agent_type"

    agent_transcript_path: str = ""
    last_assistant_message: str = ""
    stop_hook_active: bool = False


class _OfTask(HookInput, frozen=True, kw_only=True):
    task_id: str = ""
    task_subject: str = ""
    task_description: str = ""
    teammate_name: str | UnsetType = UNSET
    team_name: str | UnsetType = UNSET


class TaskCreated(_OfTask, frozen=True, kw_only=True):
    """An entry of the task list is made."""

    about: ClassVar[str] = "when an entry of the task list is made"
    awaited: ClassVar[Waits] = "tool"
    exit_two: ClassVar[ExitTwo] = "blocks"


class TaskCompleted(_OfTask, frozen=True, kw_only=True):
    """An entry of the task list is done."""

    about: ClassVar[str] = "when an entry of the task list is marked done"
    awaited: ClassVar[Waits] = "tool"
    exit_two: ClassVar[ExitTwo] = "blocks"


class TeammateIdle(HookInput, frozen=True, kw_only=True):
    """A teammate has nothing to do."""

    about: ClassVar[str] = "a known name; it never fires here"
    exit_two: ClassVar[ExitTwo] = "blocks"
    awaited: ClassVar[Waits] = "never"


class PreCompact(HookInput, frozen=True, kw_only=True):
    """The history is about to be shortened."""

    about: ClassVar[str] = "before the history is shortened"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "trigger"
    awaited: ClassVar[Waits] = "loop"

    trigger: str = "auto"
    custom_instructions: str = ""


class PostCompact(HookInput, frozen=True, kw_only=True):
    """The history was shortened."""

    about: ClassVar[str] = "after the history was shortened"
    matched_by: ClassVar[str] = "trigger"
    awaited: ClassVar[Waits] = "loop"

    trigger: str = "auto"
    compact_summary: str = ""


class InstructionsLoaded(HookInput, frozen=True, kw_only=True):
    """A file of instructions became part of the context."""

    about: ClassVar[str] = "when a file of instructions becomes part of the context"
    exit_two: ClassVar[ExitTwo] = "is ignored"
    matched_by: ClassVar[str] = "load_reason"
    awaited: ClassVar[Waits] = "loop"

    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""


class ConfigChange(HookInput, frozen=True, kw_only=True):
    """A settings file changed."""

    about: ClassVar[str] = "when a settings file changed, before it applies; a policy file always applies"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "source"
    awaited: ClassVar[Waits] = "loop"

    source: str = ""
    file_path: str = ""


class CwdChanged(HookInput, frozen=True, kw_only=True):
    """The agent works in another directory."""

    about: ClassVar[str] = "when the agent works in another directory, told at the end of the turn"
    says: ClassVar[frozenset[str]] = frozenset({"watchPaths"})
    awaited: ClassVar[Waits] = "loop"

    old_cwd: str = ""
    new_cwd: str = ""


class DirectoryAdded(HookInput, frozen=True, kw_only=True):
    """The agent may work in one more directory."""

    about: ClassVar[str] = "when the agent may work in one more directory, told at the end of the turn"
    awaited: ClassVar[Waits] = "loop"

    directory: str = ""


class FileChanged(HookInput, frozen=True, kw_only=True):
    """A watched file changed."""

    about: ClassVar[str] = (
        "when a file changed that a matcher names (in the working directory) or a hook asked to watch, told at the end "
        "of the turn"
    )
    says: ClassVar[frozenset[str]] = frozenset({"watchPaths"})
    matched_by: ClassVar[str] = "file_path"
    awaited: ClassVar[Waits] = "loop"

    file_path: str = ""
    event: str = "change"

    def subjects(self) -> tuple[str, ...]:
        """Its name, as matchers write it, and its path."""
        return os.path.basename(self.file_path), self.file_path


class WorktreeCreate(HookInput, frozen=True, kw_only=True):
    """A worktree is wanted."""

    about: ClassVar[str] = "when a worktree is wanted; any exit code but 0 blocks"
    says: ClassVar[frozenset[str]] = frozenset({"worktreePath"})
    must_succeed: ClassVar[bool] = True
    awaited: ClassVar[Waits] = "tool"
    exit_two: ClassVar[ExitTwo] = "blocks"

    name: str = ""


class WorktreeRemove(HookInput, frozen=True, kw_only=True):
    """A worktree goes."""

    about: ClassVar[str] = "when a worktree goes"
    awaited: ClassVar[Waits] = "tool"

    worktree_path: str = ""


class Elicitation(HookInput, frozen=True, kw_only=True):
    """A server asks the user something."""

    about: ClassVar[str] = "when an MCP server asks the user something"
    says: ClassVar[frozenset[str]] = frozenset({"action", "content"})
    awaited: ClassVar[Waits] = "app"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str = ""
    message: str = ""
    mode: str = ""
    requested_schema: Any = None


class ElicitationResult(HookInput, frozen=True, kw_only=True):
    """The user answered a server."""

    about: ClassVar[str] = "when the user answered an MCP server"
    says: ClassVar[frozenset[str]] = frozenset({"action", "content"})
    awaited: ClassVar[Waits] = "app"
    exit_two: ClassVar[ExitTwo] = "blocks"
    matched_by: ClassVar[str] = "mcp_server_name"

    mcp_server_name: str = ""
    action: str = ""
    content: Any = None
    mode: str = ""
    elicitation_id: str = ""


class PreModelSwitch(HookInput, frozen=True, kw_only=True):
    """Another model takes over."""

    about: ClassVar[str] = "a known name; it never fires here"
    awaited: ClassVar[Waits] = "never"


class PostModelSwitch(HookInput, frozen=True, kw_only=True):
    """Another model has taken over."""

    about: ClassVar[str] = "a known name; it never fires here"
    awaited: ClassVar[Waits] = "never"

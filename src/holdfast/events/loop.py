"""What the agent loop tells: prompts, the model's answer as it grows, how a run went. Faces and hooks read these."""

from typing import Any, Literal

from holdfast.events.records import Event

__all__ = [
    "AssistantReplied",
    "ContextCompacted",
    "ContextCompacting",
    "InstructionsLoaded",
    "ModelRequested",
    "PromptSource",
    "PromptSubmitted",
    "Reminded",
    "ReplyDiscarded",
    "RequestRetried",
    "ResultsSent",
    "RunEnded",
    "RunOutcome",
    "SessionEnded",
    "SessionStarted",
    "TextStreamed",
    "ThinkingStreamed",
    "ToolUseStreamed",
]

PromptSource = Literal["user", "task", "mailbox", "hook", "cron", "tick"]
RunOutcome = Literal[
    "success",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_total_tokens",
    "error_max_structured_output_retries",
    "error_during_execution",  # the model could not be asked, or the history cannot be sent
    "refused",  # a person refused a call without a word: the run waits for them
    "interrupted",
    "stopped_by_hook",  # a hook of the user ended the run
    "tool_deferred",  # a hook leaves a call for a later process to decide
]


class SessionStarted(Event, frozen=True, tag="session_started"):
    """A run of the loop can begin."""

    session_id: str
    source: Literal["startup", "resume", "fork", "clear", "compact"] = "startup"
    cwd: str = ""
    model: str = ""
    permission_mode: str = ""
    tools: tuple[str, ...] = ()


class SessionEnded(Event, frozen=True, tag="session_ended"):
    """The loop is closed; nothing runs any more."""

    session_id: str
    reason: str = "exit"


class InstructionsLoaded(Event, frozen=True, tag="instructions_loaded"):
    """A file of project or user instructions is part of the context from now on."""

    path: str
    kind: str


class PromptSubmitted(Event, frozen=True, tag="prompt_submitted"):
    """Something new for the model to answer."""

    content: str | list[dict[str, Any]]
    source: PromptSource = "user"


class Reminded(Event, frozen=True, tag="reminded"):
    """A one-shot reminder goes with the next request."""

    kind: str
    text: str


class ModelRequested(Event, frozen=True, tag="model_requested"):
    """A request goes out now."""

    turn: int
    model: str
    attempt: int = 1
    is_streaming: bool = True


class TextStreamed(Event, frozen=True, tag="text"):
    """More of the answer's text."""

    text: str
    index: int = 0


class ThinkingStreamed(Event, frozen=True, tag="thinking"):
    """More of the model's thinking; the last piece of it is its signature."""

    text: str
    index: int = 0
    signature: str = ""


class ToolUseStreamed(Event, frozen=True, tag="tool_use_delta"):
    """A call grows: first its name, then more of its input as raw JSON text."""

    tool_use_id: str
    name: str
    partial_json: str = ""
    index: int = 0


class ReplyDiscarded(Event, frozen=True, tag="reply_discarded"):
    """The stream is repeated: forget what was streamed since the last request."""

    reason: str


class AssistantReplied(Event, frozen=True, tag="assistant"):
    """The model's whole message of one turn, as it stands in the history."""

    message_id: str
    content: list[dict[str, Any]]
    model: str
    stop_reason: str
    usage: dict[str, int]
    cost_usd: float | None = None
    uuid: str = ""
    """Names this message in the journal."""


class ResultsSent(Event, frozen=True, tag="user"):
    """The replies of a turn's calls, and what else the next request tells the model."""

    content: list[dict[str, Any]]
    uuid: str = ""
    """Names the message of the replies in the journal."""


class RequestRetried(Event, frozen=True, tag="retry"):
    """A request failed and is sent again after a while."""

    attempt: int
    delay_s: float
    reason: str
    kind: str
    most: int = 0
    """So many attempts may follow the first."""
    status: int | None = None
    """The status of the provider's answer, where it gave one."""


class ContextCompacting(Event, frozen=True, tag="compacting"):
    """The history is about to be shortened."""

    trigger: Literal["auto", "manual"]
    tokens: int
    instructions: str = ""


class ContextCompacted(Event, frozen=True, tag="compacted"):
    """The history is shorter now; the journal keeps all of it."""

    trigger: Literal["auto", "manual"]
    tokens_before: int
    tokens_after: int
    summary: str = ""


class SideQuestionAnswered(Event, frozen=True, tag="side_question_answered"):
    """A model was asked beside the conversation (a summary, a page, a risk, a hook): what that used."""

    model: str
    usage: dict[str, int]
    cost_usd: float | None = None


class RunEnded(Event, frozen=True, tag="run_ended"):
    """The answer to one prompt is complete, or why it is not."""

    outcome: RunOutcome
    text: str
    """The last message's text."""
    turns: int
    duration_ms: float
    model_ms: float
    """Time spent in requests."""
    usage: dict[str, int]
    cost_usd: float | None = None
    stop_reason: str = ""
    error: str = ""
    structured_output: Any = None
    denials: tuple[dict[str, Any], ...] = ()
    """Calls that were refused: tool_name, tool_use_id, tool_input."""
    deferred: dict[str, Any] | None = None
    """The call that a hook left for later: id, name, input."""
    error_kind: str = ""
    """What kind of failure a model's was (see `holdfast.models.errors`)."""
    error_status: int | None = None
    """The status of the provider's answer, where it gave one."""

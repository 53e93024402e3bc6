"""What happened, as immutable records with one JSON codec."""

from typing import TYPE_CHECKING

from holdfast.events.codec import decode_event, encode_event, encode_json, to_builtins
from holdfast.events.records import (
    CallDiscarded,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextChanged,
    Event,
    Outcome,
    PermissionAsked,
    PermissionDecided,
    TaskChanged,
    TurnEnded,
)
from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.events.loop import (
        AssistantReplied,
        ContextCompacted,
        ContextCompacting,
        InstructionsLoaded,
        ModelRequested,
        PromptSource,
        PromptSubmitted,
        Reminded,
        ReplyDiscarded,
        RequestRetried,
        ResultsSent,
        RunEnded,
        RunOutcome,
        SessionEnded,
        SessionStarted,
        SummaryAnswered,
        TextStreamed,
        ThinkingStreamed,
        ToolUseStreamed,
    )

__all__ = [
    "AssistantReplied",
    "CallDiscarded",
    "CallFinished",
    "CallProgressed",
    "CallQueued",
    "CallStarted",
    "ContextChanged",
    "ContextCompacted",
    "ContextCompacting",
    "Event",
    "InstructionsLoaded",
    "ModelRequested",
    "Outcome",
    "PermissionAsked",
    "PermissionDecided",
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
    "SummaryAnswered",
    "TaskChanged",
    "TextStreamed",
    "ThinkingStreamed",
    "ToolUseStreamed",
    "TurnEnded",
    "decode_event",
    "encode_event",
    "encode_json",
    "to_builtins",
]

# The engine alone needs none of these.
export_lazily(
    __name__,
    {
        "loop": (
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
            "SummaryAnswered",
            "TextStreamed",
            "ThinkingStreamed",
            "ToolUseStreamed",
        ),
    },
)

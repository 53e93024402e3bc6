"""What happened, as immutable records with one JSON codec."""

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

__all__ = [
    "CallDiscarded",
    "CallFinished",
    "CallProgressed",
    "CallQueued",
    "CallStarted",
    "ContextChanged",
    "Event",
    "Outcome",
    "PermissionAsked",
    "PermissionDecided",
    "TaskChanged",
    "TurnEnded",
    "decode_event",
    "encode_event",
    "encode_json",
    "to_builtins",
]

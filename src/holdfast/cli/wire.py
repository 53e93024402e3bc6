"""The JSON lines that programs read and write."""

import sys
from typing import Any

from holdfast.events import CallFinished, Event, encode_json, to_builtins
from holdfast.lib.visible import json_for_terminal

__all__ = ["error_line", "event_line", "json_line", "result_line"]


def result_line(reply: CallFinished) -> bytes:
    """The one reply to a call, without the newline."""
    return encode_json(
        {
            "type": "tool_result",
            "tool_use_id": reply.tool_use_id,
            "content": reply.content,
            "is_error": reply.is_error,
            "duration_ms": round(reply.duration_ms, 3),
            **({} if reply.error_code is None else {"error_code": reply.error_code}),
        }
    )


def event_line(event: Event) -> bytes:
    """Any other event, with its times rounded."""
    plain: dict[str, Any] = to_builtins(event)
    if "elapsed_s" in plain:
        plain["elapsed_s"] = round(plain["elapsed_s"], 3)
    return encode_json(plain)


def error_line(number: int, message: str) -> bytes:
    """What is wrong with an input line."""
    return encode_json({"type": "error", "line": number, "message": message})


def json_line(value: Any) -> bytes:
    """A value as one line of JSON to print; a terminal obeys nothing in it."""
    line = encode_json(value)
    return json_for_terminal(line) if sys.stdout.isatty() else line

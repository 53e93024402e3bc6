"""Lines that every reader can take: under one MiB. Copies of what stands elsewhere go first."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from holdfast.events import encode_json, to_builtins

__all__ = ["LIMIT_BYTES", "short_line"]

LIMIT_BYTES = (1 << 20) - 1024
"""What readers take by default, less the newline and what they may add."""
_COPIES = ("gitDiff", "structuredPatch", "originalFile", "content")
_KEPT_CHARS = (20_000, 2_000, 200)
"""So much of each long text stays, as long as that is enough; else less."""
_MOST_ITEMS = 200
_WHOLE = {
    "tool_use": ("input",),
    "input_json_delta": ("partial_json",),
    "can_use_tool": ("input",),
    "mcp_message": ("message",),
    "success": ("deferred_tool_use",),
}
"""What stays as it is in objects of this subtype, or of this type."""
Line = dict[str, Any]


def short_line(line: Line) -> bytes:
    """The line as JSON; one that would be too long loses copies, then pictures, then the ends of texts and lists.

    Only the input of a call is never cut: a reader would take it for what was called, and send it back as it is.
    """
    found = encode_json(line)
    if len(found) <= LIMIT_BYTES:
        return found
    plain = cast("Line", to_builtins(line))
    for shorten in _STEPS:
        shorten(plain)
        found = encode_json(plain)
        if len(found) <= LIMIT_BYTES:
            break
    return found


def _without_result(line: Line) -> None:
    if "tool_use_result" in line:
        line["tool_use_result"] = {"truncated": True}


def _drop_copy(line: Line, key: str) -> None:
    data = line.get("tool_use_result")
    if not isinstance(data, dict):
        return
    found = cast("Line", data)
    for place in (found, found.get("file")):
        if isinstance(place, dict):
            cast("Line", place).pop(key, None)


def _walk(value: Any, change: Callable[[Line], None]) -> None:
    """Change every object in place, but nothing of a call's input."""
    if isinstance(value, dict):
        items = cast("Line", value)
        whole = {key: items.pop(key) for key in _kept(items) if key in items}
        change(items)
        for inner in items.values():
            _walk(inner, change)
        items.update(whole)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            _walk(inner, change)


def _kept(items: Line) -> tuple[str, ...]:
    """What of an object is a call's input, or what somebody decides about: no part of it may be missing."""
    if "hook_event_name" in items:
        return ("tool_input", "prompt")
    return _WHOLE.get(str(items.get("subtype") or items.get("type")), ())


def _without_picture(items: Line) -> None:
    source: Any = items.get("source")
    if items.get("type") in ("image", "document") and isinstance(source, dict):
        size = len(str(cast("Line", source).get("data", "")))
        kind = items["type"]
        items.clear()
        items.update(type="text", text=f"[{kind} of {size:,} characters left out of this line]")
    elif "base64" in items:
        items["base64"] = ""


def _cut(items: Line, *, most: int) -> None:
    for key, value in items.items():
        if isinstance(value, str) and len(value) > most:
            items[key] = f"{value[:most]}… [{len(value) - most:,} more characters]"
        elif key == "tool_input" and len(encode_json(value)) > most:
            items[key] = {"truncated": True}


def _cut_lists(items: Line) -> None:
    for key, value in items.items():
        if isinstance(value, list):
            items[key] = cast("list[Any]", value)[:_MOST_ITEMS]


_STEPS: tuple[Callable[[Line], None], ...] = (
    *(partial(_drop_copy, key=key) for key in _COPIES),
    lambda line: _walk(line.get("tool_use_result"), _without_picture),
    lambda line: _walk(line, _without_picture),
    _without_result,
    *(partial(_walk, change=partial(_cut, most=most)) for most in _KEPT_CHARS),
    partial(_walk, change=_cut_lists),
)

"""Lines that every reader can take: under one MiB. Copies of what stands elsewhere go first."""

from typing import Any, cast

from holdfast.events import encode_json, to_builtins

__all__ = ["LIMIT_BYTES", "short_line"]

LIMIT_BYTES = (1 << 20) - 1024
"""What readers take by default, less the newline and what they may add."""
_COPIES = ("gitDiff", "structuredPatch", "originalFile", "content")
_KEPT_CHARS = 20_000
Line = dict[str, Any]


def short_line(line: Line) -> bytes:
    """The line as JSON; one that would be too long loses copies, then pictures, then the ends of long texts.

    Only the input of a call is never cut: a reader would take it for what was called.
    """
    found = encode_json(line)
    if len(found) <= LIMIT_BYTES:
        return found
    plain = cast("Line", to_builtins(line))
    for step in (*_COPIES, "pictures", "result", "texts"):
        _shorten(plain, step)
        found = encode_json(plain)
        if len(found) <= LIMIT_BYTES:
            break
    return found


def _shorten(line: Line, step: str) -> None:
    if step in _COPIES:
        _drop(line.get("tool_use_result"), step)
    elif step == "pictures":
        _walk(line, _without_picture)
    elif step == "result":
        if "tool_use_result" in line:
            line["tool_use_result"] = {"truncated": True}
    else:
        _walk(line, _cut)


def _drop(data: Any, key: str) -> None:
    if not isinstance(data, dict):
        return
    found = cast("Line", data)
    for place in (found, found.get("file")):
        if isinstance(place, dict):
            cast("Line", place).pop(key, None)


def _walk(value: Any, change: Any) -> None:
    """Change every object and list in place, but nothing of a call's input."""
    if isinstance(value, dict):
        items = cast("Line", value)
        change(items)
        is_call = items.get("type") == "tool_use"
        for key, inner in items.items():
            if not (is_call and key == "input"):
                _walk(inner, change)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            _walk(inner, change)


def _without_picture(items: Line) -> None:
    source: Any = items.get("source")
    if items.get("type") in ("image", "document") and isinstance(source, dict):
        size = len(str(cast("Line", source).get("data", "")))
        kind = items["type"]
        items.clear()
        items.update(type="text", text=f"[{kind} of {size:,} characters left out of this line]")
    elif "base64" in items:
        items["base64"] = ""


def _cut(items: Line) -> None:
    is_call = items.get("type") == "tool_use"
    for key, value in items.items():
        if isinstance(value, str) and len(value) > _KEPT_CHARS:
            items[key] = f"{value[:_KEPT_CHARS]}… [{len(value) - _KEPT_CHARS:,} more characters]"
        elif key == "tool_input" or (key == "input" and not is_call and isinstance(value, dict)):
            items[key] = {"truncated": True} if len(encode_json(value)) > _KEPT_CHARS else value

"""Calls of tools as editors show them: kind, title, places, differences."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.acp.content import text_block
from holdfast.acp.wire import as_object
from holdfast.events import CallFinished

__all__ = ["ToolCalls"]

Fields = dict[str, Any]
_KINDS = {
    **dict.fromkeys(("Read", "ReadMcpResourceTool", "ListMcpResourcesTool", "TaskOutput"), "read"),
    **dict.fromkeys(("Edit", "Write", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Glob", "Grep", "ToolSearch"), "search"),
    **dict.fromkeys(("Bash", "TaskStop", "Sleep"), "execute"),
    **dict.fromkeys(("WebFetch", "WebSearch"), "fetch"),
    **dict.fromkeys(("Agent", "Skill", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"), "think"),
    **dict.fromkeys(("EnterPlanMode", "ExitPlanMode"), "switch_mode"),
}
_PATHS = ("file_path", "notebook_path", "path")
_COPIES = frozenset({"originalFile", "structuredPatch", "gitDiff", "content", "file", "oldString", "newString"})
_SHOWN_CHARS = 20_000
_TITLE_CHARS = 200


class ToolCalls:
    """Remembers the input of the calls that are not answered yet, because their results are shown beside it."""

    def __init__(self, use_of: Callable[[str, Mapping[str, Any]], str], cwd: Callable[[], str]) -> None:
        self._use_of = use_of
        self._cwd = cwd
        self._inputs: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._terminals: dict[str, str] = {}

    def begin(self, id_: str, name: str, given: Any) -> Fields:
        """A new call."""
        raw = as_object(given)
        self._inputs[id_] = name, raw
        begun = {"toolCallId": id_, "status": "pending", **self.about(name, raw)}
        return {**begun, "content": [_terminal(self._terminals[id_])]} if id_ in self._terminals else begun

    def show_terminal(self, id_: str, terminal: str) -> Fields | None:
        """The command of this call runs in a terminal of the editor; None while the call itself is not told."""
        self._terminals[id_] = terminal
        if id_ not in self._inputs:
            return None
        return {"sessionUpdate": "tool_call_update", "toolCallId": id_, "content": [_terminal(terminal)]}

    def about(self, name: str, raw: Mapping[str, Any]) -> Fields:
        """What stays the same while a call is worked on."""
        title = self._use_of(name, raw).replace("\n", " ")
        found: Fields = {
            "title": title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1]}…",
            "name": name,
            "kind": _KINDS.get(name, "other"),
            "rawInput": dict(raw),
        }
        if places := self._places(raw):
            found["locations"] = places
        if changes := self.changes(name, raw):
            found["content"] = changes
        return found

    def changes(self, name: str, raw: Mapping[str, Any], before: str | None = None) -> list[Fields]:
        """What the call would change, as a difference that editors can show."""
        path = next((raw[key] for key in _PATHS[:2] if isinstance(raw.get(key), str)), None)
        if path is None:
            return []
        if name == "Edit" and isinstance(raw.get("new_string"), str):
            return [_diff(self._absolute(path), str(raw.get("old_string") or "") or None, raw["new_string"])]
        if name == "Write" and isinstance(raw.get("content"), str):
            return [_diff(self._absolute(path), before, raw["content"])]
        return []

    def finish(self, reply: CallFinished) -> Fields:
        """The one reply to a call."""
        name, raw = self._inputs.pop(reply.tool_use_id, (reply.name, {}))
        found: Fields = {"toolCallId": reply.tool_use_id, "status": "failed" if reply.is_error else "completed"}
        original = as_object(reply.data).get("originalFile")
        content = [] if reply.is_error else self.changes(name, raw, original if isinstance(original, str) else None)
        terminal = self._terminals.pop(reply.tool_use_id, None)
        content = content or ([_terminal(terminal)] if terminal else _content(reply))
        if content:
            found["content"] = content
        if reply.data is not None:
            found["rawOutput"] = _short(reply.data)
        return found

    def drop(self, id_: str) -> None:
        """The call is not made after all."""
        self._inputs.pop(id_, None)
        self._terminals.pop(id_, None)

    def _places(self, raw: Mapping[str, Any]) -> list[Fields]:
        for key in _PATHS:
            if isinstance(path := raw.get(key), str) and path:
                line = raw.get("offset")
                return [{"path": self._absolute(path), **({"line": line} if isinstance(line, int) else {})}]
        return []

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._cwd(), os.path.expanduser(path)))


def _short(data: Any) -> Any:
    """The data of a result without copies of whole files."""
    return (
        {key: value for key, value in as_object(data).items() if key not in _COPIES} if isinstance(data, dict) else data
    )


def _terminal(id_: str) -> Fields:
    return {"type": "terminal", "terminalId": id_}


def _diff(path: str, old: str | None, new: str) -> Fields:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def _content(reply: CallFinished) -> list[Fields]:
    """What people see of a result; pictures as they are."""
    if isinstance(reply.content, str):
        text = reply.content if reply.display is None else reply.display
        return [{"type": "content", "content": text_block(_cut(text))}] if text else []
    found: list[Fields] = []
    for block in reply.content:
        if block.get("type") == "text":
            found.append({"type": "content", "content": text_block(_cut(str(block.get("text", ""))))})
        elif block.get("type") == "image" and as_object(block.get("source")).get("type") == "base64":
            source = block["source"]
            picture = {"type": "image", "data": source["data"], "mimeType": source["media_type"]}
            found.append({"type": "content", "content": picture})
    return found


def _cut(text: str) -> str:
    if len(text) <= _SHOWN_CHARS:
        return text
    half = _SHOWN_CHARS // 2
    return f"{text[:half]}\n… {len(text) - _SHOWN_CHARS:,} more characters …\n{text[-half:]}"

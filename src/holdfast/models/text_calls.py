"""Calls that a model writes as text because its server has no form for them.

What counts as a call, and nothing else does:

- `<tool_call>{"name": …, "arguments": {…}}</tool_call>` or `<function=NAME>…</function>`, beginning a line, outside
  of a code block. The function's body is a JSON object or `<parameter=KEY>value</parameter>` lines.
- A fenced block (no language, `json` or `tool_call`) that holds such an object or a list of them, when only further
  such blocks follow in the answer. With prose behind it, it is an example.
- An answer that is one such object or list and nothing else.

The name must be one of the request's tools, the object may have no other keys, and the arguments are an object.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, cast

import msgspec

__all__ = ["TextCall", "TextCalls"]

_MAX_HELD_CHARS = 64 * 1024
_TAGS = {"<tool_call>": "</tool_call>", "<function=": "</function>"}
_FENCE = "```"
_LANGUAGES = frozenset({"", "json", "tool_call", "tool_code", "tool"})
_ARGUMENT_KEYS = ("arguments", "parameters", "input")
_OTHER_KEYS = frozenset({"name", "id", "type"})
_MARKERS = (*_TAGS, _FENCE)


class TextCall(NamedTuple):
    """One call."""

    name: str
    arguments: dict[str, Any]


class TextCalls:
    """Feed it the text as it comes; it holds back what may be a call and lets the rest through."""

    def __init__(self, names: Collection[str]) -> None:
        """Look for calls of these tools."""
        self._names = names
        self._held = ""
        self._pending: list[tuple[str, list[TextCall]]] = []
        """Fenced calls, with their text, that are calls only if no prose follows."""
        self._calls: list[TextCall] = []
        self._is_line_start = True
        self._is_first = True
        self._is_in_code = False
        """Inside a code block that can be no call."""
        self._is_whole = False
        """The answer began like JSON; only its end tells."""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        self._held += text
        if self._is_first and (begun := self._held.lstrip()):
            self._is_first = False
            self._is_whole = begun[0] in "{["
        if self._is_whole:
            return "" if len(self._held) <= _MAX_HELD_CHARS else self._give_up()
        return self._scan(is_end=False)

    def finish(self) -> tuple[str, list[TextCall]]:
        """The text that was still held, and the calls."""
        if self._is_whole and (calls := self._calls_in(self._held)):
            return "", calls
        text = self._scan(is_end=True)
        return text, [*self._calls, *(call for _, calls in self._pending for call in calls)]

    def release(self) -> str:
        """All that is held, as the text it was: the answer turned out to have calls of its own."""
        text = "".join(text for text, _ in self._pending) + self._held
        self._pending, self._held = [], ""
        return text

    def _give_up(self) -> str:
        self._is_whole = False
        return self._scan(is_end=False)

    def _scan(self, *, is_end: bool) -> str:
        shown: list[str] = []
        while self._held:
            if self._is_in_code:
                self._pass_code(shown, is_end=is_end)
                if self._is_in_code:
                    break
                continue
            start = self._next_marker(is_end=is_end)
            self._pass_on(self._held[:start], shown)
            self._held = self._held[start:]
            if not self._held.startswith(_MARKERS):
                break  # nothing, or the beginning of a line that may become a marker
            length, calls = self._region(is_end=is_end)
            if length is None:
                break
            region, self._held = self._held[:length], self._held[length:]
            self._settle(region, calls, shown)
        if is_end and self._held:
            self._pass_on(self._held, shown)
            self._held = ""
        return "".join(shown)

    def _pass_code(self, shown: list[str], *, is_end: bool) -> None:
        """Let a code block through, up to its last fence if that has come."""
        closing = "\n" + _FENCE
        end = self._held.find(closing)
        if end >= 0:
            self._is_in_code = False
            cut = end + len(closing)
        else:
            tail = 0 if is_end else next((n for n in (3, 2, 1) if self._held.endswith(closing[:n])), 0)
            cut = len(self._held) - tail
        self._pass_on(self._held[:cut], shown)
        self._held = self._held[cut:]

    def _settle(self, region: str, calls: list[TextCall], shown: list[str]) -> None:
        if not calls:
            self._pass_on(region, shown)
        elif region.startswith(_FENCE):
            self._pending.append((region, calls))
        else:
            self._calls += calls
        self._is_line_start = region.endswith("\n")

    def _pass_on(self, text: str, shown: list[str]) -> None:
        """Text that is no call. Prose behind a fenced call makes an example of it."""
        if self._pending and text.strip():
            shown += [region for region, _ in self._pending]
            self._pending.clear()
        if self._pending:
            before, calls = self._pending[-1]
            self._pending[-1] = (before + text, calls)
        else:
            shown.append(text)
        if text:
            self._is_line_start = text.endswith("\n")

    def _next_marker(self, *, is_end: bool) -> int:
        """Where the next line begins that is, or may become, a marker; the length where there is none."""
        held = self._held
        at = 0 if self._is_line_start else held.find("\n") + 1
        if at == 0 and not self._is_line_start:
            return len(held)
        while at < len(held):
            line = held[at : at + 16].lstrip(" ")
            if line.startswith(_MARKERS):
                return at + len(held[at : at + 16]) - len(line)
            if not is_end and len(held) - at < 12 and any(marker.startswith(line) for marker in _MARKERS):
                return at
            following = held.find("\n", at)
            if following < 0:
                return len(held)
            at = following + 1
        return len(held)

    def _region(self, *, is_end: bool) -> tuple[int | None, list[TextCall]]:
        """How long the marked part is and the calls in it; None while its end has not come."""
        held = self._held
        opening = next(marker for marker in _MARKERS if held.startswith(marker))
        closing = _TAGS.get(opening, "\n" + _FENCE)
        end = held.find(closing, len(opening))
        if opening == _FENCE and _is_code(held):
            self._is_in_code = True
            return held.find("\n"), []
        if end < 0:
            if opening == _FENCE and is_end:
                return len(held), self._fenced(held)  # the model left out the last fence
            is_lost = is_end or len(held) > _MAX_HELD_CHARS
            return (len(opening) if is_lost else None), []
        length = end + len(closing)
        if opening == _FENCE:
            return length, self._fenced(held[:length])
        inside = held[len(opening) : end]
        return length, self._function(inside) if opening == "<function=" else self._tagged(inside)

    def _fenced(self, region: str) -> list[TextCall]:
        first, _, rest = region.removeprefix(_FENCE).partition("\n")
        if first.strip().lower() not in _LANGUAGES:
            return []
        return self._calls_in(rest.rstrip().removesuffix(_FENCE))

    def _tagged(self, inside: str) -> list[TextCall]:
        function = inside.strip()
        if function.startswith("<function="):
            return self._function(function.removeprefix("<function=").partition("</function>")[0])
        return self._calls_in(inside)

    def _function(self, inside: str) -> list[TextCall]:
        """`NAME>` and then a JSON object or parameter tags."""
        name, mark, body = inside.partition(">")
        name = name.strip()
        if not mark or name not in self._names:
            return []
        if "<parameter=" not in body:
            value: Any = _decoded(body) if body.strip() else {}
            return [TextCall(name, cast("dict[str, Any]", value))] if isinstance(value, dict) else []
        arguments: dict[str, Any] = {}
        for part in body.split("<parameter=")[1:]:
            key, _, rest = part.partition(">")
            text = rest.partition("</parameter>")[0].removeprefix("\n").removesuffix("\n")
            value = _decoded(text)
            arguments[key.strip()] = text if value is None or isinstance(value, str) else value
        return [TextCall(name, arguments)]

    def _calls_in(self, text: str) -> list[TextCall]:
        value = _decoded(text)
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        calls = [self._call(item) for item in items]
        return [call for call in calls if call is not None] if calls and None not in calls else []

    def _call(self, value: Any) -> TextCall | None:
        if not isinstance(value, dict):
            return None
        told = cast("dict[str, Any]", value)
        inner = told.get("function")
        if isinstance(inner, dict) and told.keys() <= {"function", "type", "id"}:
            told = cast("dict[str, Any]", inner)
        keys = [key for key in _ARGUMENT_KEYS if key in told]
        if told.get("name") not in self._names or len(keys) != 1 or not told.keys() <= {*_OTHER_KEYS, *keys}:
            return None
        arguments = told[keys[0]]
        if isinstance(arguments, str):
            arguments = _decoded(arguments)
        if not isinstance(arguments, dict) or {"type", "properties"} <= cast("dict[str, Any]", arguments).keys():
            return None  # the last is a schema: the model describes the tool, it does not call it
        return TextCall(told["name"], cast("dict[str, Any]", arguments))


def _is_code(fenced: str) -> bool:
    """A fenced block that cannot hold a call, as far as it has come."""
    language, newline, body = fenced.removeprefix(_FENCE).partition("\n")
    begun = body.lstrip()
    return bool(newline) and (language.strip().lower() not in _LANGUAGES or (begun != "" and begun[0] not in "{["))


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text.strip())
    except (ValueError, RecursionError):
        return None

"""How a call looks to people: lines with roles, which an interface gives colours. Tools draw what they know better."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

__all__ = ["ROLES", "Line", "Rendering", "Role", "Shown", "ShownResult", "lines_of", "text_of"]

_LINE_CHARS = 100
_CONDENSED_LINES = 3

Role: TypeAlias = Literal["", "dim", "bold", "ok", "bad", "warn", "accent", "add", "del"]
ROLES: Final[tuple[Role, ...]] = ("", "dim", "bold", "ok", "bad", "warn", "accent", "add", "del")
"""What a piece of a line is: plain, beside the point, a title, good, bad, to be careful with, active, new, gone."""
Line: TypeAlias = Sequence[tuple[Role, str]]
"""Pieces of one line, each with its role. The text may come from anywhere: an interface spells out what is not safe."""
Shown: TypeAlias = str | Sequence[Line]
"""Lines with roles; plain text stands for lines without any."""


class ShownResult(NamedTuple):
    """What came of a call."""

    data: Any = None
    """As programs read it: of the tool's `output_type`. None where it was too long to be kept."""
    text: str = ""
    """As the model reads it."""
    display: str | None = None
    """As the tool wants people to read it, where that differs."""


class Rendering:
    """Generic display of one call in each of its states; every method must also cope with partial input."""

    name: str = ""
    shown_arguments: tuple[str, ...] = ()
    """What of the input is shown, where not all of it: the first by its value alone, the others by their names too."""

    def user_facing_name(self, raw: Mapping[str, Any] | None = None) -> str:
        """What people call this tool."""
        del raw
        return self.name

    def render_use(self, raw: Mapping[str, Any]) -> Shown:
        """The call itself in one line, from input that may still be arriving."""
        first = self.shown_arguments[:1]
        keys = [key for key in self.shown_arguments if raw.get(key) is not None] if first else list(raw)
        shown = ", ".join(f"{'' if key in first else f'{key}='}{_short(raw[key])}" for key in keys)
        return f"{self.user_facing_name(raw)}({_cut(shown)})"

    def render_queued(self, raw: Mapping[str, Any]) -> Shown:
        """The call while it waits for its turn."""
        return f"{text_of(self.render_use(raw))} · waiting"

    def render_progress(self, progress: Any) -> Shown:
        """One progress report, in one line: its message where it has one."""
        message: Any = cast("Mapping[str, Any]", progress).get("message") if isinstance(progress, Mapping) else None
        return _cut(message if isinstance(message, str) and message else _short(progress))

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Shown:
        """The result, whole or as its first lines."""
        text = result.text if result.display is None else result.display
        lines = text.splitlines()
        if not condensed or len(lines) <= _CONDENSED_LINES:
            return text
        return "\n".join([*map(_cut, lines[:_CONDENSED_LINES]), f"… {len(lines) - _CONDENSED_LINES} more lines"])

    def render_rejected(self, raw: Mapping[str, Any], reason: str) -> Shown:
        """The call after a refusal."""
        return f"{text_of(self.render_use(raw))} · refused: {reason}"

    def render_error(self, message: str) -> Shown:
        """The call after a failure."""
        return f"{self.name} failed: {_cut(message)}"


def lines_of(shown: Shown) -> list[Line]:
    """What a tool shows, as lines with roles."""
    if isinstance(shown, str):
        return [[("", line)] for line in shown.splitlines()]
    return list(shown)


def text_of(shown: Shown) -> str:
    """What a tool shows, without its roles."""
    return shown if isinstance(shown, str) else "\n".join("".join(text for _, text in line) for line in shown)


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    import json  # noqa: PLC0415 - only interfaces render

    return json.dumps(value, default=str, ensure_ascii=False)


def _cut(text: str) -> str:
    line = text.replace("\n", "⏎")
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1]}…"

"""How a call looks to people. Plain text; a face adds colour. Tools override what they can say better."""

from collections.abc import Mapping
from typing import Any

__all__ = ["Rendering"]

_LINE_CHARS = 100
_CONDENSED_LINES = 3


class Rendering:
    """Generic display of one call in each of its states; every method must also cope with partial input."""

    name: str = ""
    shown_arguments: tuple[str, ...] = ()
    """What of the input is shown, where not all of it: the first by its value alone, the others by their names too."""

    def user_facing_name(self, raw: Mapping[str, Any] | None = None) -> str:
        """What people call this tool."""
        del raw
        return self.name

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The call itself, from input that may still be arriving."""
        first = self.shown_arguments[:1]
        keys = [key for key in self.shown_arguments if raw.get(key) is not None] if first else list(raw)
        shown = ", ".join(f"{'' if key in first else f'{key}='}{_short(raw[key])}" for key in keys)
        return f"{self.user_facing_name(raw)}({_cut(shown)})"

    def render_queued(self, raw: Mapping[str, Any]) -> str:
        """The call while it waits for its turn."""
        return f"{self.render_use(raw)} · waiting"

    def render_progress(self, progress: Any) -> str:
        """One progress report."""
        return _cut(progress if isinstance(progress, str) else _short(progress))

    def render_result(self, text: str, *, condensed: bool = True) -> str:
        """The result, whole or as its first lines."""
        lines = text.splitlines()
        if not condensed or len(lines) <= _CONDENSED_LINES:
            return text
        return "\n".join([*map(_cut, lines[:_CONDENSED_LINES]), f"… {len(lines) - _CONDENSED_LINES} more lines"])

    def render_rejected(self, raw: Mapping[str, Any], reason: str) -> str:
        """The call after a refusal."""
        return f"{self.render_use(raw)} · refused: {reason}"

    def render_error(self, message: str) -> str:
        """The call after a failure."""
        return f"{self.name} failed: {_cut(message)}"


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    import json  # noqa: PLC0415 - only faces render

    return json.dumps(value, default=str, ensure_ascii=False)


def _cut(text: str) -> str:
    line = text.replace("\n", "⏎")
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1]}…"

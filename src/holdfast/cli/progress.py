"""What a run does, one line each, for the person who watches standard error."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from holdfast.app.call_lines import CallLines
from holdfast.app.plain_errors import for_people
from holdfast.events import (
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    ContextCompacting,
    Event,
    RequestRetried,
    TaskChanged,
)
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.contract import Tool
    from holdfast.registry import Pool

__all__ = ["ProgressLines", "wants_progress"]

_LINE_CHARS = 140
_CLEAR = "\r\x1b[K"
_COLOURS = {"red": 31, "green": 32, "yellow": 33}
_COUNT_CHARS = 24
"""What `visible` adds to a text that it cuts."""


def wants_progress(*, verbose: bool) -> bool:
    """A person watches, or asked for it."""
    return verbose or sys.stderr.isatty()


class ProgressLines:
    """Calls as they start, errors and retries, on standard error. Colour only on a terminal, and NO_COLOR counts."""

    def __init__(self, pool: "Pool") -> None:
        self._lines = CallLines(partial(_tool_of, pool))
        self._inputs: dict[str, Any] = {}
        self._is_terminal = sys.stderr.isatty()
        self._has_colour = self._is_terminal and not os.environ.get("NO_COLOR")
        self._has_moving_line = False

    def take(self, event: Event) -> None:
        """Show what is worth a line."""
        if isinstance(event, CallQueued):
            self._inputs[event.tool_use_id] = event.input
        elif isinstance(event, CallStarted):
            self._say("●", self._use(event.name, self._inputs.pop(event.tool_use_id, None)), "green")
        elif isinstance(event, CallFinished):
            self._clear()
            if event.tool_use_id in self._inputs:  # it never started: its error must not stand under another call
                self._say("●", self._use(event.name, self._inputs.pop(event.tool_use_id)), "red")
            if event.is_error:
                said = _first_line(event.content)
                self._say("  ⎿", said if said.startswith(event.name) else f"{event.name}: {said}", "red")
        elif isinstance(event, CallProgressed):
            self._move(event)
        elif isinstance(event, RequestRetried):
            self._say(
                "…", f"attempt {event.attempt} failed, the next in {event.delay_s:.1f} s: {event.reason}", "yellow"
            )
        elif isinstance(event, ContextCompacting):
            self._say("…", f"the conversation has {event.tokens:,} tokens and is shortened", "yellow")
        elif isinstance(event, TaskChanged):
            self._say("…", f"background task {event.task_id} {event.status}: {event.description}", "yellow")

    def _move(self, event: CallProgressed) -> None:
        """How a long call goes on, in one line that the next one takes the place of; only a terminal can do that."""
        told = self._lines.progress(event.name, event.data)
        if self._is_terminal and told:
            import shutil  # noqa: PLC0415 - only at a terminal

            columns = shutil.get_terminal_size().columns
            line = visible(f"  ⎿ {event.elapsed_s:.0f} s  {told}", limit_chars=max(20, columns - _COUNT_CHARS))
            _write(f"{_CLEAR}{line}")
            self._has_moving_line = True

    def _clear(self) -> None:
        if self._has_moving_line:
            self._has_moving_line = False
            _write(_CLEAR)

    def _use(self, name: str, raw: Any) -> str:
        return self._lines.use(name, cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else name

    def _say(self, mark: str, text: str, colour: str) -> None:
        self._clear()
        shown = f"\x1b[{_COLOURS[colour]}m{mark}\x1b[0m" if self._has_colour else mark
        _write(f"{shown} {visible(text, limit_chars=_LINE_CHARS)}\n")


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _first_line(content: str | list[dict[str, Any]]) -> str:
    text = content if isinstance(content, str) else " ".join(str(block.get("text", "")) for block in content)
    return for_people(text).strip().split("\n", 1)[0]


def _tool_of(pool: "Pool", name: str) -> "Tool | None":
    found = pool.find(name)
    return None if found is None else found.tool

"""What one agent tells while it works: to the call that waits for it, or into its file in the background."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from holdfast.events import AssistantReplied, CallQueued, CallStarted, Event
from holdfast.tasks.jobs import append_output

__all__ = ["IN_BACKGROUND", "ChildProgress", "crash_words"]

IN_BACKGROUND: Final = (
    "an agent in the background asks nobody; do it another way, or report what is missing so that whoever started you "
    "can do it"
)
_AFTER_S: Final = 2.0
_LINE_CHARS: Final = 300


class ChildProgress:
    """Counts its calls, and tells of them once it has worked for a moment."""

    def __init__(self, agent_id: str, progress: Callable[[Any], None]) -> None:
        self.tool_uses = 0
        self._agent_id = agent_id
        self._progress: Callable[[Any], None] | None = progress
        self._alarm: asyncio.TimerHandle | None = None
        self._is_shown = False
        self._output = ""

    def begin(self) -> None:
        """It works from now on."""
        if self._progress is not None:
            self._alarm = asyncio.get_running_loop().call_later(_AFTER_S, self._show)

    def end(self) -> None:
        """It has ended."""
        if self._alarm is not None:
            self._alarm.cancel()

    def into(self, path: str) -> None:
        """From now on in this file; no call waits for it any more."""
        self._output = path
        self._progress = None

    def hear(self, event: Event) -> None:
        """Something happened in it."""
        if type(event) is CallStarted:
            self.tool_uses += 1
            if self._is_shown:
                self._tell(event.name)
        if self._output:
            self._write(event)

    def _show(self) -> None:
        self._is_shown = True
        self._tell("")

    def _tell(self, tool: str) -> None:
        if self._progress is not None:
            self._progress(
                {"type": "agent_progress", "agentId": self._agent_id, "tool": tool, "toolUses": self.tool_uses}
            )

    def _write(self, event: Event) -> None:
        line = ""
        if type(event) is CallQueued:
            line = f"> {event.name} {_first_text(event.input)}"
        elif type(event) is AssistantReplied and event.stop_reason == "tool_use":
            line = " ".join(str(block.get("text", "")) for block in event.content if block.get("type") == "text")
        if line.strip():
            append_output(self._output, f"{line[:_LINE_CHARS]}\n")


def _first_text(given: Any) -> str:
    """What a call is mostly about, such as its path or command."""
    values = cast("dict[str, Any]", given).values() if isinstance(given, dict) else ()
    return " ".join(next((value for value in values if isinstance(value, str)), "").split())


def crash_words(error: Exception) -> str:
    """What whoever started it reads when it crashed."""
    return (
        f"the agent crashed ({type(error).__name__}); what it did before stands. Look what it changed, "
        "then do the rest yourself or start another one"
    )

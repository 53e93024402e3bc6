"""One call on its way through the engine, and why it may be stopped."""

import asyncio
from typing import Any, Literal, NamedTuple

from holdfast.contract import ContextModifier, Tool, ToolContext
from holdfast.events import CallFinished, Outcome

__all__ = ["Call", "CallState", "Stop", "error_text"]

CallState = Literal["queued", "executing", "completed", "yielded"]


class Stop(NamedTuple):
    """Why a call is stopped, in words for the model."""

    message: str
    discarded: bool = False
    """The stream is repeated: no reply is wanted."""


class Call:
    """The engine's record of one call. Only the executor and the pipeline touch it."""

    __slots__ = (
        "acting_since",
        "args",
        "began",
        "context",
        "deadline",
        "failed_shell",
        "id",
        "modifiers",
        "name",
        "number",
        "raw",
        "read_only",
        "reply",
        "safe",
        "state",
        "stop",
        "task",
        "tool",
        "turn",
    )

    def __init__(self, id: str, name: str, raw: Any, *, number: int, turn: int) -> None:  # noqa: A002 - the wire's word
        self.id = id
        self.number = number
        self.name = name
        self.raw = raw
        self.turn = turn
        self.state: CallState = "queued"
        self.tool: Tool | None = None
        self.args: Any = None
        self.safe: bool | None = None
        """Whether it may run beside others; worked out when it reaches the head of the queue."""
        self.read_only = False
        self.began = False
        """Its task has taken its first step; before that a cancellation would leave it unanswered."""
        self.acting_since: float | None = None
        """When the tool itself began to work."""
        self.deadline: float | None = None
        self.task: asyncio.Task[None] | None = None
        self.context: ToolContext | None = None
        self.stop: Stop | None = None
        self.failed_shell = False
        """A state-changing shell command ran and failed: calls behind it may depend on it."""
        self.modifiers: tuple[ContextModifier, ...] = ()
        self.reply: CallFinished | None = None

    def changes_nothing(self) -> bool:
        """The tool says this call is read-only; a tool that cannot tell says no."""
        assert self.tool is not None
        try:
            return bool(self.tool.is_read_only(self.args))
        except Exception:  # noqa: BLE001 - users' code: what it cannot answer counts as a change
            return False

    def answer(self, message: str, outcome: Outcome, *, duration_ms: float = 0.0) -> None:
        """Reply with an error."""
        self.reply = CallFinished(
            self.id, self.name, error_text(message), is_error=True, outcome=outcome, duration_ms=duration_ms
        )


def error_text(message: str) -> str:
    """An error as models know it."""
    return f"<tool_use_error>{message}</tool_use_error>"

"""A script: which calls arrive when, and what the user does in between. Each step makes a new script."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

__all__ = ["Script", "Step", "Verb"]

Verb = Literal["call", "wait", "open", "end_turn", "interrupt", "user_message", "discard"]


class Step(NamedTuple):
    """One thing that happens."""

    verb: Verb
    subject: str = ""
    tool: str = ""
    arguments: Any = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    """A model and a user, written down: `Script().call("a", seconds=1).wait(0.5).interrupt()`."""

    steps: tuple[Step, ...] = ()

    def call(self, call_id: str, tool: str = "Scripted", **arguments: Any) -> "Script":
        """The model calls a tool; its input is complete now."""
        return self._then(Step("call", call_id, tool, arguments))

    def call_with(self, call_id: str, tool: str, raw: Any) -> "Script":
        """The same with any input, such as raw or broken JSON."""
        return self._then(Step("call", call_id, tool, raw))

    def wait(self, seconds: float) -> "Script":
        """Time passes before the next step."""
        return self._then(Step("wait", seconds=seconds))

    def open(self, gate: str) -> "Script":
        """Open a gate of the scripted tools."""
        return self._then(Step("open", gate))

    def end_turn(self) -> "Script":
        """The turn is over: later calls wait for all earlier ones."""
        return self._then(Step("end_turn"))

    def interrupt(self) -> "Script":
        """The user stops everything."""
        return self._then(Step("interrupt"))

    def user_message(self) -> "Script":
        """The user writes something while calls run."""
        return self._then(Step("user_message"))

    def discard(self) -> "Script":
        """The stream broke and will be repeated."""
        return self._then(Step("discard"))

    def _then(self, step: Step) -> "Script":
        return Script((*self.steps, step))

"""What one conversation stands on, besides the executor and the model: one record for the loop and its parts."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.agent.choices import LoopChoices
from holdfast.agent.history import Block, Message
from holdfast.agent.prompt.reading import InstructionFile
from holdfast.agent.state import SystemSource
from holdfast.agent.thoughts import Thoughts
from holdfast.contract import NO_FACTS, PromptFacts
from holdfast.events import Event
from holdfast.session import Journal

if TYPE_CHECKING:
    from holdfast.agent.loop import Loop

__all__ = ["LoopParts", "StartSource"]

StartSource = Literal["startup", "resume", "fork", "clear", "compact"]


class LoopParts(NamedTuple):
    """All optional; the parts of a loop read it, nobody changes it."""

    system: SystemSource = ()
    """The system prompt, or how to make it; it is made anew after the history was shortened."""
    journal: Journal | None = None
    """Where messages are written."""
    history: Sequence[Message] = ()
    """What was said before, valid for providers (see `holdfast.session.repair`)."""
    thoughts: Thoughts | None = None
    """Whose thoughts are in that history; none: the model's own."""
    queued: Sequence[Mapping[str, Any]] = ()
    """What was said and waits in the journal of an earlier process; told with the next prompt, in order."""
    deferred: Sequence[Block] = ()
    """The last answer of an earlier process whose call a hook left for later; it is made first."""
    choices: LoopChoices = LoopChoices()
    """Limits and settings."""
    facts: PromptFacts = NO_FACTS
    """What the tools' texts depend on."""
    notices: Callable[[], Sequence[str]] | None = None
    """Asked between turns and at the end of a run for what the model should know now, each told once."""
    instructions: Sequence[InstructionFile] = ()
    """What the system prompt holds already; only announced."""
    instructions_for: Callable[[str], Sequence[InstructionFile]] | None = None
    """Asked for the instructions that a file brings along, when the model has read that file."""
    new_day: Callable[[], str | None] | None = None
    """Asked before each request for the date, where it is another than the one the model knows."""
    source: StartSource | None = None
    """How the session came about; by the history when omitted."""
    on_event: Callable[[Event], None] | None = None
    """Told of the loop's own events at once, also when no run is read."""
    parent: "Loop | None" = None
    """The loop that started this one, and pays for it."""

    @property
    def begins_as(self) -> StartSource:
        """How the session came about."""
        return self.source or ("resume" if self.history else "startup")

"""What one conversation stands on, besides the executor and the model: one record for the loop and its parts."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

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

__all__ = ["Expanded", "Expands", "LoopParts", "StartSource"]

StartSource = Literal["startup", "resume", "fork", "clear", "compact"]


class Expanded(NamedTuple):
    """What a prompt that begins with `/` calls."""

    kind: str
    """`skill`, `slash_command` or `mcp_prompt`."""
    name: str
    arguments: str
    source: str
    """Whose it is: user, project, managed, or the name of a server."""


class Expands(Protocol):
    """Knows what people call by `/name`."""

    def knows(self, text: str) -> Expanded | None:
        """What this text calls; none where it is only text."""
        ...

    async def content(self, called: Expanded) -> str | list[Block]:
        """What the model reads instead; raises `ToolFailed` when it cannot be used."""
        ...

    async def mentioned(self, text: str) -> list[Block]:
        """What goes with a prompt because it names it by `@`."""
        ...


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
    background: Callable[[], Sequence[Mapping[str, Any]]] | None = None
    """Asked at the end of a run for the tasks that still work in the background, for the hooks that hear of the end."""
    instructions: Sequence[InstructionFile] = ()
    """What the system prompt holds already; only announced."""
    instructions_for: Callable[[str], Sequence[InstructionFile]] | None = None
    """Asked for the instructions that a file brings along, when the model has read that file."""
    expands: Expands | None = None
    """Makes the text of a skill or command out of a prompt that calls one."""
    reload_skills: Callable[[], str] | None = None
    """Looks for skills again; returns what to say of those that are new."""
    skills_for: Callable[[str], str] | None = None
    """Asked what to say of the skills that come up with a file, when the model has read that file."""
    plan_instructions: str | None = None
    """How to work in plan mode, instead of our own words."""
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

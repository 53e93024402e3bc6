"""What the model is told between turns besides results: prompts, ends of tasks, instructions, reminders. Each once."""

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.agent.history import Block, prompt_blocks
from holdfast.agent.notes import as_reminder
from holdfast.agent.prompts import PromptQueue
from holdfast.engine import Executor
from holdfast.events import ContextChanged, Event, InstructionsLoaded, PromptSubmitted, Reminded

__all__ = ["Between", "InstructionText"]

_NOT_PEOPLE = frozenset({"task", "mailbox", "tick"})
"""What these say must not pass for the user's words."""


class InstructionText(Protocol):
    """A file of instructions that counts from now on."""

    @property
    def path(self) -> str:
        """Where it is."""
        ...

    @property
    def kind(self) -> str:
        """Whose it is."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...


class Between:
    """Collects what waits and puts it into words."""

    def __init__(
        self,
        executor: Executor,
        *,
        emit: Callable[[Event], None],
        notices: Callable[[], Sequence[str]] | None,
        instructions_for: Callable[[str], Sequence[InstructionText]] | None,
        queue: PromptQueue | None = None,
    ) -> None:
        self.queue = PromptQueue() if queue is None else queue  # an empty one is false
        self._executor = executor
        self._emit = emit
        self._notices = notices
        self._instructions_for = instructions_for
        self._reminders: list[tuple[str, str]] = []
        self._read: dict[str, None] = {}
        """Files that were shown to the model since the last turn."""

    def hear(self, event: Event) -> None:
        """Remember which files a call has shown to the model."""
        if type(event) is ContextChanged and event.change == "FileRead" and self._instructions_for is not None:
            self._read[event.value["path"]] = None

    def remind(self, kind: str, text: str) -> None:
        """Tell the model something with the next request, once."""
        self._reminders.append((kind, text))

    def poll(self) -> bool:
        """Look who has something to say; true when the model should hear it although it is done."""
        if self._notices is not None:
            for notice in self._notices():
                if notice.strip():
                    self.queue.put(notice, "task")
        prompts = self._executor.state.prompts
        while prompts:
            if (text := prompts.popleft()).strip():
                self.queue.put(text, "hook")
        return bool(self.queue)

    def take(self) -> list[Block]:
        """Everything that waits, in words; whoever listens is told."""
        self.poll()
        blocks: list[Block] = []
        for prompt in self.queue.take_all():
            self._emit(PromptSubmitted(prompt.content, prompt.source))
            if prompt.source in _NOT_PEOPLE and isinstance(prompt.content, str):
                blocks += prompt_blocks(as_reminder(prompt.content))
            else:
                blocks += prompt.blocks
        self._find_instructions()
        reminders, self._reminders = self._reminders, []
        for kind, text in reminders:
            self._emit(Reminded(kind, text))
            blocks += prompt_blocks(as_reminder(text))
        return blocks

    def _find_instructions(self) -> None:
        read, self._read = self._read, {}
        if self._instructions_for is None:
            return
        for path in read:
            for found in self._instructions_for(path):
                self._emit(InstructionsLoaded(found.path, found.kind))
                if found.text.strip():
                    self.remind(
                        "instructions", f"Instructions from {found.path}, for the files below it:\n\n{found.text}"
                    )

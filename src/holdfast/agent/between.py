"""What the model is told between turns besides results: prompts, ends of tasks, instructions, reminders. Each once."""

from collections.abc import Callable, Sequence

from holdfast.agent.history import Block, Message, prompt_blocks
from holdfast.agent.notes import date_changed
from holdfast.agent.plan_mode import PlanMode
from holdfast.agent.prompt.reading import InstructionFile
from holdfast.agent.prompt.reminders import instructions_loaded, reminder
from holdfast.agent.prompts import PromptQueue
from holdfast.engine import Executor
from holdfast.events import ContextChanged, Event, InstructionsLoaded, PromptSubmitted, Reminded

__all__ = ["Between"]

_NOT_PEOPLE = frozenset({"task", "mailbox", "tick"})
"""What these say must not pass for the user's words."""


class Between:
    """Collects what waits and puts it into words."""

    def __init__(
        self,
        executor: Executor,
        *,
        emit: Callable[[Event], None],
        notices: Callable[[], Sequence[str]] | None,
        instructions_for: Callable[[str], Sequence[InstructionFile]] | None,
        history: Callable[[], Sequence[Message]],
        new_day: Callable[[], str | None] | None = None,
        queue: PromptQueue | None = None,
    ) -> None:
        self.queue = PromptQueue() if queue is None else queue  # an empty one is false
        self._executor = executor
        self._emit = emit
        self._notices = notices
        self._instructions_for = instructions_for
        self._new_day = new_day
        self._plan_mode = PlanMode(executor, history)
        self._reminders: list[tuple[Reminded, str]] = []
        """What listeners are told, and the model."""
        self._read: dict[str, None] = {}
        """Files that were shown to the model since the last turn."""

    def hear(self, event: Event) -> None:
        """Remember which files a call has shown to the model."""
        if type(event) is ContextChanged and event.change == "FileRead" and self._instructions_for is not None:
            self._read[event.value["path"]] = None

    def look_back(self) -> None:
        """The history was shortened: what it no longer says is told again."""
        self._plan_mode.look_back()

    def remind(self, kind: str, text: str) -> None:
        """Tell the model something with the next request, once."""
        self._reminders.append((Reminded(kind, text), reminder(text)))

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
                blocks += prompt_blocks(reminder(prompt.content))
            else:
                blocks += prompt.blocks
        self._find_instructions()
        if self._new_day is not None and (day := self._new_day()) is not None:
            self.remind("date", date_changed(day))
        if (plan := self._plan_mode.news()) is not None:
            self.remind("plan_mode", plan)
        reminders, self._reminders = self._reminders, []
        for event, text in reminders:
            self._emit(event)
            blocks += prompt_blocks(text)
        return blocks

    def _find_instructions(self) -> None:
        read, self._read = self._read, {}
        if self._instructions_for is None:
            return
        for path in read:
            found = self._instructions_for(path)
            for file in found:
                self._emit(InstructionsLoaded(file.path, file.kind))
            if told := [file for file in found if file.text.strip()]:
                text = instructions_loaded(told, path)
                self._reminders.append((Reminded("instructions", text), text))

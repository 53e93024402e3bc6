"""What the model is told between turns besides results: prompts, ends of tasks, instructions, reminders. Each once."""

import os
from typing import TYPE_CHECKING, Any

from holdfast.agent.gates import Gates, text_of
from holdfast.agent.history import Block, prompt_blocks
from holdfast.agent.notes import date_changed
from holdfast.agent.parts import LoopParts
from holdfast.agent.plan_mode import PlanMode
from holdfast.agent.prompt.reminders import instructions_loaded, reminder
from holdfast.agent.prompts import Prompt, PromptQueue
from holdfast.agent.state import LoopState
from holdfast.contract import ToolFailed
from holdfast.events import ContextChanged, Event, HookSpoke, InstructionsLoaded, PromptSubmitted, Reminded
from holdfast.lib.uuids import new_uuid
from holdfast.session.records import TITLE

if TYPE_CHECKING:
    from holdfast.hooks import Verdict

__all__ = ["Between"]

_TITLE_CHARS = 200

_NOT_PEOPLE = frozenset({"task", "mailbox", "tick"})
"""What these say must not pass for the user's words."""


class Between:
    """Collects what waits and puts it into words."""

    def __init__(self, state: LoopState, parts: LoopParts, gates: Gates, queue: PromptQueue) -> None:
        self.queue = queue
        self.gates = gates
        self.blocked = ""
        """Why the last prompt was kept from the model, if a hook did that."""
        self.told: list[tuple[str, int]] = []
        """Of what was taken last: the names of the users' prompts, and of how many blocks each is."""
        self._executor = state.executor
        self._emit = state.emit
        self._parts = parts
        self._plan_mode = PlanMode(state.executor, lambda: state.history.messages, parts.plan_instructions)
        self._reminders: list[tuple[Reminded, str]] = []
        """What listeners are told, and the model."""
        self._read: dict[str, None] = {}
        """Files that were shown to the model since the last turn."""

    def hear(self, event: Event) -> None:
        """Remember which files a call has shown to the model."""
        parts = self._parts
        if type(event) is not ContextChanged or event.change != "FileRead":
            return
        if parts.instructions_for is not None or parts.skills_for is not None:
            self._read[event.value["path"]] = None

    def take_word(self, heard: "Verdict | None") -> None:
        """Do what hooks want besides blocking: tell the model something, name the session, look for skills again."""
        if heard is None:
            return
        for text in self.gates.told(heard):
            self.remind("hook", text)
        title = heard.more.get("sessionTitle")
        if isinstance(title, str) and title.strip() and self._parts.journal is not None:
            self._parts.journal.record_note(TITLE, " ".join(title.split())[:_TITLE_CHARS])
        reload = self._parts.reload_skills if heard.more.get("reloadSkills") is True else None
        if reload is not None and (found := reload()):
            self.remind("skills", found)

    def background(self) -> list[dict[str, Any]]:
        """The tasks that still work in the background, as hooks are told."""
        return [] if self._parts.background is None else [dict(task) for task in self._parts.background()]

    def look_back(self) -> None:
        """The history was shortened: what it no longer says is told again."""
        self._plan_mode.look_back()

    def remind(self, kind: str, text: str) -> None:
        """Tell the model something with the next request, once."""
        self._reminders.append((Reminded(kind, text), reminder(text)))

    def poll(self) -> bool:
        """Look who has something to say; true when the model should hear it although it is done."""
        if self._parts.notices is not None:
            for notice in self._parts.notices():
                if notice.strip():
                    self.queue.put(notice, "task")
        prompts = self._executor.state.prompts
        while prompts:
            if (text := prompts.popleft()).strip():
                self.queue.put(text, "hook")
        return bool(self.queue)

    async def take(self) -> list[Block]:
        """Everything that waits, in words; whoever listens is told. What a hook blocks is told to nobody."""
        self.poll()
        self.told = []
        blocks: list[Block] = []
        for prompt in self.queue.take_all():
            if prompt.source == "user" and not await self._may_say(prompt):
                continue
            is_call = prompt.source == "user" and not prompt.sent.is_verbatim
            said = await self._expanded(prompt.blocks) if is_call else prompt.blocks
            if said is None:
                continue
            self._emit(PromptSubmitted(prompt.content, prompt.source))
            if prompt.source in _NOT_PEOPLE and isinstance(prompt.content, str):
                blocks += prompt_blocks(reminder(prompt.content))
            else:
                blocks += said
                if prompt.source == "user":
                    self.told.append((prompt.sent.uuid or new_uuid(), len(said)))
        self._find_instructions()
        if self._parts.new_day is not None and (day := self._parts.new_day()) is not None:
            self.remind("date", date_changed(day))
        if (plan := self._plan_mode.news()) is not None:
            self.remind("plan_mode", plan)
        reminders, self._reminders = self._reminders, []
        for event, text in reminders:
            self._emit(event)
            blocks += prompt_blocks(text)
        return blocks

    async def _may_say(self, prompt: Prompt) -> bool:
        """Ask the hooks about what a person said; what they add is told with it."""
        state = self._executor.state
        if self._parts.parent is None:  # an agent answers the prompt that it was started for
            state.prompt_id = os.urandom(8).hex()
        heard = await self.gates.ask("UserPromptSubmit", prompt=text_of(prompt.blocks))
        if heard is None:
            return True
        if heard.blocks:
            self.blocked = heard.reason
            self._emit(HookSpoke("UserPromptSubmit", f"the prompt was not sent: {heard.reason}"))
            return False
        self.take_word(heard)
        return True

    async def _expanded(self, blocks: list[Block]) -> list[Block] | None:
        """The prompt with what it names, or the text that it calls; None when a hook keeps that from the model."""
        expands, first = self._parts.expands, blocks[0] if blocks else {}
        text = str(first.get("text", "")) if first.get("type") == "text" else ""
        called = None if expands is None or not text.startswith("/") else expands.knows(text)
        if expands is None or called is None:
            return blocks if expands is None or "@" not in text else [*blocks, *await expands.mentioned(text)]
        heard = await self.gates.ask(
            "UserPromptExpansion",
            expansion_type=called.kind,
            command_name=called.name,
            command_args=called.arguments,
            command_source=called.source,
            prompt=text,
        )
        if heard is not None and heard.blocks:
            self.blocked = heard.reason
            self._emit(HookSpoke("UserPromptExpansion", f"/{called.name} was not sent: {heard.reason}"))
            return None
        self.take_word(heard)
        try:
            return [*prompt_blocks(await expands.content(called)), *blocks[1:]]
        except ToolFailed as error:
            self.remind(
                "skill", f"/{called.name} could not be used: {error}. Tell the user, and do not guess its text."
            )
            return blocks

    def _find_instructions(self) -> None:
        read, self._read = self._read, {}
        if self._parts.skills_for is not None:
            for path in read:
                if listed := self._parts.skills_for(path):
                    self.remind("skills", listed)
        if self._parts.instructions_for is None:
            return
        for path in read:
            found = self._parts.instructions_for(path)
            for file in found:
                self._emit(InstructionsLoaded(file.path, file.kind))
                self.gates.later(
                    "InstructionsLoaded", file_path=file.path, memory_type=file.kind, load_reason="nested_traversal"
                )
            if told := [file for file in found if file.text.strip()]:
                text = instructions_loaded(told, path)
                self._reminders.append((Reminded("instructions", text), text))

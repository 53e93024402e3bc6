"""One session at the terminal: what the person types, what the agent does, and in what order."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.app.begin import SessionChoice
from holdfast.app.call_lines import CallLines
from holdfast.contract.errors import HoldfastError, UsageError
from holdfast.events import ContextChanged, Event, PermissionDecided, RunEnded
from holdfast.lib.visible import visible
from holdfast.tui.asides import find_resources, keep_note, paste_picture, run_shell_line
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.ask.asker import TerminalAsker
from holdfast.tui.ask.first_run import tell_sandbox
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.beginning import begin_agent
from holdfast.tui.early import STARTING
from holdfast.tui.face import Face
from holdfast.tui.launch import ENDS_FOR_THE_PERSON, Launch
from holdfast.tui.loading import load_beside
from holdfast.tui.modes import go_to_next_mode
from holdfast.tui.preferences import Preferences, preferences_of
from holdfast.tui.prompts import PromptMaker
from holdfast.tui.show.recall import recall
from holdfast.tui.show.view import View
from holdfast.tui.show.words import Line, prose, wrapped
from holdfast.tui.status import status_line
from holdfast.tui.status_command import StatusCommand
from holdfast.tui.stoppable import Stoppable, StoppedError

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.contract import Tool
    from holdfast.tui.input.completing import Offers

__all__ = ["Conversation", "Launch"]

_WAKE = "\0"
"""Stands in the queue of prompts for what waits in the agent itself; nobody can type it."""
_IDLE_S = 60.0
"""After so long without a prompt the user's notifiers are told."""


class Conversation:
    """Starts agents, runs prompts one after the other, and answers commands."""

    def __init__(self, face: Face, launch: Launch) -> None:
        self.face = face
        self.launch = launch
        self.agent: RunningAgent | None = None
        self.view = View(face)
        self.view.naming.use_of, self.view.naming.fold_of = self._use_of, self._fold_of
        self._lines, self.view.naming.colour_of = CallLines(self._tool), self._colour_of
        self.view.naming.result_of = self._lines.own_result
        self.view.on_prompt = self._delivered
        self.asker = TerminalAsker(face, answers=launch.answers, after_s=launch.watched_s or 0.0)
        self.asker.on_word = self.submit
        self.asker.on_waiting = face.call_attention
        self.farewell = ""
        self.queued: list[str] = []
        """What was typed and not told to the model yet."""
        self.prompts = PromptMaker()
        self._until_the_end = ExitStack()
        self._shown: str | None = None
        """The prompt that is on the screen already, before the model has it."""
        self._first_mode = "default"
        self.status_command = StatusCommand()
        self._preferences = Preferences()
        self.set_here: dict[str, tuple[str, str]] = {}
        """Settings of the terminal that the person has set meanwhile, each with its file."""
        self.resources: list[tuple[str, str]] = []
        """What the servers offer to read, as `server:uri`, each with its name."""
        self._prompts: asyncio.Queue[str] = asyncio.Queue()
        self._later: deque[str] = deque()
        """What was typed while something else than a run was under way."""
        self._is_busy = False
        self.beside = Stoppable()
        self._is_stopped = False
        self._outcome = ""
        """How the last run ended."""
        self._has_started = asyncio.Event()
        self._jobs: set[asyncio.Task[Any]] = set()

    # Beginning and end.

    async def run(self) -> None:
        """Start the agent and answer what is typed, until somebody cancels this."""
        await load_beside()
        await self.start(self.launch.choice)
        for trigger in self.launch.set_up:
            if self.agent is not None:
                await self.agent.set_up(trigger)
        if self.launch.prompt:
            self.submit(self.launch.prompt)
        elif self.agent is not None and not self.launch.plain:
            await tell_sandbox(self.face, self.agent)
        self._has_started.set()
        while True:
            text = await self._next_prompt()
            self._is_busy, self._is_stopped, self._outcome = True, False, ""
            if self._later and self._later[0] == text:
                self._later.popleft()
            try:
                await self._answer(text)
            finally:
                self._is_busy = False
                self.view.rest()
                self._prompts.task_done()
                self.face.refresh()
            if self.launch.ends and self._outcome:
                self._after_the_last_prompt()

    def _after_the_last_prompt(self) -> None:
        if self._outcome in ENDS_FOR_THE_PERSON and self.launch.answers is None:
            self.say("dim", "Write anything, and it goes on; Ctrl-D leaves.")
        else:
            self.face.leave()

    async def _next_prompt(self) -> str:
        """What is typed next; after a while of waiting the user's notifiers are told, once for each answer."""
        agent = self.agent
        waits = agent is not None and bool(agent.history)
        alarm = asyncio.get_running_loop().call_later(_IDLE_S, agent.tell_waiting) if agent and waits else None
        try:
            return await self._prompts.get()
        finally:
            if alarm is not None:
                alarm.cancel()

    async def start(self, choice: SessionChoice) -> bool:
        """Start an agent in place of the one there is; false if that one stays."""
        keeping = self._until_the_end if self.agent is None else None
        try:
            self.launch, agent = await begin_agent(
                self.face, self.launch, choice, self.asker, self._hear, until_the_end=keeping
            )
        except HoldfastError as error:
            if self.agent is None:
                raise
            self.say("bad", str(error))
            return False
        before, self.agent = self.agent, agent
        if before is not None:
            await before.close("clear" if choice.is_cleared else "resume")
        agent.wake_by(self._wake)
        for notice in agent.notices():
            self.say("warn", notice)
        agent.tell_of_servers(partial(self.say, "warn"))
        self._first_mode = agent.mode
        self._prefer(preferences_of(agent.rights.settings))
        self.status_command.wish(agent, self.face.refresh)
        self.say("dim", f"{agent.model.name} · {home_relative(agent.cwd)} · session {agent.session_id} · /help")
        self.spawn(find_resources(self, agent))
        if agent.history:
            recall(self.face, self.view.naming, agent.history)
        return True

    def _prefer(self, preferences: Preferences) -> None:
        self._preferences = preferences
        self.face.prefer(preferences)
        self.status_command.use(preferences.status_command)

    async def close(self) -> None:
        """End everything that was started, and have a last word ready."""
        self.farewell = self.launch.farewell
        if self.agent is not None and self.agent.history and self.launch.choice.is_kept:
            self.farewell = f"to go on: holdfast --resume {self.agent.session_id}"
        for job in self._jobs:
            job.cancel()
        await self.status_command.close()
        try:
            if self.agent is not None:
                await self.agent.close("prompt_input_exit")
        finally:
            self._until_the_end.close()

    # What the person does.

    def submit(self, text: str) -> None:
        """Take what was typed: a command, a shell line, or words for the model, now or between two turns."""
        agent = self.agent
        if agent is not None and self._is_busy and agent.is_running:
            from holdfast.tui.commands.run import is_command, runs_beside  # noqa: PLC0415 - with the first line

            is_ours = is_command(self, text)
            if is_ours and runs_beside(text):
                self.spawn(self._answer(text))
            elif is_ours or text.startswith(("!", "#")):
                self._prompts.put_nowait(text)
                self.say("dim", f"{prose(text).split(maxsplit=1)[0]} waits until the run has ended")
            else:
                self.queued.append(text)
                agent.submit(self.prompts.plain(text))
        else:
            self._prompts.put_nowait(text)
            if self._is_busy:
                self._later.append(text)
        self.face.refresh()

    def _wake(self) -> None:
        """Something waits for the model, and nobody runs it."""
        if not self._is_busy:
            self._prompts.put_nowait(_WAKE)

    async def idle(self) -> None:
        """Return when the session has begun and everything that was typed is answered."""
        await self._has_started.wait()
        await self._prompts.join()

    def interrupt(self) -> bool:
        """Stop what is under way: a run, a call of the person's own, or work beside them."""
        agent = self.agent
        if agent is None or not (agent.is_running or agent.is_calling):
            return self.beside.stop()
        self._is_stopped = True
        self.spawn(agent.interrupt())
        return True

    def next_mode(self) -> None:
        """Go to the next permission mode; the one that the session began with is one of them."""
        if self.agent is not None:
            if problem := go_to_next_mode(self.agent, self._first_mode):
                self.say("warn", problem)
            self.asker.look_again_soon()
            self.face.refresh()

    def background(self) -> None:
        """Let the newest call that can go on in the background."""
        if self.agent is not None and any(self.agent.background(id_) for id_ in reversed(self.view.calls.running)):
            return
        self.say("dim", "nothing that runs now can go to the background")

    def open_result(self) -> None:
        """Open the whole output of the last call; those before it are a key away."""
        from holdfast.tui.panels.outputs import output_page  # noqa: PLC0415 - only when asked for

        kept = self.view.kept.all()
        if kept:
            self.spawn(self.face.open(output_page(kept)))
        else:
            self.say("dim", "no call has ended yet")

    def rewind(self) -> None:
        """Let the person choose a prompt to go back to."""
        if self.agent is not None and not self.agent.is_running and not self._is_busy:
            self._prompts.put_nowait("/rewind")

    def paste_picture(self) -> None:
        """Take a picture from the clipboard."""
        self.spawn(paste_picture(self))

    # What is shown for now.

    def live(self, rows: int) -> list[Line]:
        """What runs, and what waits to be told."""
        waiting: list[Line] = [
            [("dim", f"  queued: {prose(text).splitlines()[0][:60]}")] for text in self._waiting()[-2:]
        ]
        if self.agent is None:
            waiting.append([("dim", STARTING)])
        return [*self.view.live(max(1, rows - len(waiting))), *waiting]

    def status(self) -> Line:
        """Mode, model, context, cost, and what a message now would do."""
        stops = self.beside.is_on or (self.agent is not None and self.agent.is_calling)
        return status_line(self.agent, self.face.columns, waiting=len(self._waiting()), stops=stops)

    def _waiting(self) -> list[str]:
        return [*self.queued, *self._later]

    def offers(self) -> "Offers":
        """What the input line can offer."""
        from holdfast.tui.commands.run import offered_commands  # noqa: PLC0415 - with the first key
        from holdfast.tui.input.completing import Offers  # noqa: PLC0415 - the same

        return Offers(
            cwd=lambda: os.getcwd() if self.agent is None else self.agent.cwd,
            hides=self._hides,
            commands=lambda: offered_commands(self.agent),
            resources=lambda: self.resources,
        )

    def say(self, style: str, text: str) -> None:
        """Words of our own, or of others made safe."""
        columns = self.face.columns - 1
        self.face.commit([part for line in prose(text).split("\n") for part in wrapped([(style, line)], columns)])

    def spawn(self, work: Any) -> None:
        """Do something beside."""
        job: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def pick(self, title: str, options: list[tuple[str, str]], *, default: int = 0) -> str | None:
        """Let the person choose one of some values."""
        menu = Menu(title, [Option(visible(label), value) for label, value in options], default=default)
        menu.is_field = True
        chosen = await self.face.choose(menu)
        if chosen.value:
            self.face.commit(wrapped(menu.told(chosen), self.face.columns - 1))
        return chosen.value

    # Inside.

    async def _answer(self, text: str) -> None:
        from holdfast.models.errors import ModelError  # noqa: PLC0415 - loaded with the agent
        from holdfast.tui.commands.run import is_command, leaves_lines, run_command  # noqa: PLC0415 - the same

        try:
            if text == _WAKE:
                with suppress(UsageError):  # a run has told it meanwhile
                    await self.ask(None)
            elif is_command(self, text):
                if leaves_lines(text):
                    self.view.show_command(text)
                await run_command(self, text)
            elif text.startswith("!"):
                await run_shell_line(self, text[1:].strip())
            elif text.startswith("#") and "\n" not in text:
                await keep_note(self, text[1:].strip())
            else:
                await self.ask(text)
        except StoppedError as error:
            self.view.note("warn", str(error))
        except (HoldfastError, ModelError) as error:
            self.say("bad", str(error))

    async def ask(self, text: str | None, *, is_shown: bool = False) -> None:
        """Let the model answer a prompt; without one, what it was told meanwhile."""
        agent = self.agent
        if agent is None:
            return
        prompt = None
        if text is not None:
            self._shown = text
            if not is_shown:
                self.view.show_prompt(text)
            prompt = await self.prompts.whole(text, agent)
            if self._is_stopped:  # while something that it names was read
                self.face.fill_input(text)
                raise StoppedError("stopped; the model has not got it")
        async for _event in agent.run(prompt):
            pass
        if self.queued:  # said too late for this run
            with suppress(UsageError):
                await self.ask(None)
            self.queued.clear()

    def _hides(self, path: str) -> bool:
        return self.agent is not None and self.agent.permissions.hides(path)

    def _delivered(self, text: str) -> str | None:
        """A prompt is on its way: what was typed is what is shown of it, once."""
        typed = self.prompts.typed(text)
        if typed in self.queued:
            self.queued.remove(typed)
        shown, self._shown = self._shown, None
        return None if typed == shown else typed

    def _hear(self, event: Event) -> None:
        self.view.take(event)
        if self.launch.on_event is not None:
            self.launch.on_event(event)
        if isinstance(event, PermissionDecided | ContextChanged):
            self.asker.look_again()
        if isinstance(event, RunEnded):
            self._outcome = event.outcome
            self.face.call_attention("the answer is there")
        if self.agent is not None:
            self.status_command.wish(self.agent, self.face.refresh)

    def preferred(self, key: str, value: str) -> None:
        """The person has set one of the terminal's own settings; it holds at once."""
        self._prefer(self._preferences.changed(key, value))

    def own_status(self) -> str:
        """What the user's own command says, with colours."""
        return self.status_command.line

    def _use_of(self, name: str, raw: Mapping[str, Any]) -> str:
        return name if self.agent is None else self._lines.use(name, raw).replace(f"{self.agent.cwd}{os.sep}", "")

    def _colour_of(self, type_: str) -> str:
        definition = None if self.agent is None else self.agent.definitions.agents.get(type_)
        return "" if definition is None else definition.color.strip().lower()

    def _tool(self, name: str) -> "Tool | None":
        found = None if self.agent is None else self.agent.tools.find(name)
        return None if found is None else found.tool

    def _fold_of(self, name: str, raw: Mapping[str, Any]) -> str | None:
        return None if self.agent is None else self.agent.folds_into(name, raw)

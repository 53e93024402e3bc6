"""The face of a running agent: what a terminal, a web page or a program at the other end sees of it and may do."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from holdfast.app.begin import mode_changed
from holdfast.app.listener import Listener
from holdfast.app.models import open_given
from holdfast.app.rights import Rights
from holdfast.app.servers import server_states
from holdfast.contract import ArgumentsInvalid, Form, Question, ToolUse, UsageError
from holdfast.contract.names import MODES, PermissionMode
from holdfast.events import CallFinished, ContextCompacted, Event, PromptSource
from holdfast.lib.closing import ClosedAtExit
from holdfast.permissions import PermissionContext
from holdfast.permissions.updates import change_mode

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.agent.prompt.reading import InstructionFile
    from holdfast.agent.prompts import Sent
    from holdfast.app.build import OpenSession
    from holdfast.app.definitions import Definitions
    from holdfast.hooks import Hook
    from holdfast.lib.undoing import Restored
    from holdfast.mcp.hub import Hub
    from holdfast.models import Model, SystemBlock, Usage
    from holdfast.registry import Pool
    from holdfast.tasks.states import TaskRecord

__all__ = ["RunningAgent"]

Content = str | list[dict[str, Any]]


class RunningAgent(ClosedAtExit):
    """A loop and everything it stands on; `close` ends all of it.

    Faces use what is here and nothing behind it: `loop` and `opened` are for the parts of `app`.
    """

    def __init__(
        self,
        loop: "Loop",
        opened: "OpenSession",
        *,
        models: "Sequence[Model]",
        session_id: str,
        listener: Listener,
        definitions: "Definitions",
    ) -> None:
        self.loop = loop
        self.definitions = definitions
        """The agents, skills and commands that people wrote."""
        self.opened = opened
        self.session_id = session_id
        self._models = list(models)
        self.first_model: str = models[0].name
        """Who was asked when the session began."""
        self.first_choices = loop.choices
        self._listener = listener
        self._own_calls = 0

    # Talking.

    def run(self, prompt: Content | None = None, sent: "Sent | None" = None) -> AsyncGenerator[Event]:
        """Answer a prompt: the events as they happen, `RunEnded` last. Closing the iterator stops the run.

        `sent` is what a program gave with it.
        """
        return self.loop.run(prompt) if sent is None else self.loop.run(prompt, sent)

    def submit(self, prompt: Content, source: PromptSource = "user", sent: "Sent | None" = None) -> None:
        """Say something while a run is under way; the model reads it between two turns."""
        if sent is None:
            self.loop.submit(prompt, source)
        else:
            self.loop.submit(prompt, source, sent)

    async def interrupt(self) -> None:
        """Stop the run or the person's own call that is under way: returns when nothing runs any more."""
        await self.loop.interrupt()
        if self.is_calling:
            await self.opened.executor.interrupt()

    async def compact(self, instructions: str = "") -> ContextCompacted | None:
        """Shorten the conversation now; None when there is nothing to shorten."""
        return await self.loop.compact(instructions)

    def background(self, tool_use_id: str) -> bool:
        """Let a running call go on in the background; false if there is none that can."""
        return self.opened.background(tool_use_id)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallFinished:
        """Run one tool for the person, through the same rules; between runs only.

        Raises:
            UsageError: A run is under way.
        """
        if self.is_running:
            raise UsageError("a run is under way; wait for its end, or interrupt it")
        executor = self.opened.executor
        self._own_calls += 1
        try:
            executor.add(ToolUse(f"user-{os.urandom(4).hex()}", name, arguments))
            replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
            executor.end_turn()
        finally:
            self._own_calls -= 1
        return replies[-1]

    @property
    def tasks(self) -> "list[TaskRecord]":
        """The background tasks of this session."""
        return self.opened.shell.board.all()

    async def stop_task(self, task_id: str) -> bool:
        """End a background task; false if there is none of this id."""
        return await self.opened.shell.board.stop(task_id) is not None

    def undo(self) -> "list[Restored]":
        """Take back the last change that this session made to files.

        Raises:
            UndoRefusedError: There is nothing to take back, or a file is not as it was left.
        """
        from holdfast.app.files import checkpoints_of  # noqa: PLC0415 - only here
        from holdfast.lib.checkpoints import UndoRefusedError  # noqa: PLC0415 - the same

        if self.opened.session is None:
            raise UndoRefusedError(["this session keeps nothing on disk, so nothing can be taken back"])
        return checkpoints_of(self.opened.session.path).undo()

    @property
    def questions(self) -> tuple[Question, ...]:
        """What waits for a person's answer now, the oldest first, those of subagents too."""
        asker = self.opened.asker
        return () if asker is None else asker.waiting

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that wait for a person, the oldest first."""
        asker = self.opened.asker
        return () if asker is None else asker.forms

    @property
    def would_interrupt(self) -> bool:
        """A message now would cut short some call that runs or waits."""
        return self.is_running and bool(self.opened.executor.yielding())

    # Looking and choosing.

    @property
    def is_running(self) -> bool:
        """A run is under way."""
        return self.loop.is_running

    @property
    def is_calling(self) -> bool:
        """A call of the person's own is under way."""
        return self._own_calls > 0

    @property
    def mode(self) -> PermissionMode:
        """The permission mode now."""
        return self.permissions.mode

    def change_mode(self, mode: str) -> PermissionMode:
        """Go on in another permission mode, from the next call.

        Raises:
            UsageError: There is no such mode, the settings forbid it, or the session may not enter it.
        """
        state = self.opened.executor.state
        state.permissions = change_mode(state.permissions, mode, may_bypass=state.may_bypass)
        if self.opened.session is not None:
            self.opened.session.journal(mode_changed(self.mode))
        return self.mode

    @property
    def modes(self) -> list[PermissionMode]:
        """The permission modes that `change_mode` goes to."""
        state = self.opened.executor.state
        rights = state.permissions
        found: list[PermissionMode] = [mode for mode in MODES if mode not in rights.disabled_modes]
        may_bypass = state.may_bypass or rights.mode == "bypassPermissions"
        return [mode for mode in found if may_bypass or mode != "bypassPermissions"]

    @property
    def permissions(self) -> PermissionContext:
        """The rights in force."""
        return self.opened.executor.state.permissions

    @property
    def cwd(self) -> str:
        """Where the agent works now."""
        return self.opened.executor.state.cwd

    @property
    def tools(self) -> "Pool":
        """What the model is offered."""
        return self.opened.executor.pool

    def folds_into(self, name: str, raw: Mapping[str, Any]) -> str | None:
        """Whether faces may show this call with others of its kind in one line: as `search` or `read`."""
        found = self.tools.find(name)
        if found is None:
            return None
        try:
            args = found.tool.arguments.parse(raw, self.opened.executor.state.session.prompt)
        except ArgumentsInvalid:
            return None
        return found.tool.search_or_read(args)

    @property
    def model(self) -> "Model":
        """Who is asked."""
        return self.loop.model

    @property
    def has_news(self) -> bool:
        """Something waits that the model should hear although nobody has said anything."""
        return self.loop.has_news

    def change_model(self, name: str) -> None:
        """Go on with another model from the next turn."""
        model = open_given(name, self.rights)
        self._models.append(model)
        self.loop.model = model

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation so far, as the model sees it."""
        return self.loop.history

    @property
    def transcript_path(self) -> str:
        """The file that programs of the user's may read the conversation from; empty: there is none."""
        return self.opened.executor.state.session.transcript_path

    @property
    def cost_usd(self) -> float | None:
        """What all runs have cost so far; None where no price is known."""
        return self.loop.cost_usd

    @property
    def usage(self) -> "Usage":
        """What all requests of the conversation used."""
        return self.loop.usage

    @property
    def context_tokens(self) -> int:
        """About how much of the model's window the conversation fills."""
        return self.loop.context_tokens

    async def set_up(self, trigger: str) -> None:
        """Let the hooks prepare the project (`init`, `maintenance`), before the first run."""
        await self.loop.set_up(trigger)

    async def begin(self) -> None:
        """Begin the session without a prompt: its hooks hear of it now instead of with the first run."""
        await self.loop.begin()

    def wake_by(self, wake: Callable[[], None]) -> None:
        """Have this called when a hook that worked in the background has something for the model; `run()` tells it."""
        self.opened.hooks.on_wake = wake

    def use_host_hooks(self, hooks: "Sequence[Hook]") -> None:
        """Let these take the place of the hooks that the program around the session gave before."""
        self.opened.hooks.use_own(hooks)

    def look_for_skills(self) -> None:
        """Look again for skills and commands that people wrote."""
        self.loop.look_for_skills()

    def tell_waiting(self) -> None:
        """Let the user's notifiers know that the agent waits for a prompt."""
        self.opened.executor.call_hooks.notify("the agent waits for your next prompt", "idle_prompt")

    def let_hooks_defer(self) -> None:
        """Let a hook leave a call for a later run, which asks it again: only where nobody watches this one."""
        self.opened.executor.call_hooks.may_defer = True

    # What does not count, and what is connected.

    @property
    def rights(self) -> Rights:
        """The settings and rights as they were read."""
        return self.opened.rights

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the user's and the project's instructions and hooks does not count, and why."""
        place = self._listener.place
        told = () if place is None else place.instructions.warnings
        return (*told, *self.opened.executor.hooks.warnings)

    @property
    def instructions(self) -> "Sequence[InstructionFile]":
        """The files of instructions that the model was told."""
        place = self._listener.place
        return () if place is None else place.instructions.files

    @property
    def system_blocks(self) -> "Sequence[SystemBlock]":
        """What the model is told before the conversation, as far as it was made already."""
        return self.loop.state.system_so_far

    @property
    def agent_types(self) -> list[str]:
        """The types of agents that can be started."""
        found = self.tools.find("Agent")
        return [] if found is None else list(dict.fromkeys((*_builtin_types(), *self.definitions.agents)))

    def about_type(self, name: str) -> str:
        """What a type of agents is for; empty where nobody has said it."""
        from holdfast.tools.agents.types import BUILTIN_TYPES  # noqa: PLC0415 - loaded with the tools

        found = self.definitions.agents.get(name)
        if found is not None:
            return found.description or ""
        return next((kind.about for kind in BUILTIN_TYPES if kind.name == name), "")

    @property
    def server_states(self) -> list[dict[str, str]]:
        """Each MCP server with its state."""
        return server_states(self.opened.servers)

    @property
    def servers(self) -> "Hub | None":
        """The MCP servers, where there are any."""
        return self.opened.servers

    def tell_of_servers(self, tell: Callable[[str], None]) -> None:
        """Have this called with what else a person should know about the MCP servers, from now on."""
        self._listener.on_server_notice = tell

    @property
    def server_notices(self) -> tuple[str, ...]:
        """What a person should know about the MCP servers, in words that are safe to show."""
        return tuple(self._listener.server_notices)

    def mirror_to(self, tell: "Callable[[str, list[dict[str, Any]]], None]") -> None:
        """Have this told what is added to the copy of the session, and to which file; without a copy never."""
        if self._listener.mirror is not None:
            self._listener.mirror.on_entries = tell

    def notices(self) -> tuple[str, ...]:
        """Everything that does not count in this session, one line each; what an untrusted folder brings, too."""
        left_out = self.rights.left_out()
        return (*self.rights.warnings(), *((left_out,) if left_out else ()), *self.warnings, *self.server_notices)

    # Ending.

    async def close(self, reason: str = "exit") -> None:
        """End every call and task, then the journal and the connections; the reason is for hooks and listeners."""
        async with AsyncExitStack() as parts:  # from the last to the first, whatever one of them raises
            parts.callback(self._listener.close)
            for model in self._models:
                parts.push_async_callback(model.close)
            parts.push_async_callback(self.opened.close)
            parts.push_async_callback(self.loop.close, reason)

    def hand_over_model(self) -> "Model":
        """The model that is asked now, for an agent that goes on with it: it is not closed with this one."""
        model = self.model
        self._models = [one for one in self._models if one is not model]
        return model


def _builtin_types() -> list[str]:
    from holdfast.tools.agents.types import BUILTIN_TYPES  # noqa: PLC0415 - loaded with the tools

    return [kind.name for kind in BUILTIN_TYPES]

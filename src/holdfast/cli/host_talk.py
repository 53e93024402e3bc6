"""The conversation with a host: its first request, prompt after prompt, and what happens in between."""

import asyncio
import os
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.app.begin import SessionChoice
from holdfast.app.commands import command_names
from holdfast.cli.host import Host
from holdfast.cli.host_commands import Command, called
from holdfast.cli.host_start import Opening
from holdfast.cli.waiting_prompts import NEWS
from holdfast.contract import HoldfastError
from holdfast.contract.names import AGENT_TASKS
from holdfast.events import RunEnded, TaskChanged

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.cli.headless import Headless
    from holdfast.cli.stream_input import UserPrompt

__all__ = ["HostTalk"]

_READS_STATE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
_EMITS_STATE = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
_NEEDED = ("holdfast.app.start_agent", "holdfast.agent.loop", "holdfast.session.directory")
_ENDED = ("completed", "failed")
_MOST_MS = 600_000
"""So long an agent in the background may work when no prompt can follow any more."""


class HostTalk:
    """Answers what a host says, with the session of one headless run."""

    def __init__(self, run: "Headless") -> None:
        self._run = run
        self._state = ""
        self._is_late = False
        self._ending: asyncio.TimerHandle | None = None
        self.host = Host(run.write)
        self.host.on_asking = self._tell_state
        self.host.used = lambda: run.lines.used()  # noqa: PLW0108 - each conversation has lines of its own
        self.host.running = lambda: list(run.lines.running)
        self.host.on_mode = lambda mode: run.write(run.lines.beside.status(None, permissionMode=mode))
        self.host.on_joined = lambda prompt: run.lines.takes(prompt.line)
        self.host.prompts.holds = self._is_waited_for

    async def go(self) -> None:
        """Until the host has nothing more to say."""
        self.host.listen()
        await self._open()
        await self._run.set_up()
        while (prompt := await self.host.next_prompt()) is not None:
            if prompt is not NEWS:
                await self._take(prompt)
            elif self._agent.has_news:
                await self._answer(prompt)
            self._tell_state("running" if self._has_agents or self.host.prompts.is_any else "idle")

    async def _open(self) -> None:
        """Start the session as the host's first request and the command line want it, and answer that request."""
        run = self._run
        preparing = asyncio.create_task(asyncio.to_thread(lambda: [import_module(name) for name in _NEEDED]))
        try:
            opening = Opening(await self.host.opening(), self.host, run.write)
        finally:
            await asyncio.wait([preparing])
        with opening.told():
            run.plan = opening.plan(run.plan)
            await run.start()
        opening.done(self._agent)

    async def _take(self, prompt: "UserPrompt") -> None:
        self._tell_state("running")
        if self._run.plan.replays:
            self._run.write(self._run.lines.replayed(prompt.content, prompt.line))
        command = called(prompt, frozenset(command_names(self._agent)))
        if prompt.line.get("shouldQuery") is False:
            self._agent.submit(prompt.content, sent=prompt.sent)  # it goes with the next prompt
            self._begin(prompt)
            self._end("")
        elif command is None:
            await self._answer(prompt)
        elif command.name == "clear":
            await self._begin_anew(prompt)
        else:
            await self._compact(prompt, command)

    def _begin(self, prompt: "UserPrompt") -> None:
        """The lines from now on answer this prompt."""
        run = self._run
        run.lines.waiting = lambda: self.host.prompts.count
        run.lines.begin(prompt.line)
        run.write(run.lines.init(self._agent))

    async def _answer(self, prompt: "UserPrompt") -> None:
        run = self._run
        self._begin(prompt)
        await run.answer(None if prompt is NEWS else prompt.content, prompt.sent)

    async def _begin_anew(self, prompt: "UserPrompt") -> None:
        """Go on as another session that remembers nothing; model and mode stay."""
        run, old = self._run, self._agent
        self.host.turn_to(None)
        lines, first_model = run.lines, old.first_model
        agent = run.plan.agent._replace(model=old.hand_over_model())
        options = run.plan.options._replace(permission_mode=old.mode)
        run.plan = run.plan._replace(
            agent=agent, options=options, choice=SessionChoice(is_kept=run.plan.choice.is_kept, is_cleared=True)
        )
        run.agent = None
        await old.close("clear")
        await run.start()
        self._agent.first_model = first_model
        self.host.turn_to(self._agent)
        run.write(lines.reset(self._agent.session_id, prompt.line))
        self._begin(prompt)
        self._end("")

    async def _compact(self, prompt: "UserPrompt", command: Command) -> None:
        run = self._run
        self._begin(prompt)
        try:
            compacted = await self._agent.compact(command.rest)
        except HoldfastError as error:
            self._end(f"The conversation could not be shortened: {error}", failed=True)
            return
        if compacted is None:
            self._end("There is nothing to shorten.")
            return
        for line in run.lines.lines(compacted):
            run.write(line)
        self._end("")

    def _end(self, text: str, *, failed: bool = False) -> None:
        """A result for what needed no model."""
        outcome = "error_during_execution" if failed else "success"
        run = self._run
        ended = RunEnded(outcome, "" if failed else text, 0, 0.0, 0.0, {}, error=text if failed else "")
        run.write(run.lines.result(ended))

    # What happens beside the prompts.

    def task_changed(self, event: TaskChanged) -> None:
        """A background task ended: the model hears of it at once, unless the host has stopped it or is gone."""
        prompts = self.host.prompts
        if event.status == "killed" and prompts.is_closed:
            prompts.close()  # whether something is still waited for is looked at again
        is_heard = event.task_type in AGENT_TASKS or not prompts.is_closed
        if is_heard and event.status in _ENDED and not self._agent.is_running:
            prompts.wake()

    @property
    def _agent(self) -> "RunningAgent":
        assert self._run.agent is not None
        return self._run.agent

    @property
    def _has_agents(self) -> bool:
        return self._run.lines.beside.tasks.has_agents

    def _is_waited_for(self) -> bool:
        """No prompt will follow: agents in the background still end, and what they found is told; within limits."""
        if not self._has_agents or self._is_late:
            return False
        if self._ending is not None:
            return True
        given = os.environ.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
        most_ms = int(given) if given.isascii() and given.isdigit() else _MOST_MS
        self._ending = asyncio.get_running_loop().call_later(most_ms / 1000, self._give_up)
        return True

    def _give_up(self) -> None:
        self._is_late = True
        self.host.prompts.close()

    def _tell_state(self, state: str) -> None:
        """Say whether the session works, waits for an answer or for a prompt, to a host that asked for it."""
        if state == self._state:
            return
        self._state = state
        if os.environ.get(_EMITS_STATE):
            self._run.write(self._run.lines.state(state))
        elif os.environ.get(_READS_STATE):
            self._run.write({**self._run.lines.state(state), "sdk_host_only": True})

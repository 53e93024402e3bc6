"""Subagents: a loop and an executor on the parts of the session that starts them, with at most its rights."""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.agent_parts import AgentParts
from holdfast.app.child import Child
from holdfast.app.models import open_named
from holdfast.app.remembered import Remembered, remembered
from holdfast.app.starter import Starter
from holdfast.contract import ConversationHanded, HoldfastError, ToolFailed
from holdfast.contract.roles import AgentReport, AgentTask
from holdfast.engine.state import readable_rules
from holdfast.lib.spelling import did_you_mean
from holdfast.lib.visible import visible
from holdfast.registry.names import PRESETS, RESERVED
from holdfast.session.agent_files import AgentAbout, KeptAgent
from holdfast.tasks import TooManyTasks, is_terminal, new_task_id
from holdfast.tasks.states import is_task_id
from holdfast.tools.agents.types import BUILTIN_TYPES, AgentType
from holdfast.tools.lists.task_update import MAIN

if TYPE_CHECKING:
    from holdfast.models import Model

__all__ = ["AGENT_TYPES", "Subagents"]

_log = logging.getLogger(__name__)
_OURS: Final = {kind.name: kind for kind in BUILTIN_TYPES}
AGENT_TYPES: Final = tuple(_OURS)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_QUESTION_LOOK_S: Final = 1.0


class Subagents:
    """Starts agents for one loop. Each has its own conversation, files seen and directory; the rest is shared."""

    def __init__(self, parts: AgentParts, starter: Starter) -> None:
        """Start agents for this one: they share its model, its limits and its budget."""
        self._parts = parts
        self._starter = starter
        self._followed: dict[str, Child] = {}
        """Those that a call waits for, by that call."""
        self._found: dict[str, str] = {}
        """Agents of ours by a name that their files tell."""

    def types(self) -> Mapping[str, str]:
        """What can be started, and what each is for."""
        known = self._starter.types
        return {kind.name: kind.about for kind in self._parts.types.values() if known is None or kind.name in known}

    def type_of(self, given: str, resume: str | None) -> str:
        """The type that a task is for: that of the agent that goes on, whatever the call says."""
        try:
            return given if resume is None else self._kept(resume).about.type
        except ToolFailed:
            return given  # it will be refused

    def isolation(self, type_: str, given: str | None, resume: str | None = None) -> str | None:
        """Where an agent of this type, or the one that goes on, would work apart; none where it works with us."""
        if resume is not None:
            try:
                return self._kept(resume).about.isolation
            except ToolFailed:
                return None  # it will be refused
        kind = self._parts.types.get(type_)
        return given or (None if kind is None or kind.definition is None else kind.definition.isolation)

    def background(self, tool_use_id: str) -> bool:
        """Let the agent of this call go on in the background; false if it cannot, or there is none."""
        child = self._followed.get(tool_use_id)
        if child is None or child.let_go is None or not self._has_background:
            return False
        if not child.let_go.done():
            child.let_go.set_result(None)
        return True

    @property
    def _has_background(self) -> bool:
        return self._starter.executor.state.session.prompt.background

    # May this be?

    def problem(self, task: AgentTask) -> str | None:
        """Why this cannot be started; none when it can."""
        try:
            self._child(task, lambda _: None)
        except ToolFailed as error:
            return str(error)
        room = self._parts.board.agents
        if room.working >= room.limit:
            return f"{room.working} agents are running, which is the limit; wait until one of them is done"
        return None

    def _child(self, task: AgentTask, progress: Callable[[Any], None]) -> Child:
        """The agent that this task means.

        Raises:
            ToolFailed: There is none, or it may not be.
        """
        if task.team is not None:
            raise ToolFailed(f"there is no team {task.team!r} in this session; leave team_name out")
        if task.background and not self._has_background:
            raise ToolFailed("background work is switched off here; leave run_in_background out and wait for the agent")
        kept = None if task.resume is None else self._kept(task.resume)
        kind = self._kind(task.type if kept is None else kept.about.type, task)
        about = self._about(task, kind) if kept is None else _narrowed(kept.about, task)
        self._check_name(task)
        self._check_tools(task)
        if about.worktree is None or task.cwd is not None:
            self._check_directory(about.cwd, task.cwd)
        self._check_isolation(about, task)
        made = Child if about.isolation != "remote" else _remote()
        child = made(self._parts, self._starter, kind, task, about, progress=progress, kept=kept)
        wants_none = kind.tools is not None and not kind.tools
        brings_own = kind.definition is not None and kind.definition.own_servers
        if not (wants_none or brings_own or child.offered()):
            raise ToolFailed(f"an agent of the type {kind.name!r} would have no tool left; name other allowed_tools")
        return child

    def _kind(self, name: str, task: AgentTask) -> AgentType:
        known = self._starter.types
        kind = self._type(name, is_ours=task.is_ours) if known is None or name in known else None
        if kind is None:
            raise ToolFailed(f"there is no agent type {name!r}; choose one of {', '.join(self.types())}")
        if kind.definition is not None and kind.definition.refusal:
            raise ToolFailed(f"an agent of the type {name!r} cannot be started: {kind.definition.refusal}")
        rights = self._starter.rights
        rule = rights.held_by("deny", "Agent", name)
        if (
            rule is None and task.by_skill and not task.asked
        ):  # the call was of Skill, so rules about Agent were not heard
            rule = rights.held_by("ask", "Agent", name)
        if rule is not None:
            raise ToolFailed(f"the rule {rule.behavior} {rule.text} holds back agents of the type {name!r}")
        return kind

    def _type(self, name: str, *, is_ours: bool) -> AgentType | None:
        return _OURS.get(name) if is_ours else self._parts.types.get(name)

    def _about(self, task: AgentTask, kind: AgentType) -> AgentAbout:
        wanted = None if kind.definition is None else kind.definition.isolation
        state, isolation = self._starter.executor.state, task.isolation or wanted
        return AgentAbout(
            id=new_task_id("remote_agent" if isolation == "remote" else "local_agent"),
            type=kind.name,
            tool_use_id=task.tool_use_id,
            description=task.description,
            name=task.name,
            parent=self._starter.agent_id,
            depth=self._starter.depth + 1,
            chain_id=self._starter.chain_id or state.prompt_id or "",
            model=_named(task.model),
            modes=tuple(mode for mode in (task.mode, kind.mode) if mode is not None),
            allowed_tools=task.allowed_tools,
            cwd=task.cwd or state.cwd,
            background=task.background or (kind.goes_alone and self._has_background),
            isolation=isolation,
            rules=tuple(("deny", rule.text) for rule in readable_rules("deny", task.denied, "Agent")),
        )

    def _check_isolation(self, about: AgentAbout, task: AgentTask) -> None:
        if task.resume is not None and task.isolation not in (None, about.isolation):
            place = about.isolation or "none: it shares your checkout"
            raise ToolFailed(
                f"the agent {task.resume!r} goes on where it was (isolation: {place}); leave isolation out, or start "
                "another agent"
            )
        if about.isolation == "remote" and about.type == "fork":
            raise ToolFailed("a fork knows this conversation, and a session of its own does not; leave isolation out")
        if about.isolation != "worktree":
            return
        from holdfast.tools.worktrees.checkout import find_checkout  # noqa: PLC0415 - few work apart
        from holdfast.tools.worktrees.making import makes_by_hook  # noqa: PLC0415 - the same

        if not makes_by_hook(task.hooks) and find_checkout(about.cwd) is None:
            raise ToolFailed(
                f"{about.cwd!r} is in no git repository, so there is nothing to make a worktree of; leave isolation out"
            )

    def _check_name(self, task: AgentTask) -> None:
        if task.name is None:
            return
        if not _NAME.fullmatch(task.name) or is_task_id(task.name) or task.name.lower() == MAIN:
            raise ToolFailed(
                f"{visible(task.name, limit_chars=80)!r} cannot be an agent's name; use up to 64 letters, digits, '.', "
                f"'_' and '-', beginning with a letter or digit, and not {MAIN!r}, which is the session itself"
            )
        running = self._running(self._parts.names.get(task.name, ""))
        if running:
            raise ToolFailed(f"an agent named {task.name!r} is already running; choose another name")

    def _check_tools(self, task: AgentTask) -> None:
        """A name that is none would leave its tool out without a word."""
        pool = self._starter.executor.pool
        for name in task.allowed_tools or ():
            shown = visible(name, limit_chars=80)
            if "(" in name:
                tool = shown.partition("(")[0][:40]
                raise ToolFailed(f"allowed_tools takes names of tools such as {tool!r}, not the rule {shown!r}")
            is_known = name in RESERVED or name in PRESETS or name.startswith("mcp__") or pool.find(name) is not None
            if not is_known:
                near = did_you_mean(name, [tool.name for tool in pool])
                raise ToolFailed(f"there is no tool {shown!r} for allowed_tools.{near} Leave it out to give all")

    def _check_directory(self, cwd: str, given: str | None) -> None:
        # Whether there is anything outside is not told.
        if given is not None and not self._starter.executor.state.is_inside(os.path.realpath(cwd)):
            raise ToolFailed(f"{cwd!r} is outside the allowed directories; leave cwd out to start where you are")
        if not os.path.isdir(cwd):
            raise ToolFailed(f"{cwd!r} is not a directory; leave cwd out to start where you are")

    def _running(self, agent_id: str) -> bool:
        record = self._parts.board.get(agent_id)
        follows = any(child.id == agent_id for child in self._followed.values())
        return follows or (record is not None and not is_terminal(record.status))

    def _kept(self, name: str) -> Remembered:
        """An agent of ours that has ended. Those of others know what we may not."""
        agent_id = self._parts.names.get(name, name)
        if self._running(agent_id):
            raise ToolFailed(f"the agent {name!r} is still running; wait for its end before you resume it")
        files = self._parts.files
        if files is None:
            handed: Remembered | None = self._starter.executor.state.conversations.get(agent_id)
            if handed is None:
                raise ToolFailed(f"there is no agent {name!r} to go on with; this session keeps only its last ones")
            return handed
        found = self._ours(agent_id) if is_task_id(agent_id) else None
        if found is None:  # another process has named it, or another agent has the same name
            agent_id = self._named_before(name) or ""
            if self._running(agent_id):
                raise ToolFailed(f"the agent {name!r} is still running; wait for its end before you resume it")
            found = self._ours(agent_id) if agent_id else None
        if found is None:
            raise ToolFailed(f"there is no agent {name!r} to go on with; give the agentId of one that you have started")
        return remembered(found)

    def _ours(self, agent_id: str) -> KeptAgent | None:
        files = self._parts.files
        found = None if files is None else files.read(agent_id)
        return None if found is None or found.about.parent != self._starter.agent_id else found

    def _named_before(self, name: str) -> str | None:
        if name not in self._found and self._parts.files is not None and not is_task_id(name):
            if (agent_id := self._parts.files.named(name, self._starter.agent_id)) is None:
                return None
            self._found[name] = agent_id
        return self._found.get(name)

    # Work.

    async def run(self, task: AgentTask, progress: Callable[[Any], None]) -> AgentReport:
        """Let one work, to its end or until it goes on in the background. Cancelling this stops it, and all its calls.

        Raises:
            ToolFailed: It cannot be started, or did not come to an end.
        """
        child = self._child(task, progress)
        model = self._model(child)
        try:
            self._parts.board.agents.enter()
        except TooManyTasks as error:
            raise ToolFailed(str(error)) from error
        child.start(model)
        if task.name is not None:
            self._parts.names[task.name] = self._found[task.name] = child.id
        if not child.in_background:
            self._followed[task.tool_use_id] = child
            try:
                await self._wait(child)
            except asyncio.CancelledError:
                await child.stop()
                raise
            finally:
                del self._followed[task.tool_use_id]
            if child.work.done():
                return _outcome(child)
        return self._let_go(child)

    async def _wait(self, child: Child) -> None:
        """Until its end, or until it should go on alone."""
        if not self._has_background:
            await asyncio.wait({child.work})
            return
        leaving = child.let_go = asyncio.get_running_loop().create_future()
        try:
            automatic_s = self._parts.opened.shell.limits.automatic_background_s
            await asyncio.wait({child.work, leaving}, timeout=automatic_s, return_when=asyncio.FIRST_COMPLETED)
            while child.asker is not None and child.asker.open and not child.work.done():
                # Somebody is being asked for it: in the background it would have to take no for an answer.
                await asyncio.wait({child.work}, timeout=_QUESTION_LOOK_S)
        finally:
            leaving.cancel()

    def _let_go(self, child: Child) -> AgentReport:
        task = child.task
        if self._parts.files is None:
            child.work.add_done_callback(lambda _: self._hand_on(child))
        record = self._parts.board.adopt_job(
            child,
            task_id=child.id,
            kind="remote_agent" if child.is_remote else "local_agent",
            description=task.description,
            tool_use_id=task.tool_use_id,
            prompt=task.prompt,
            cwd=child.cwd,
        )
        return AgentReport(child.id, "", "", 0, {}, goes_on=True, output_file=record.output_file)

    def _hand_on(self, child: Child) -> None:
        """Nobody waits for it, so no call hands its conversation on."""
        if child.report is not None and child.report.conversation is not None:
            handed = ConversationHanded(child.id, child.report.conversation)
            self._starter.executor.state.apply(handed, "Agent")

    def _model(self, child: Child) -> "Model":
        given = _named(child.task.model)
        if given is None:
            return self._own_model(child)
        try:
            return open_named(given, self._parts.opened.rights, self._starter.loop.model)
        except HoldfastError as error:
            raise ToolFailed(f"the model {given!r} cannot be used: {error}; leave it out to use yours") from error

    def _own_model(self, child: Child) -> "Model":
        """The one that it had, or that its definition names, where it can be asked; else that of whoever starts it."""
        kind, wanted = child.kind, child.model
        if wanted is None and kind.definition is not None:
            wanted = kind.definition.model
        if wanted is None:
            return self._starter.loop.model
        try:
            return open_named(wanted, self._parts.opened.rights, self._starter.loop.model)
        except HoldfastError as error:
            _log.warning("the agent %s wants the model %r, and has that of its starter: %s", kind.name, wanted, error)
            return self._starter.loop.model


def _named(model: str | None) -> str | None:
    """A model that is named; none where that of the starter is meant."""
    return None if model in ("", "inherit") else model


def _narrowed(about: AgentAbout, task: AgentTask) -> AgentAbout:
    """An agent that goes on has what it had, or less."""
    import msgspec  # noqa: PLC0415 - few agents go on

    modes = about.modes if task.mode is None or task.mode in about.modes else (*about.modes, task.mode)
    allowed = about.allowed_tools
    if task.allowed_tools is not None:
        allowed = (
            task.allowed_tools if allowed is None else tuple(name for name in allowed if name in task.allowed_tools)
        )
    return msgspec.structs.replace(
        about,
        tool_use_id=task.tool_use_id,
        description=task.description,
        name=task.name or about.name,
        model=about.model if task.model is None else _named(task.model),
        modes=modes,
        allowed_tools=allowed,
        cwd=task.cwd or about.cwd,
        background=task.background,
    )


def _remote() -> type[Child]:
    from holdfast.app.remote_child import RemoteChild  # noqa: PLC0415 - few work elsewhere

    return RemoteChild


def _outcome(child: Child) -> AgentReport:
    if child.report is not None:
        return child.report
    if child.work.cancelled():
        raise ToolFailed("the agent was stopped before it was done; what it did until then stands")
    raise ToolFailed(child.work.result().error or "the agent ended without an answer")

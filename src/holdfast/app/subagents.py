"""Subagents: a loop and an executor on the parts of the session that starts them, with at most its rights."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.classifier import classifier_of
from holdfast.app.models import open_given
from holdfast.app.place import Place
from holdfast.contract import HoldfastError, SessionFacts, ToolFailed
from holdfast.contract.roles import AgentReport, AgentTask
from holdfast.engine import Executor
from holdfast.engine.askers import WorkerAsker
from holdfast.events import AgentTold, CallQueued, CallStarted, Event, RunEnded
from holdfast.permissions import PermissionContext
from holdfast.registry import AgentKind, Pool, ViewOptions, for_subagent, tools_for
from holdfast.registry import assemble as assemble_pool
from holdfast.tools.agents.types import BUILTIN_TYPES, AgentType

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.app.build import OpenSession
    from holdfast.models import Model
    from holdfast.models.interface import SystemBlock

__all__ = ["AGENT_TYPES", "Subagents"]

_log = logging.getLogger(__name__)
AGENT_TYPES: Final = tuple(kind.name for kind in BUILTIN_TYPES)
_NOT_HANDED_ON: Final = frozenset({"StructuredOutput", "ToolSearch"})
"""Tools that speak for the session's own answer and list of tools; an agent is offered its tools at once."""
_DONE: Final = frozenset({"success"})


class Subagents:
    """Starts agents for a loop. Each has its own conversation, files seen and directory; the rest is shared."""

    def __init__(self, opened: "OpenSession", place: Place, loop: "Loop", tell: Callable[[Event], None]) -> None:
        """Start agents for this loop: they share its model, its limits and its budget."""
        self._parent = loop
        self._opened = opened
        self._place = place
        self._tell = tell
        self._types = {kind.name: kind for kind in BUILTIN_TYPES}

    def types(self) -> Mapping[str, str]:
        """What can be started, and what each is for."""
        return {kind.name: kind.about for kind in self._types.values()}

    def problem(self, task: AgentTask) -> str | None:
        """Why this cannot be started; none when it can."""
        kind = self._types.get(task.type)
        if kind is None:
            return f"there is no agent type {task.type!r}; choose one of {', '.join(self._types)}"
        if task.cwd is not None:
            real = os.path.realpath(task.cwd)
            if not os.path.isdir(real):
                return f"{task.cwd!r} is no directory; leave cwd out to start where you are"
            if not self._opened.executor.state.is_inside(real):
                return f"{task.cwd!r} is outside the allowed directories; leave cwd out to start where you are"
        if not len(self._pool(kind, task, self._rights(kind, task), self._session(kind, "new"))):
            return f"an agent of the type {task.type!r} would have no tool left; name other allowed_tools"
        return None

    async def run(self, task: AgentTask, progress: Callable[[Any], None]) -> AgentReport:
        """Let one work to its end. Cancelling this stops it, and all of its calls.

        Raises:
            ToolFailed: It cannot be started.
        """
        problem = self.problem(task)
        if problem is not None:
            raise ToolFailed(problem)
        child = _Child(f"agent-{os.urandom(6).hex()}", task, progress, self._tell)
        async with AsyncExitStack() as parts:
            model = self._model(task)
            if model is not self._parent.model:
                parts.push_async_callback(model.close)
            executor = self._executor(self._types[task.type], child)
            parts.push_async_callback(executor.close)
            try:
                return await child.follow(self._loop(self._types[task.type], executor, model, task))
            except Exception as error:  # the edge: its crash is one failed call of its starter
                _log.exception("the agent %s (%s) crashed", child.id, task.description)
                raise ToolFailed(
                    f"the agent crashed ({type(error).__name__}); what it did before stands. Look what it changed, "
                    "then do the rest yourself or start another one"
                ) from error

    # Its parts.

    def _model(self, task: AgentTask) -> "Model":
        if task.model is None or task.model in ("", "inherit"):
            return self._parent.model
        try:
            return open_given(task.model, self._opened.rights)
        except HoldfastError as error:
            raise ToolFailed(f"the model {task.model!r} cannot be used: {error}; leave it out to use yours") from error

    def _rights(self, kind: AgentType, task: AgentTask) -> PermissionContext:
        """What it may: its mode, what the type always has, and above both the rights of whoever starts it."""
        own = self._opened.executor.state.permissions
        rights = own.child(task.mode)
        return rights if kind.mode is None else rights.child(kind.mode)

    def _session(self, kind: AgentType, agent_id: str) -> SessionFacts:
        own = self._opened.executor.state.session
        # It is not told of the end of work in the background, so it is offered none.
        facts = own.prompt._replace(agents=(), background=False)
        return own._replace(agent_id=agent_id, agent_type=kind.name, prompt=facts)

    def _pool(self, kind: AgentType, task: AgentTask, rights: PermissionContext, session: SessionFacts) -> Pool:
        mine = [tool for tool in self._opened.executor.pool if tool.name not in _NOT_HANDED_ON]
        kept = tools_for(for_subagent(mine, AgentKind()), rights, ViewOptions(session=session))
        if kind.tools is not None:
            kept = [tool for tool in kept if tool.name in kind.tools]
        if task.allowed_tools is not None:
            kept = tools_for(kept, rights, ViewOptions(only=frozenset(task.allowed_tools), session=session))
        remote = [tool for tool in kept if tool.mcp_info is not None]
        return assemble_pool([tool for tool in kept if tool.mcp_info is None], remote)

    def _executor(self, kind: AgentType, child: "_Child") -> Executor:
        opened, task = self._opened, child.task
        parent = opened.executor
        rights, session = self._rights(kind, task), self._session(kind, child.id)
        above = parent.state.permissions

        def renew(event: Event) -> None:
            """Before each call: what the user has changed for the session since then binds here, too."""
            nonlocal above
            if type(event) is CallQueued and parent.state.permissions is not above:
                above = parent.state.permissions
                executor.state.permissions = self._renewed(executor.state.permissions, kind, task)

        executor = Executor(
            self._pool(kind, task, rights, session),
            permissions=rights,
            cwd=task.cwd or parent.state.cwd,
            session=session,
            hooks=parent.hooks,
            asker=None if opened.asker is None else WorkerAsker(child.id, opened.asker),
            classify=classifier_of(opened.rights.settings),
            spill_directory=Path(opened.shell.places.results),
            resources=(),
            on_event=renew,
        )
        return executor

    def _renewed(self, before: PermissionContext, kind: AgentType, task: AgentTask) -> PermissionContext:
        """The rights as they are made now, with what answers have added for this agent alone."""
        made = self._rights(kind, task)
        own = [rule for rule in before.rules if rule.source.kind == "session" and rule not in made.rules]
        return made.with_rules(*own) if own else made

    def _loop(self, kind: AgentType, executor: Executor, model: "Model", task: AgentTask) -> "Loop":
        from holdfast.agent import Loop  # noqa: PLC0415 - loaded by the loop that starts it

        parent = self._parent
        choices = parent.choices._replace(max_turns=task.max_turns, max_budget_usd=None, output_tool=None)
        return Loop(
            executor,
            model,
            system=self._system(kind, executor),
            choices=choices if model is parent.model else choices._replace(fallback_model=None),
            facts=executor.state.session.prompt,
            parent=parent,
        )

    def _system(self, kind: AgentType, executor: Executor) -> "tuple[SystemBlock, ...]":
        from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - the same

        parts = PromptParts(
            tools=frozenset(tool.name for tool in executor.pool),
            facts=executor.state.session.prompt,
            is_subagent=True,
            environment=self._place.environment,
            instructions=self._place.instructions.files,
            withheld=self._place.instructions.withheld,
            appended=kind.words,
        )
        return tuple(build_system_prompt(parts))


class _Child:
    """One agent at work: tells what it does, and what came of it."""

    def __init__(
        self, id_: str, task: AgentTask, progress: Callable[[Any], None], tell: Callable[[Event], None]
    ) -> None:
        self.id = id_
        self.task = task
        self._progress = progress
        self._tell = tell
        self._tool_uses = 0

    async def follow(self, loop: "Loop") -> AgentReport:
        """Read the run to its end."""
        ended: RunEnded | None = None
        try:
            async with aclosing(loop.run(self.task.prompt)) as events:
                async for event in events:
                    self._hear(event)
                    if isinstance(event, RunEnded):
                        ended = event
        finally:
            await loop.close()
        if ended is None:
            raise ToolFailed("the agent ended without an answer")
        error = "" if ended.outcome in _DONE else ended.error or f"it ended as {ended.outcome!r}"
        return AgentReport(self.id, ended.text, error, self._tool_uses, ended.usage)

    def _hear(self, event: Event) -> None:
        self._tell(AgentTold(self.id, self.task.type, self.task.tool_use_id, event))
        if isinstance(event, CallStarted):
            self._tool_uses += 1
            self._progress({"agentId": self.id, "tool": event.name, "toolUses": self._tool_uses})

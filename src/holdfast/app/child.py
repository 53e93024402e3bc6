"""One agent that a call has started: its rights, its executor and loop, its work, and what came of it."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from holdfast import __version__
from holdfast.app.agent_parts import AgentParts
from holdfast.app.child_progress import IN_BACKGROUND, ChildProgress, crash_words
from holdfast.app.remembered import Remembered
from holdfast.app.starter import Starter
from holdfast.contract import FileRead, FileStamp, SessionFacts, Tool, ToolFailed
from holdfast.contract.roles import AgentReport, AgentTask
from holdfast.engine import Executor
from holdfast.engine.askers import WorkerAsker
from holdfast.events import AgentTold, CallQueued, Event, HookRan, HookSpoke, RunEnded
from holdfast.permissions import PermissionContext, Rule
from holdfast.session.agent_files import AgentAbout
from holdfast.tasks.jobs import JobEnd
from holdfast.tools.agents.types import AgentType

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.hooks import Hooks
    from holdfast.models import Model
    from holdfast.session import Journal
    from holdfast.tools.worktrees.making import Settled

__all__ = ["Child"]

_log = logging.getLogger(__name__)
_DONE: Final = frozenset({"success"})
_BEFORE_VERDICTS: Final = frozenset({CallQueued, HookRan})
"""A call is judged next, for the first time or after hooks that took their time."""


class _Outfit(NamedTuple):
    """What an agent has, for as long as nothing above it or about it changes."""

    about: AgentAbout
    above: PermissionContext
    rights: PermissionContext
    session: SessionFacts
    tools: list[Tool]


class Child:
    """One agent at work. It is a job: `work` is all of it."""

    def __init__(
        self,
        parts: AgentParts,
        starter: Starter,
        kind: AgentType,
        task: AgentTask,
        about: AgentAbout,
        *,
        progress: Callable[[Any], None],
        kept: Remembered | None = None,
    ) -> None:
        self.id = about.id
        self.task = task
        self.asker = None if parts.opened.asker is None else WorkerAsker(about.id, parts.opened.asker, self.renew)
        self.report: AgentReport | None = None
        self.let_go: asyncio.Future[None] | None = None
        self._parts = parts
        self._starter = starter
        self.kind = kind
        self._about = about
        self._kept = kept
        self._told = ChildProgress(about.id, progress)
        self._executor: Executor | None = None
        self._seen: PermissionContext | None = None
        self._seen_hooks: Hooks | None = None
        self._known_outfit: _Outfit | None = None
        self._settled: Settled | None = None
        self._work: asyncio.Task[JobEnd] | None = None
        self._journal: Journal | None = None
        files = parts.files
        self._shared = None if files is None else files.shared(about.id, about.cwd, __version__)

    # A job.

    @property
    def work(self) -> "asyncio.Task[JobEnd]":
        """All of it."""
        assert self._work is not None
        return self._work

    @property
    def in_background(self) -> bool:
        """Nobody waits for it, from its beginning on."""
        return self._about.background

    @property
    def model(self) -> str | None:
        """The name of the model that was chosen for it by a call, this one or the one that began it."""
        return self._about.model

    @property
    def cwd(self) -> str:
        """Where it began."""
        return self._about.cwd

    @property
    def is_remote(self) -> bool:
        """It is a session of its own, elsewhere."""
        return self._about.isolation == "remote"

    def start(self, model: "Model") -> None:
        """Begin; the room was entered, and is left with the end."""
        self._work = asyncio.get_running_loop().create_task(self._live(model))
        self._work.add_done_callback(lambda _: self._parts.board.agents.leave())

    def tell_into(self, path: str) -> None:
        """It is in the background now: nobody is asked, and what it does is told in a file."""
        self._told.into(path)
        if self.asker is not None:
            self.asker.closed = IN_BACKGROUND

    async def stop(self) -> None:
        """End it; returns when nothing of it runs any more, also when whoever waits is cancelled meanwhile."""
        work = self.work
        work.cancel()
        while not work.done():
            try:
                await asyncio.wait({work})
            except asyncio.CancelledError:
                continue  # the first one is passed on by whoever called

    # Its life.

    async def _live(self, model: "Model") -> JobEnd:
        self._told.begin()
        try:
            async with AsyncExitStack() as parts:
                if model is not self._starter.loop.model:
                    parts.push_async_callback(model.close)
                if self._about.isolation == "worktree":
                    await self._go_apart(parts)
                report = await self._work_on(model, parts)
            self.report = report = self._with_place(report)
        except ToolFailed as error:
            return JobEnd("failed", "", str(error))
        except Exception as error:  # noqa: BLE001 - the edge: its crash is one failed call of its starter
            _log.exception("the agent %s (%s) crashed", self.id, self.task.description)
            return JobEnd("failed", self._place_note(), crash_words(error))
        finally:
            self._told.end()
        text = "\n\n".join(filter(None, (report.text, *(f"[{note}]" for note in report.notes))))
        return JobEnd("failed" if report.error else "completed", text, report.error or None)

    async def _work_on(self, model: "Model", parts: AsyncExitStack) -> AgentReport:
        ended: dict[str, Any] = {"outcome": "stopped"}
        executor = self._executor = await self._made_executor(parts)
        journal = self._begin_file(executor)
        parts.callback(self._end_file, journal, ended)
        parts.push_async_callback(executor.close)
        loop = self._made_loop(executor, model, journal)
        parts.callback(self._parts.begin_work(self.id, loop))
        self._offer_agents(executor, loop)
        report = await self._follow(loop)
        ended["outcome"] = report.error or "success"
        if journal is None:
            handed = Remembered(self._last_word(), loop.history, dict(executor.state.file_reads), loop.thoughts)
            report = report._replace(conversation=handed)
        return report

    def _begin_file(self, executor: Executor) -> "Journal | None":
        if self._about.tools is None:
            about = msgspec.structs.replace(self._about, tools=self._parts.names_of(executor.pool))
            if self._known_outfit is not None:
                self._known_outfit = self._known_outfit._replace(about=about)
            self._about = about
        files = self._parts.files
        self._journal = None if files is None else files.begin(self._about, again=self._kept is not None)
        return self._journal

    def _end_file(self, journal: "Journal | None", ended: dict[str, Any]) -> None:
        if self._parts.files is not None and journal is not None:
            self._parts.files.end(self._last_word(), journal, ended)

    async def _follow(self, loop: "Loop") -> AgentReport:
        """Read the run to its end."""
        ended: RunEnded | None = None
        try:
            async with aclosing(loop.run(self.task.prompt)) as events:
                async for event in events:
                    self._hear(event)
                    if type(event) is RunEnded:
                        ended = event
        finally:
            await loop.close()
        if ended is None:
            raise ToolFailed("the agent ended without an answer")
        error = "" if ended.outcome in _DONE else ended.error or f"it ended as {ended.outcome!r}"
        return AgentReport(self.id, ended.text, error, self._told.tool_uses, ended.usage)

    def _hear(self, event: Event) -> None:
        about = self._about
        if type(event) is HookSpoke:  # to the user, wherever the hook was heard
            self._parts.tell(event)
        else:
            self._parts.tell(AgentTold(self.id, about.type, about.tool_use_id, event, about.chain_id, about.depth))
        self._told.hear(event)

    # Where it works apart.

    async def _go_apart(self, parts: AsyncExitStack) -> None:
        from holdfast.app.apart import Apart  # noqa: PLC0415 - few agents work apart

        apart = Apart(self._parts, self._starter.executor.state, self.task)
        made = await apart.enter(self._about)
        self._about = msgspec.structs.replace(self._about, worktree=made, cwd=made.cwd)

        async def leave() -> None:
            self._settled = await apart.leave(made, self.id)

        parts.push_async_callback(leave)

    def _with_place(self, report: AgentReport) -> AgentReport:
        note, made = self._place_note(), self._about.worktree
        if not note or made is None:
            return report
        return report._replace(notes=(*report.notes, note), worktree=(made.path, made.branch))

    def _place_note(self) -> str:
        return "" if self._settled is None else self._settled.note

    # Its parts.

    def _rights(self) -> PermissionContext:
        """What it may: what it was narrowed to, and above that the rights of whoever starts it."""
        rights = self._starter.rights
        self._seen = rights
        for mode in self._about.modes or (None,):
            rights = rights.child(mode)
        if (made := self._about.worktree) is not None:
            rights = rights.with_options(worktree=(made.root, made.path), worktrees_of=made.root)
        own = [Rule.parse("deny" if behavior == "deny" else "ask", text) for behavior, text in self._about.rules]
        return rights.with_rules(*own) if own else rights

    def renew(self) -> None:
        """What the user has changed for the session since then binds here, too."""
        executor = self._executor
        if executor is None:
            return
        if self._starter.executor.hooks is not self._seen_hooks:
            executor.hooks = self._hooks()
        if self._starter.rights is self._seen:
            return
        before = executor.state.permissions
        made = self._rights()
        own = [rule for rule in before.rules if rule.source.kind == "session" and rule not in made.rules]
        executor.state.permissions = made.with_rules(*own) if own else made

    def _hooks(self) -> "Hooks":
        """Those of the session, and those that its definition brings."""
        self._seen_hooks = self._starter.executor.hooks
        return self._parts.hooks_of(self.kind, self._seen_hooks)

    def _session(self) -> SessionFacts:
        own = self._starter.executor.state.session
        parts, about = self._parts, self._about
        nested = own.prompt.agents if about.depth < parts.depth and not about.background else ()
        # It is not told of the end of work in the background, so it is offered none.
        facts = own.prompt._replace(agents=nested, background=False)
        path = "" if self._shared is None else self._shared.path
        root = own.project_root if about.worktree is None else about.worktree.path
        return own._replace(
            agent_id=self.id, agent_type=about.type, prompt=facts, agent_transcript_path=path, project_root=root
        )

    def offered(self) -> list[Tool]:
        """The tools it would have now."""
        return self._outfit().tools

    def tools_of(self, tools: list[Tool]) -> list[Tool]:
        """What stands for these tools in its calls."""
        return tools

    def _outfit(self) -> "_Outfit":
        """What it may, who it is and what it has: worked out when it is looked at, and again where that changed."""
        about, above = self._about, self._starter.rights
        known = self._known_outfit
        if known is not None and known.about is about and known.above is above:
            return known
        rights, session = self._rights(), self._session()
        tools = self._parts.tools(
            self.kind,
            self._starter.executor,
            rights,
            session,
            allowed=about.allowed_tools,
            background=about.background,
        )
        if about.tools is not None:  # one that goes on
            tools = [tool for tool in tools if tool.name in about.tools]
        self._known_outfit = _Outfit(about, above, rights, session, tools)
        return self._known_outfit

    async def _made_executor(self, parts: AsyncExitStack) -> Executor:
        self._parts.let_read(self.kind)
        about, _, rights, session, tools = self._outfit()
        more = await self._parts.own_tools(self.kind, rights, session, parts, allowed=about.allowed_tools)

        def hear(event: Event) -> None:
            if type(event) in _BEFORE_VERDICTS:
                self.renew()
            if self._journal is not None:
                self._journal(event)

        executor = Executor(
            self._parts.pool(self.tools_of([*tools, *more])),
            permissions=rights,
            cwd=self._about.cwd,
            session=session,
            hooks=self._hooks(),
            asker=self.asker,
            classify=self._parts.classify_for(self.renew),
            spill_directory=self._parts.results,
            resources=(),
            on_event=hear,
        )
        executor.call_hooks.before_hooks = self._refresh
        self._remember(executor)
        return executor

    def _refresh(self) -> None:
        """Bring what hooks may read up to date: the session's conversation and its own."""
        if (above := self._starter.executor.call_hooks.before_hooks) is not None:
            above()
        if self._shared is not None:
            self._shared.refresh()

    def _remember(self, executor: Executor) -> None:
        """What it has seen before counts as seen."""
        seen: Mapping[str, FileStamp] = {} if self._kept is None else self._kept.file_reads
        if self._kept is None and self._about.type == "fork":
            seen = self._starter.executor.state.file_reads
        for path, stamp in seen.items():
            executor.state.apply(FileRead(path, stamp), "Read")

    def _made_loop(self, executor: Executor, model: "Model", journal: "Journal | None") -> "Loop":
        from holdfast.agent import Loop, LoopParts  # noqa: PLC0415 - loaded by the loop that starts it

        parent = self._starter.loop
        history: list[dict[str, Any]] = []
        thoughts = None
        if self._kept is not None:
            history, thoughts = list(self._kept.messages), self._kept.thoughts
        elif self._about.type == "fork":
            history, thoughts = list(parent.history), parent.thoughts
            if journal is not None:
                journal.record_note("compaction", {"messages": history})
        choices = parent.choices._replace(max_turns=self.task.max_turns, max_budget_usd=None, output_tool=None)
        defined = self.kind.definition
        if defined is not None:
            effort: Any = defined.effort or choices.effort
            choices = choices._replace(max_turns=self.task.max_turns or defined.max_turns, effort=effort)
        if self.task.effort is not None:
            choices = choices._replace(effort=self.task.effort)
        made = LoopParts(
            system=self._parts.system(self.kind, executor.pool, executor.state),
            journal=journal,
            history=history,
            thoughts=thoughts,
            choices=choices if model is parent.model else choices._replace(fallback_model=None),
            facts=executor.state.session.prompt,
            parent=parent,
        )
        return Loop(executor, model, made)

    def _offer_agents(self, executor: Executor, loop: "Loop") -> None:
        found = executor.pool.find("Agent")
        if found is None:
            return
        from holdfast.app.subagents import Subagents  # noqa: PLC0415 - it starts us
        from holdfast.tools.agents.agent import Agent  # noqa: PLC0415 - loaded with the tools

        starter = Starter(executor, loop, agent_id=self.id, depth=self._about.depth)
        starter.renew, starter.chain_id = self.renew, self._about.chain_id
        starter.types = None if self.kind.definition is None else self.kind.definition.agents
        assert isinstance(found.tool, Agent)
        found.tool.spawner = Subagents(self._parts, starter)

    def _last_word(self) -> AgentAbout:
        """What must hold when it goes on: also the rules that answers have given to it alone."""
        executor = self._executor
        if executor is None:
            return self._about
        own = self._parts.answered(executor.state.permissions.rules)
        return msgspec.structs.replace(self._about, rules=own, cwd=executor.state.cwd)

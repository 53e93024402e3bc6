"""What all agents of one session share: its rights, tools, prompts, limits and files."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.classifier import classifier_of
from holdfast.contract import SessionFacts, Tool
from holdfast.lib.visible import visible
from holdfast.registry import AgentKind, Pool, ViewOptions, for_subagent, tools_for
from holdfast.registry import assemble as assemble_pool
from holdfast.registry.names import chosen_names
from holdfast.session.agent_files import AgentFiles
from holdfast.settings.environment import Environment
from holdfast.tools.agents.agent import Agent
from holdfast.tools.agents.types import BUILTIN_TYPES, AgentType, defined_type, names_tool
from holdfast.tools.lists.task_update import MAIN, TaskUpdate

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.app.build import OpenSession
    from holdfast.app.definition_words import Memory
    from holdfast.app.definitions import Definitions
    from holdfast.app.place import Place
    from holdfast.engine import Executor
    from holdfast.engine.state import AgentState
    from holdfast.events import Event
    from holdfast.hooks import Hooks
    from holdfast.models.interface import SystemBlock
    from holdfast.permissions import PermissionContext, Rule
    from holdfast.permissions.classifier import ClassifierAnswer, ClassifierRequest, Classify
    from holdfast.tasks.work_list import WorkItem
    from holdfast.tools.skills.shelf import Shelf

__all__ = ["MOST_DEEP", "AgentParts"]

MOST_DEEP: Final = 4
"""Deeper than this no setting lets agents start agents."""
_NOT_HANDED_ON: Final = frozenset({"StructuredOutput", "ToolSearch"})
"""Tools that speak for the session's own answer and list of tools; an agent is offered its tools at once."""
_KEPT_POOLS: Final = 64


class AgentParts:
    """Made once for a session; agents with the same tools share one pool and one prompt."""

    def __init__(
        self, opened: "OpenSession", place: "Place", tell: "Callable[[Event], None]", definitions: "Definitions"
    ) -> None:
        self.opened = opened
        self.place = place
        self.tell = tell
        self.types: dict[str, AgentType] = {kind.name: kind for kind in BUILTIN_TYPES}
        self.types |= {name: defined_type(agent) for name, agent in definitions.agents.items()}
        self.definitions = definitions
        self.more_words = ""
        """Told to every agent, behind its own words."""
        self.board = opened.shell.board
        session = opened.session
        self.files = None if session is None else AgentFiles(session.path, session.id, session.journal)
        settings = opened.rights.settings
        self.classify = classifier_of(settings, opened.account)
        self.depth = min(MOST_DEEP, _number(settings.get("agents.maxDepth"), 1))
        """So deep agents may be: 1 means that agents start none."""
        self.board.agents.limit = _number(settings.get("agents.maxRunning"), self.board.agents.limit)
        self.remote_tools_always = Environment().flag("ALLOW_MCP_TOOLS_FOR_SUBAGENTS")
        self.names: dict[str, str] = {}
        """What agents are called, and their ids."""
        self._at_work: dict[str, Loop] = {}
        """The loops that run, by agent; `main` is the session's own."""
        self.shelf: Shelf | None = None
        """The skills of the session."""
        self._hooks: dict[str, tuple[Hooks, Hooks]] = {}
        self._pools: dict[tuple[int, ...], Pool] = {}
        self._systems: dict[tuple[Any, ...], tuple[SystemBlock, ...]] = {}
        self._told: dict[tuple[Any, ...], tuple[Pool, Any, tuple[SystemBlock, ...]]] = {}
        self.results = Path(opened.shell.places.results)
        """Where long results go."""
        self._answered: tuple[tuple[Rule, ...], tuple[tuple[str, str], ...]] = ((), ())
        self._named: tuple[Pool | None, tuple[str, ...]] = (None, ())

    def begin_work(self, agent_id: str, loop: "Loop") -> "Callable[[], None]":
        """An agent works from now on, until what is returned is called."""
        self._at_work[agent_id] = loop

        def end() -> None:
            self._at_work.pop(agent_id, None)

        return end

    def begin_main(self, loop: "Loop") -> None:
        """The session's own loop is there; owners of tasks are told by it and those of agents."""
        self.begin_work(MAIN, loop)
        found = self.opened.executor.pool.find("TaskUpdate")
        if found is not None and isinstance(found.tool, TaskUpdate):
            found.tool.tell_owner = self._tell_owner

    def _tell_owner(self, owner: str, item: "WorkItem", giver: str) -> None:
        """Whoever has a task now reads of it with the next request; who does not work finds it on the list."""
        loop = self._at_work.get(self.names.get(owner, owner))
        if loop is not None:
            title = visible(item.subject, limit_chars=200)
            who = "the agent that leads the session" if giver == MAIN else f"the agent {giver}"
            said = f"Task {item.id} of the list is yours now, as {who} wants, not the user. Its title: {title!r}."
            loop.remind("task_owner", f"{said} See TaskGet.")

    def tools(
        self,
        kind: AgentType,
        above: "Executor",
        rights: "PermissionContext",
        session: SessionFacts,
        *,
        allowed: tuple[str, ...] | None,
        background: bool,
    ) -> list[Tool]:
        """What an agent is offered of the tools of whoever starts it."""
        mine = [tool for tool in above.pool if tool.name not in _NOT_HANDED_ON]
        remote = not background or self.remote_tools_always
        agent = AgentKind(background=background, nesting=bool(session.prompt.agents), mcp_tools=remote)
        kept = tools_for(for_subagent(mine, agent), rights, ViewOptions(session=session))
        if kind.tools is not None or kind.definition is not None:
            kept = [tool for tool in kept if kind.may_use(tool.name)]
        return _chosen(kept, allowed)

    def pool(self, tools: list[Tool]) -> Pool:
        """The pool of these tools; whoever has the same gets the same, with what is rendered of it."""
        key = tuple(map(id, tools))
        found = self._pools.get(key)
        if found is None:
            if any(isinstance(tool, Agent) for tool in tools):
                # Its own: it starts agents with its own rights.
                return self._assembled([Agent() if isinstance(tool, Agent) else tool for tool in tools])
            found = self._assembled(tools)
            if len(self._pools) >= _KEPT_POOLS:
                self._pools.clear()
            self._pools[key] = found
        return found

    def _assembled(self, tools: list[Tool]) -> Pool:
        pool = _assembled(tools)
        pool.aliases = self.opened.executor.pool.aliases
        return pool

    def names_of(self, pool: Pool) -> tuple[str, ...]:
        """The names of its tools; agents that share a pool share them."""
        if self._named[0] is not pool:
            self._named = pool, tuple(tool.name for tool in pool)
        return self._named[1]

    def answered(self, rules: "tuple[Rule, ...]") -> tuple[tuple[str, str], ...]:
        """Those that deny or ask because of an answer in this session; agents share rules, so the last are kept."""
        if self._answered[0] is not rules:
            kept = [one for one in rules if one.behavior != "allow" and one.source.kind == "session"]
            self._answered = rules, tuple((one.behavior, one.text) for one in kept)
        return self._answered[1]

    def hooks_of(self, kind: AgentType, session: "Hooks") -> "Hooks":
        """The hooks of the session, and behind them those that a definition brings; these can only hold back."""
        if kind.definition is None or not kind.definition.hooks:
            return session
        known = self._hooks.get(kind.name)
        if known is None or known[0] is not session:
            own = self.opened.hooks.brought(kind.definition.hook_entries(self.definitions.where.root))
            bound = [hook._replace(may_allow=False) for hook in own]
            known = self._hooks[kind.name] = (session, session.with_more(bound))
        return known[1]

    def classify_for(self, renew: "Callable[[], None]") -> "Classify | None":
        """The second classifier, after whose word the rights of an agent are brought up to date."""
        inner = self.classify
        if inner is None:
            return None

        async def classify(request: "ClassifierRequest") -> "ClassifierAnswer":
            answer = await inner(request)
            renew()
            return answer

        return classify

    def let_read(self, kind: AgentType) -> None:
        """What a definition brings to be read is read as inside by its agents: skills and memory."""
        if kind.definition is None or not (kind.definition.skills or kind.definition.memory):
            return
        from holdfast.app.definition_words import skills_of  # noqa: PLC0415 - few definitions have any
        from holdfast.tools.skills.shelf import own_directory  # noqa: PLC0415 - the same

        directories = [place for skill in skills_of(kind.definition, self.shelf) for place in own_directory(skill)]
        memory = self._memory(kind)
        self.opened.executor.state.let_read((*directories, *(() if memory is None else (memory.directory,))))

    async def own_tools(
        self,
        kind: AgentType,
        rights: "PermissionContext",
        session: SessionFacts,
        parts: AsyncExitStack,
        *,
        allowed: tuple[str, ...] | None,
    ) -> list[Tool]:
        """The tools of servers that only this kind of agent has; they end with it."""
        servers = () if kind.definition is None else kind.definition.own_servers
        if not servers:
            return []
        from holdfast.app.agent_servers import start_own_servers  # noqa: PLC0415 - few definitions have any

        assert kind.definition is not None
        hub = await start_own_servers(self.opened, kind.definition)
        if hub is None:
            return []
        parts.push_async_callback(hub.close)
        kept = _chosen(tools_for(hub.tools(), rights, ViewOptions(session=session)), allowed)
        return [tool for tool in kept if not kind.forbids(tool.name)]

    def _memory(self, kind: AgentType) -> "Memory | None":
        if kind.definition is None or kind.definition.memory is None:
            return None
        from holdfast.app.definition_words import memory_of  # noqa: PLC0415 - few definitions have one

        return memory_of(kind.definition, self.definitions.where)

    def words(self, kind: AgentType, session: SessionFacts) -> str | None:
        """What a definition tells its agent; none for our own types."""
        if kind.definition is None:
            return None
        from holdfast.app.definition_words import words_of  # noqa: PLC0415 - only where there are any

        return words_of(kind.definition, self.shelf, session, self._memory(kind))

    def system(self, kind: AgentType, pool: Pool, state: "AgentState") -> "tuple[SystemBlock, ...]":
        """What an agent is told about itself and the place; agents of one type in one place are told the same."""
        session, files = state.session, self.place.instructions.files
        if kind.definition is not None:
            return self._made_system(kind, pool, state)  # its file may say something else now
        key = (kind.name, id(pool), state.cwd, session.project_root, session.prompt, self.definitions.edition)
        known = self._told.get(key)
        if known is None or known[0] is not pool or known[1] is not files:
            if len(self._told) >= _KEPT_POOLS:
                self._told.clear()
            known = self._told[key] = pool, files, self._made_system(kind, pool, state)
        return known[2]

    def _made_system(self, kind: AgentType, pool: Pool, state: "AgentState") -> "tuple[SystemBlock, ...]":
        from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - loaded by the loop

        session = state.session
        tools = frozenset(tool.name for tool in pool)
        parts = PromptParts(
            tools=tools,
            facts=session.prompt,
            is_subagent=True,
            environment=self.place.at(state.cwd, session.project_root),
            instructions=self.place.instructions.files,
            withheld=self.place.instructions.withheld,
            definitions=self.definitions.section(tools),
            replacement=self.words(kind, session),
            appended="\n\n".join(filter(None, (kind.words, self.more_words))),
        )
        told = (parts.environment, parts.instructions, parts.definitions, parts.replacement, parts.appended)
        key = (parts.tools, parts.facts, *told)
        found = self._systems.get(key)
        if found is None:
            if len(self._systems) >= _KEPT_POOLS:
                self._systems.clear()
            found = self._systems[key] = tuple(build_system_prompt(parts))
        return found


def _chosen(tools: list[Tool], allowed: tuple[str, ...] | None) -> list[Tool]:
    """Those that a call names, by any of their names or by the server that they are of."""
    names = chosen_names(allowed)
    if allowed is None or names is None:
        return tools
    return [tool for tool in tools if not names.isdisjoint(tool.names) or names_tool(allowed, tool.name)]


def _assembled(tools: list[Tool]) -> Pool:
    remote = [tool for tool in tools if tool.mcp_info is not None]
    return assemble_pool([tool for tool in tools if tool.mcp_info is None], remote)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default

"""From options to a running agent: rights, session, tools, model and prompt around one loop."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.app.agent_parts import AgentParts
from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.build import OpenSession, open_session
from holdfast.app.deferral import defer_tools, search_tools
from holdfast.app.definitions import Definitions, load_definitions
from holdfast.app.hook_roles import ask_agent, ask_model, call_server
from holdfast.app.listener import Listener
from holdfast.app.main_agent import as_main_agent
from holdfast.app.mirrors import begin_mirror, wants_mirror
from holdfast.app.models import model_name, open_models
from holdfast.app.options import AgentOptions, Options
from holdfast.app.place import Place, look_around
from holdfast.app.rights import Rights, load_rights
from holdfast.app.running import RunningAgent
from holdfast.app.server_news import ServerNews, words_of_servers
from holdfast.app.servers import configured_servers, join_servers
from holdfast.app.skills import Expander, offer_skills
from holdfast.app.starter import Starter
from holdfast.app.subagents import AGENT_TYPES, Subagents
from holdfast.contract import Asker, Tool
from holdfast.events import Event
from holdfast.session.names import new_session_id
from holdfast.session.records import TITLE

if TYPE_CHECKING:
    from holdfast.agent import Loop, LoopChoices
    from holdfast.app.ahead import Ahead
    from holdfast.app.early import Early
    from holdfast.models import Model, SystemBlock

__all__ = ["RunningAgent", "start_agent"]

OUTPUT_TOOL = "StructuredOutput"


async def start_agent(
    options: Options,
    agent: AgentOptions,
    *,
    choice: SessionChoice = NEW_SESSION,
    asker: Asker | None = None,
    on_event: Callable[[Event], None] | None = None,
    ahead: "Ahead | None" = None,
    early: "Early | None" = None,
    waits: bool = True,
) -> RunningAgent:
    """Put an agent together. What takes time runs side by side; nothing more is asked of the model yet.

    `ahead`: go on with what `ask_ahead` made of the same options; it is closed with the agent, or here on an error.
    `early`: the session has begun, and its prompt waits: `run` without a prompt tells it.
    `waits`: a moment for MCP servers whose tools are not known yet; a terminal has no such moment.

    Raises:
        UsageError: Options, settings or the model's name make no sense, or no model is chosen.
        ModelError: The model cannot be asked at all, such as without its key.
        SessionError: The session to resume cannot be.
    """
    rights = load_rights(options) if ahead is None else ahead.rights
    definitions = None if ahead is None else ahead.definitions
    main = None
    if agent.main_agent is not None:
        definitions = load_definitions(rights, agent.agents)
        main, options, agent = as_main_agent(definitions, options, agent)
        rights = load_rights(options)
    name = model_name(agent, rights)
    looking = asyncio.create_task(look_around(rights, name) if ahead is None else _seen(ahead.place))
    listener = Listener(on_event)
    models: list[Model] = [] if ahead is None else list(ahead.models)
    opened: OpenSession | None = None
    try:
        await asyncio.sleep(0)  # git starts now, and answers while the client is loaded
        models += open_models(agent, name, rights) if ahead is None else ()
        has_servers = bool(configured_servers(rights, options).entries)
        extra = (*_output_tools(agent), *search_tools(options, has_servers=has_servers))
        options = options._replace(own_tools=(*options.own_tools, *extra))
        opened = await _open(options, choice, early, rights=rights, asker=asker, on_event=listener.of_session)
        opened.offers = None if main is None else main.may_use
        await join_servers(opened, options, waits=waits, on_notice=listener.server_notice)
        definitions = definitions or load_definitions(rights, agent.agents)
        _apply(agent, options, opened, definitions)
        loop = _make_loop(agent, opened, models, place=await looking, listener=listener, definitions=definitions)
    except BaseException:
        looking.cancel()
        await asyncio.wait([looking])
        for part in (opened, *models):
            if part is not None:
                await part.close()
        listener.close()
        raise
    session_id = _session_id(opened, choice)
    if wants_mirror(options, rights):
        listener.mirror = begin_mirror(opened, listener.server_notice)
    return RunningAgent(loop, opened, models=models, session_id=session_id, listener=listener, definitions=definitions)


def _session_id(opened: OpenSession, choice: SessionChoice) -> str:
    if opened.session is not None:
        return opened.session.id
    session_id = choice.session_id or new_session_id()
    opened.executor.state.session = opened.executor.state.session._replace(session_id=session_id)
    return session_id


def _apply(agent: AgentOptions, options: Options, opened: OpenSession, definitions: Definitions) -> None:
    """What was chosen about names: of tools, of the skills that are told of, of the session."""
    opened.executor.pool.aliases = options.tool_aliases
    definitions.only = None if agent.skills is None else frozenset(agent.skills)
    if agent.title and opened.session is not None and opened.beginning.transcript is None:
        opened.session.journal.record_note(TITLE, agent.title)


async def _open(
    options: Options,
    choice: SessionChoice,
    early: "Early | None",
    *,
    rights: Rights,
    asker: Asker | None,
    on_event: Callable[[Event], None],
) -> OpenSession:
    """Open the session, or go on with the one that has begun."""
    opened = open_session(
        options,
        asker=asker,
        on_event=on_event,
        choice=choice,
        rights=rights,
        agents=AGENT_TYPES,
        beginning=None if early is None else await early.beginning(),
    )
    if early is not None:
        early.hand_over()
    return opened


async def _seen(place: Place) -> Place:
    return place


def _make_loop(
    agent: AgentOptions,
    opened: OpenSession,
    models: "Sequence[Model]",
    *,
    place: "Place",
    listener: Listener,
    definitions: Definitions,
) -> "Loop":
    from holdfast.agent import Loop, LoopParts  # noqa: PLC0415 - only agents need the loop
    from holdfast.agent.thoughts import Thoughts  # noqa: PLC0415 - the same

    transcript = opened.beginning.transcript
    history, deferred = _history(opened)
    history = history or [dict(message) for message in agent.history]
    listener.place, listener.pool = place, opened.executor.pool
    expander = Expander(opened)
    waiting = defer_tools(opened, models[0].context_window, history)
    parts = LoopParts(
        system=_system(agent, opened, place, definitions, deferred=waiting),
        journal=None if opened.session is None else opened.session.journal,
        history=history,
        deferred=deferred,
        thoughts=None if transcript is None else Thoughts.remembered(transcript),
        queued=_queued(opened, agent),
        choices=_choices(agent, models),
        facts=opened.executor.state.session.prompt,
        notices=partial(_notices, opened),
        background=partial(_background, opened),
        instructions_for=place.instructions.for_file,
        instructions=place.instructions.files,
        expands=expander,
        reload_skills=partial(expander.look_again, definitions),
        skills_for=definitions.news_for if opened.executor.pool.find("Skill") is not None else None,
        new_day=place.today.news,
        plan_instructions=agent.plan_instructions,
        source=opened.beginning.source,
        on_event=listener.of_loop,
    )
    listener.loop = loop = Loop(opened.executor, models[0], parts)
    agents = AgentParts(opened, place, listener.of_child, definitions)
    agents.more_words = agent.subagent_prompt or ""
    if _is_static(agent):
        loop.remind("environment", place.environment)
    _equip(loop, agents, expander)
    listener.on_run_end = opened.hooks.end_turn
    listener.news = ServerNews(opened, loop)
    return loop


def _choices(agent: AgentOptions, models: "Sequence[Model]") -> "LoopChoices":
    from holdfast.agent import LoopChoices  # noqa: PLC0415 - only agents need the loop

    return LoopChoices(
        max_turns=agent.max_turns,
        max_budget_usd=agent.max_budget_usd,
        max_output_tokens=agent.max_output_tokens,
        max_total_tokens=agent.max_total_tokens,
        thinking=agent.thinking,
        thinking_display=agent.thinking_display,
        effort=agent.effort,
        fallback_model=models[1] if len(models) > 1 else None,
        auto_compact=agent.auto_compact,
        output_tool=None if agent.output_schema is None else OUTPUT_TOOL,
    )


def _equip(loop: "Loop", parts: AgentParts, expander: Expander) -> None:
    """Give what stands on the loop what it needs of it: skills, agents, the account, and hooks that ask models."""
    hooks, opened = parts.opened.hooks, parts.opened
    parts.begin_main(loop)
    parts.shelf = offer_skills(loop, opened, parts.definitions, _offer_agents(loop, parts))
    expander.begin(loop, parts.shelf)
    opened.account.pay = loop.pay
    opened.account.lend = lambda: loop.model if loop.state.overspent is None else None
    hooks.ask_model = partial(ask_model, loop, opened)
    hooks.ask_agent = partial(ask_agent, loop, parts)
    hooks.call_server = partial(call_server, opened)


def _offer_agents(loop: "Loop", parts: AgentParts) -> Subagents | None:
    executor = parts.opened.executor
    found = executor.pool.find("Agent")
    if found is None:
        return None
    from holdfast.tools.agents.agent import Agent  # noqa: PLC0415 - loaded with the tools

    if not isinstance(found.tool, Agent):
        return None
    found.tool.spawner = spawner = Subagents(parts, Starter(executor, loop))
    return spawner


def _notices(opened: OpenSession) -> list[str]:
    offered = opened.executor.pool.find("TaskOutput") is not None
    return [notice.text for notice in opened.shell.board.take_notices(has_task_output=offered)]


def _background(opened: OpenSession) -> list[dict[str, Any]]:
    """The tasks that still work, as hooks are told of them."""
    from holdfast.tasks.states import is_terminal  # noqa: PLC0415 - loaded with the shell

    found = [task for task in opened.shell.board.all() if not is_terminal(task.status)]
    return [
        {"id": task.id, "type": task.type, "status": task.status, "description": task.description}
        | ({} if task.command is None else {"command": task.command})
        for task in found
    ]


def _system(
    agent: AgentOptions, opened: OpenSession, place: Place, definitions: Definitions, *, deferred: str
) -> "tuple[SystemBlock, ...]":
    from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - only agents need it

    executor = opened.executor
    tools = frozenset(tool.name for tool in executor.pool)
    parts = PromptParts(
        tools=tools,
        facts=executor.state.session.prompt,
        environment="" if _is_static(agent) else place.environment,
        instructions=place.instructions.files,
        withheld=place.instructions.withheld,
        definitions=definitions.section(tools),
        replacement=agent.system_prompt,
        appended="\n\n".join(filter(None, (agent.append_system_prompt, _of_servers(opened), deferred))),
    )
    return tuple(build_system_prompt(parts))


def _is_static(agent: AgentOptions) -> bool:
    """Own words stand as they are; only ours can leave the place out."""
    return agent.has_static_prompt and agent.system_prompt is None


def _of_servers(opened: OpenSession) -> str:
    """What the servers say about themselves, marked as theirs."""
    said = [] if opened.servers is None else opened.servers.said()
    if not said:
        return ""
    return words_of_servers("\n".join(text for _, text in said))


def _history(opened: OpenSession) -> "tuple[list[dict[str, Any]], list[dict[str, Any]]]":
    """What was said before, and the answer whose call a hook left for now."""
    if opened.beginning.transcript is None:
        return [], []
    from holdfast.agent.deferred import split_deferred  # noqa: PLC0415 - the same
    from holdfast.session.repair import repair  # noqa: PLC0415 - only a resumed session has one

    return split_deferred(repair(opened.beginning.transcript).messages, opened.beginning.transcript.notes)


def _queued(opened: OpenSession, agent: AgentOptions) -> "list[dict[str, Any]]":
    """What was said and not told to the model, which a run without a trace leaves where it is; a new one's opening."""
    transcript = opened.beginning.transcript
    opening = {"content": agent.opening, "is_verbatim": agent.is_opening_verbatim}
    first = [opening] if agent.opening and transcript is None else []
    left = [] if transcript is None or opened.session is None else transcript.queued
    return [*left, *first, *opened.beginning.waiting]


def _output_tools(agent: AgentOptions) -> tuple[Tool, ...]:
    if agent.output_schema is None:
        return ()
    from holdfast.tools.output.structured_output import StructuredOutput  # noqa: PLC0415 - only with a schema

    return (StructuredOutput(agent.output_schema, accept=agent.accept_output),)

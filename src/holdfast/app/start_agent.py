"""From options to a running agent: rights, session, tools, model and prompt around one loop."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.build import OpenSession, open_session
from holdfast.app.choose_model import choose_fallback, choose_model, model_settings
from holdfast.app.options import AgentOptions, Options
from holdfast.app.rights import Rights, load_rights
from holdfast.contract import Asker, Tool
from holdfast.events import ContextCompacted, Event, TaskChanged
from holdfast.permissions.matching import denies_read
from holdfast.session.names import new_session_id
from holdfast.settings import SettingsRoots

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.agent.environment import Today
    from holdfast.agent.instructions import Instructions
    from holdfast.app.telemetry import Telemetry
    from holdfast.models import Model, SystemBlock

__all__ = ["RunningAgent", "start_agent"]

OUTPUT_TOOL = "StructuredOutput"


class RunningAgent:
    """A loop and everything it stands on; `close` ends all of it."""

    def __init__(
        self,
        loop: "Loop",
        opened: OpenSession,
        *,
        models: "Sequence[Model]",
        session_id: str,
        listener: "_Listener",
    ) -> None:
        self.loop = loop
        self.opened = opened
        self.session_id = session_id
        self._models = list(models)
        self._listener = listener

    @property
    def rights(self) -> Rights:
        """The settings and rights in force."""
        return self.opened.rights

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the user's and the project's instructions does not count, and why, in words that are safe to show."""
        place = self._listener.place
        return () if place is None else place.instructions.warnings

    def notices(self) -> tuple[str, ...]:
        """Everything that does not count in this session, one line each; what an untrusted folder brings, too."""
        left_out = self.rights.left_out()
        return (*self.rights.warnings(), *((left_out,) if left_out else ()), *self.warnings)

    def change_model(self, name: str) -> None:
        """Go on with another model from the next turn."""
        model = _open(name, self.rights)
        self._models.append(model)
        self.loop.model = model

    async def close(self) -> None:
        """End every call and task, then the journal and the connections."""
        async with AsyncExitStack() as parts:  # from the last to the first, whatever one of them raises
            parts.callback(self._listener.close)
            for model in self._models:
                parts.push_async_callback(model.close)
            parts.push_async_callback(self.opened.close)
            parts.push_async_callback(self.loop.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def start_agent(
    options: Options,
    agent: AgentOptions,
    *,
    choice: SessionChoice = NEW_SESSION,
    asker: Asker | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunningAgent:
    """Put an agent together. What takes time runs side by side; nothing is asked of the model yet.

    Raises:
        UsageError: Options, settings or the model's name make no sense, or no model is chosen.
        ModelError: The model cannot be asked at all, such as without its key.
        SessionError: The session to resume cannot be.
    """
    rights = load_rights(options)
    name = _model_name(agent, rights)
    looking = asyncio.create_task(_look_around(rights, name))
    listener = _Listener(on_event)
    models: list[Model] = []
    opened: OpenSession | None = None
    try:
        await asyncio.sleep(0)  # git starts now, and answers while the client is loaded
        models += _open_models(agent, name, rights)
        options = options._replace(own_tools=(*options.own_tools, *_output_tools(agent)))
        opened = open_session(options, asker=asker, on_event=listener.of_session, choice=choice, rights=rights)
        loop = _make_loop(agent, opened, models, place=await looking, listener=listener)
    except BaseException:
        looking.cancel()
        await asyncio.wait([looking])
        for part in (opened, *models):
            if part is not None:
                await part.close()
        listener.close()
        raise
    if opened.session is not None:
        session_id = opened.session.id
    else:
        session_id = choice.session_id or new_session_id()
        opened.executor.state.session = opened.executor.state.session._replace(session_id=session_id)
    return RunningAgent(loop, opened, models=models, session_id=session_id, listener=listener)


class _Listener:
    """Hears everything: tells the caller and telemetry, and the loop what happens beside it."""

    def __init__(self, on_event: Callable[[Event], None] | None) -> None:
        self.loop: Loop | None = None
        self.place: _Place | None = None
        self._telemetry = _telemetry()
        self._tell = [told for told in (on_event, self._telemetry) if told is not None]

    def of_session(self, event: Event) -> None:
        """Take an event of the executor or of a background task; the loop hears the executor's by itself."""
        if self.loop is not None and isinstance(event, TaskChanged):
            self.loop.hear(event)
        for told in self._tell:
            told(event)

    def of_loop(self, event: Event) -> None:
        """Take an event of the loop."""
        if self.place is not None and isinstance(event, ContextCompacted):
            # The words that were told are gone from the conversation.
            self.place.instructions.tell_again()
            self.place.today.tell_again()
        for told in self._tell:
            told(event)

    def close(self) -> None:
        """Nothing follows."""
        if self._telemetry is not None:
            self._telemetry.close()


def _telemetry() -> "Telemetry | None":
    """A listener for OpenTelemetry, loaded only where the program or its environment uses it."""
    if "opentelemetry.trace" not in sys.modules and not any(name.startswith("OTEL_") for name in os.environ):
        return None
    from holdfast.app.telemetry import open_telemetry  # noqa: PLC0415 - see above

    return open_telemetry()


def _make_loop(
    agent: AgentOptions,
    opened: OpenSession,
    models: "Sequence[Model]",
    *,
    place: "_Place",
    listener: _Listener,
) -> "Loop":
    from holdfast.agent import Loop, LoopChoices  # noqa: PLC0415 - only agents need the loop
    from holdfast.agent.thoughts import Thoughts  # noqa: PLC0415 - the same

    transcript = opened.beginning.transcript
    listener.place = place
    listener.loop = loop = Loop(
        opened.executor,
        models[0],
        system=_system(agent, opened, place),
        journal=None if opened.session is None else opened.session.journal,
        history=_history(opened),
        thoughts=None if transcript is None else Thoughts.remembered(transcript),
        queued=_queued(opened),
        choices=LoopChoices(
            max_turns=agent.max_turns,
            max_budget_usd=agent.max_budget_usd,
            max_output_tokens=agent.max_output_tokens,
            thinking=agent.thinking,
            effort=agent.effort,
            fallback_model=models[1] if len(models) > 1 else None,
            auto_compact=agent.auto_compact,
            output_tool=None if agent.output_schema is None else OUTPUT_TOOL,
        ),
        facts=opened.executor.state.session.prompt,
        notices=partial(_notices, opened),
        instructions_for=place.instructions.for_file,
        instructions=place.instructions.files,
        new_day=place.today.news,
        source=opened.beginning.source,
        on_event=listener.of_loop,
    )
    return loop


def _notices(opened: OpenSession) -> list[str]:
    offered = opened.executor.pool.find("TaskOutput") is not None
    return [notice.text for notice in opened.shell.board.take_notices(has_task_output=offered)]


class _Place(NamedTuple):
    """What the prompt tells about the place."""

    environment: str
    instructions: "Instructions"
    today: "Today"


async def _look_around(rights: Rights, model: str) -> _Place:
    """Look at the place: the repository, and what the user and the project want."""
    from holdfast.agent.environment import Today, describe_environment  # noqa: PLC0415 - only agents need it
    from holdfast.agent.instructions import InstructionOptions, load_instructions  # noqa: PLC0415 - the same
    from holdfast.host.processes import Processes  # noqa: PLC0415 - the same

    settings = rights.settings
    now = _now()
    processes = Processes() if settings.trusted else None  # git runs in a trusted folder only
    try:
        looking = asyncio.create_task(
            describe_environment(
                settings.cwd,
                now=now,
                model=model,
                trusted=settings.trusted,
                processes=processes,
                additional_directories=[entry.directory for entry in settings.directories],
            )
        )
        await asyncio.sleep(0)
        instructions = load_instructions(
            settings.cwd,
            root=settings.root,
            roots=SettingsRoots.from_environment(),
            trusted=settings.trusted,
            options=InstructionOptions.from_settings(settings, may_read=_may_read(rights)),
        )
        return _Place((await looking).text, instructions, Today(now, _now))
    finally:
        if processes is not None:
            await processes.close()


def _now() -> datetime:
    return datetime.now().astimezone()


def _may_read(rights: Rights) -> Callable[[str], bool]:
    """What a deny rule for Read names is not told as an instruction either."""
    return lambda path: denies_read(path, rights.permissions, cwd=rights.settings.cwd) is None


def _system(agent: AgentOptions, opened: OpenSession, place: _Place) -> "tuple[SystemBlock, ...]":
    from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - only agents need it

    executor = opened.executor
    parts = PromptParts(
        tools=frozenset(tool.name for tool in executor.pool),
        facts=executor.state.session.prompt,
        environment=place.environment,
        instructions=place.instructions.files,
        withheld=place.instructions.withheld,
        replacement=agent.system_prompt,
        appended=agent.append_system_prompt or "",
    )
    return tuple(build_system_prompt(parts))


def _history(opened: OpenSession) -> "list[dict[str, Any]]":
    if opened.beginning.transcript is None:
        return []
    from holdfast.session.repair import repair  # noqa: PLC0415 - only a resumed session has one

    return repair(opened.beginning.transcript).messages


def _queued(opened: OpenSession) -> "list[dict[str, Any]]":
    """What was said and not told to the model; a run without a trace leaves it where it is."""
    transcript = opened.beginning.transcript
    return [] if transcript is None or opened.session is None else list(transcript.queued)


def _model_name(agent: AgentOptions, rights: Rights) -> str:
    given = agent.model
    return choose_model(given, rights.settings, os.environ) if given is None or isinstance(given, str) else given.name


def _open(given: "str | Model", rights: Rights) -> "Model":
    if not isinstance(given, str):
        return given
    from holdfast.models.open import open_model  # noqa: PLC0415 - a model of the caller's own needs none of ours

    return open_model(given, environ=os.environ, settings=model_settings(rights.settings))


def _open_models(agent: AgentOptions, name: str, rights: Rights) -> "list[Model]":
    """The model, and behind it the one to fall back on, if there is one."""
    second = agent.fallback_model
    if second is None or isinstance(second, str):
        second = choose_fallback(second, rights.settings)
    return [_open(given, rights) for given in (agent.model or name, second) if given is not None]


def _output_tools(agent: AgentOptions) -> tuple[Tool, ...]:
    if agent.output_schema is None:
        return ()
    from holdfast.tools.output.structured_output import StructuredOutput  # noqa: PLC0415 - only with a schema

    return (StructuredOutput(agent.output_schema, accept=agent.accept_output),)

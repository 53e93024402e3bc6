"""From options to a running agent: rights, session, tools, model and prompt around one loop."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.build import OpenSession, open_session
from holdfast.app.choose_model import choose_fallback, choose_model
from holdfast.app.options import AgentOptions, Options
from holdfast.app.rights import Rights, load_rights
from holdfast.contract import Asker, Tool
from holdfast.events import Event
from holdfast.session.names import new_session_id
from holdfast.settings import SettingsRoots

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.agent.instructions import Instructions
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
        surroundings: "asyncio.Task[_Surroundings]",
    ) -> None:
        self.loop = loop
        self.opened = opened
        self.session_id = session_id
        self._models = list(models)
        self._surroundings = surroundings

    @property
    def rights(self) -> Rights:
        """The settings and rights in force."""
        return self.opened.rights

    def change_model(self, name: str) -> None:
        """Go on with another model from the next turn."""
        model = _open(name, self.rights)
        self._models.append(model)
        self.loop.model = model

    async def close(self) -> None:
        """End every call and task, then the journal and the connections."""
        self._surroundings.cancel()
        await asyncio.wait([self._surroundings])
        try:
            await self.opened.close()
        finally:
            for model in self._models:
                await model.close()

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
    from holdfast.agent import Loop, LoopChoices  # noqa: PLC0415 - only agents need the loop

    rights = load_rights(options)
    name = _model_name(agent, rights)
    surroundings = asyncio.create_task(_surroundings(rights, name))
    models: list[Model] = []
    try:
        await asyncio.sleep(0)  # git starts now, and answers while the client is loaded
        models.append(_open(agent.model or name, rights))
        second = agent.fallback_model
        second = choose_fallback(second, rights.settings) if second is None or isinstance(second, str) else second
        if second is not None:
            models.append(_open(second, rights))
        choice = choice._replace(session_id=choice.session_id or (None if choice.resume else new_session_id()))
        options = options._replace(own_tools=(*options.own_tools, *_output_tools(agent)))
        opened = open_session(options, asker=asker, on_event=on_event, choice=choice, rights=rights)
    except BaseException:
        surroundings.cancel()
        for model in models:
            await model.close()
        raise
    session_id = opened.session.id if opened.session is not None else choice.session_id or new_session_id()
    loop = Loop(
        opened.executor,
        models[0],
        system=_system_source(agent, opened, surroundings),
        journal=None if opened.session is None else opened.session.journal,
        history=_history(opened),
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
        notices=lambda: [notice.text for notice in opened.shell.board.take_notices()],
    )
    return RunningAgent(loop, opened, models=models, session_id=session_id, surroundings=surroundings)


class _Surroundings(NamedTuple):
    """What the prompt tells about the place."""

    environment: str
    instructions: "Instructions"


async def _surroundings(rights: Rights, model: str) -> _Surroundings:
    """Look at the place: the repository, and what the user and the project want."""
    from holdfast.agent.environment import describe_environment  # noqa: PLC0415 - only agents need it
    from holdfast.agent.instructions import InstructionOptions, load_instructions  # noqa: PLC0415 - the same
    from holdfast.host.processes import Processes  # noqa: PLC0415 - the same

    settings = rights.settings
    processes = Processes() if settings.trusted else None  # git runs in a trusted folder only
    try:
        looking = asyncio.create_task(
            describe_environment(
                settings.cwd,
                now=datetime.now().astimezone(),
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
            options=InstructionOptions.from_settings(settings),
        )
        return _Surroundings((await looking).text, instructions)
    finally:
        if processes is not None:
            await processes.close()


def _system_source(
    agent: AgentOptions, opened: OpenSession, surroundings: "asyncio.Task[_Surroundings]"
) -> "Callable[[], Awaitable[Sequence[SystemBlock]]]":
    async def system() -> "Sequence[SystemBlock]":
        from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - with the first turn

        found = await surroundings
        executor = opened.executor
        return build_system_prompt(
            PromptParts(
                tools=frozenset(tool.name for tool in executor.pool),
                facts=executor.state.session.prompt,
                environment=found.environment,
                instructions=found.instructions.files,
                withheld=found.instructions.withheld,
                replacement=agent.system_prompt,
                appended=agent.append_system_prompt or "",
            )
        )

    return system


def _history(opened: OpenSession) -> "list[dict[str, Any]]":
    if opened.beginning.transcript is None:
        return []
    from holdfast.session.repair import repair  # noqa: PLC0415 - only a resumed session has one

    return repair(opened.beginning.transcript).messages


def _model_name(agent: AgentOptions, rights: Rights) -> str:
    given = agent.model
    return choose_model(given, rights.settings, os.environ) if given is None or isinstance(given, str) else given.name


def _open(given: "str | Model", rights: Rights) -> "Model":
    if not isinstance(given, str):
        return given
    from holdfast.models.open import open_model  # noqa: PLC0415 - a model of the caller's own needs none of ours

    return open_model(given, environ=os.environ, settings=_model_settings(rights))


def _model_settings(rights: Rights) -> "Mapping[str, Any] | None":
    found = rights.settings.get("modelOptions")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _output_tools(agent: AgentOptions) -> tuple[Tool, ...]:
    if agent.output_schema is None:
        return ()
    from holdfast.tools.output.structured_output import StructuredOutput  # noqa: PLC0415 - only with a schema

    return (StructuredOutput(agent.output_schema, accept=agent.accept_output),)

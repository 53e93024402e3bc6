"""The first request, on its way before the rest of the program is loaded.

A person waits for the first word, and the model takes longer for it than we take to load. So the order is: options,
settings and trust; the connection, which opens meanwhile; the place (git, instructions); the request, from the tool
list that was rendered when the program was built; and while the model thinks everything else: tools, permissions, the
journal, the loop. The loop then makes its own request as always. If the two are equal, it reads the answer that is
coming; if not, what was sent ahead is dropped with a warning and the loop's own request counts. So nothing of this can
change what is said, and a test holds both equal over many options.

Nothing is sent ahead where somebody else has a word in the first request: hooks, remote servers, own tools, a resumed
conversation, plan mode, an answer as data. Trust comes first as ever; a call is journaled before it acts as ever, for
no call can run before the loop does; and the guard stands before any of this.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import msgspec

from holdfast.agent.history import prompt_blocks
from holdfast.agent.prompt.build import PromptParts, build_system_prompt
from holdfast.app.begin import SessionChoice
from holdfast.app.definitions import Definitions, load_definitions
from holdfast.app.models import model_name, open_models
from holdfast.app.offered import offered
from holdfast.app.options import AgentOptions, Options
from holdfast.app.place import Place, look_around
from holdfast.app.rights import Rights, load_rights
from holdfast.contract.facts import PromptFacts
from holdfast.models.interface import Model, ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.tokens import estimate_request_tokens
from holdfast.registry.deferral import search_mode, told_by_name
from holdfast.settings import Settings, SettingsRoots
from holdfast.settings.environment import Environment
from holdfast.settings.mcp_servers import find_servers

if TYPE_CHECKING:
    from holdfast.app.words import Words
    from holdfast.models.anthropic import AnthropicModel
    from holdfast.models.openai import OpenAIModel

__all__ = ["Ahead", "AskedAhead", "ask_ahead"]

_log = logging.getLogger(__name__)
_PROVIDERS = ("anthropic:", "openai:", "ollama:")
_PLAIN_OPTIONS = frozenset(
    {"cwd", "permission_mode", "allowed_tools", "disallowed_tools", "tools", "add_dirs", "settings", "setting_sources"}
    | {"trust"}
)
_PLAIN_AGENT = frozenset(
    {"model", "fallback_model", "system_prompt", "append_system_prompt", "max_turns", "max_output_tokens", "thinking"}
    | {"effort", "auto_compact", "agents"}
)
"""Options that the light way knows; any other that is used leaves the first request to the full way."""
_TEXTS_DEPEND = ("BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "REPL_MODE", "ENABLE_LSP_TOOL")
_SERVICES = ("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY")
"""Variables that change what is offered, and which the list rendered at build time does not know."""


class Ahead(msgspec.Struct, frozen=True):
    """What was made on the way to the first request; the agent goes on with it."""

    rights: Rights
    place: Place
    models: list[Model]
    """The first of them is being asked."""
    definitions: Definitions

    async def words(self) -> "Words | None":
        """Wait for the end of the answer; what it says where it is nothing but words, and whole."""
        return await cast("AskedAhead", self.models[0]).words()

    async def close(self) -> None:
        """Nobody goes on with it."""
        for model in self.models:
            await model.close()


async def ask_ahead(options: Options, agent: AgentOptions, choice: SessionChoice, prompt: str) -> Ahead | None:
    """Send the first request; None where the full way has to make it.

    Raises:
        UsageError: Options, settings or the model's name make no sense, or no model is chosen.
        ModelError: The model cannot be asked at all, such as without its key.
    """
    if choice.resume is not None or prompt.startswith("/") or not _is_plain(options, agent):
        return None
    rights = load_rights(options)
    variables = Environment(os.environ)
    name = model_name(agent, rights)
    if _has_other_voices(rights) or any(map(variables.is_set, _TEXTS_DEPEND)) or any(map(os.environ.get, _SERVICES)):
        return None
    if search_mode(os.environ).kind == "auto":  # what waits depends on what the tools cost
        return None
    models = open_models(agent, name, rights)
    try:
        if not models[0].name.startswith(_PROVIDERS):
            await _close(models)
            return None
        cast("AnthropicModel | OpenAIModel", models[0]).expect()
        place, definitions = await _look(rights, name, agent)
        request = _request(options, agent, rights, place=place, model=models[0], prompt=prompt, definitions=definitions)
        if 2 * estimate_request_tokens(request) > models[0].context_window:  # it may have to be made shorter
            await _close(models)
            return None
    except BaseException:
        await _close(models)
        raise
    return Ahead(rights, place, [AskedAhead(models[0], request), *models[1:]], definitions)


async def _look(rights: Rights, name: str, agent: AgentOptions) -> tuple[Place, Definitions]:
    looking = asyncio.create_task(look_around(rights, name))
    try:
        await asyncio.sleep(0)  # git works while we read
        definitions = load_definitions(rights, agent.agents)
        return await looking, definitions
    finally:
        looking.cancel()
        await asyncio.wait([looking])


def _request(
    options: Options,
    agent: AgentOptions,
    rights: Rights,
    *,
    place: Place,
    model: Model,
    prompt: str,
    definitions: Definitions,
) -> ModelRequest:
    variables = Environment(os.environ)
    facts = PromptFacts(interactive=False, background=not variables.flag("DISABLE_BACKGROUND_TASKS"))
    tools = offered(
        model.wire,
        rights.permissions,
        background=facts.background,
        simple=variables.flag("SIMPLE"),
        only=options.tools,
        search=search_mode(os.environ),
    )
    parts = PromptParts(
        tools=tools.names,
        facts=facts,
        environment=place.environment,
        instructions=place.instructions.files,
        withheld=place.instructions.withheld,
        definitions=definitions.section(tools.names),
        replacement=agent.system_prompt,
        appended="\n\n".join(filter(None, (agent.append_system_prompt, told_by_name(tools.waiting)))),
    )
    return ModelRequest(
        messages=[{"role": "user", "content": prompt_blocks(prompt)}],
        system=tuple(build_system_prompt(parts)),
        tools=tools.tools,
        max_output_tokens=agent.max_output_tokens,
        thinking=agent.thinking,
        effort=agent.effort,
    )


def _is_plain(options: Options, agent: AgentOptions) -> bool:
    """Whether only such options are used as the light way knows; one that is added later is none of them."""
    pairs = ((options, Options(), _PLAIN_OPTIONS), (agent, AgentOptions(), _PLAIN_AGENT))
    given_model = agent.model is None or isinstance(agent.model, str)
    return given_model and all(
        getattr(given, name) == getattr(usual, name)
        for given, usual, known in pairs
        for name in given._fields
        if name not in known
    )


def _has_other_voices(rights: Rights) -> bool:
    """Whether the settings let somebody else have a word in the first request."""
    settings = rights.settings
    return bool(
        settings.hooks
        or settings.shell_functions
        or settings.plugins
        or settings.sandbox
        or settings.task_list != "tasks"
        or settings.get("web")
        or _has_servers(settings)
        or rights.permissions.effective_mode == "plan"
    )


def _has_servers(settings: Settings) -> bool:
    """Whether a remote server is configured anywhere, whether it may start or not."""
    roots = SettingsRoots.from_environment()
    found = find_servers(roots, cwd=settings.cwd, root=settings.root, settings=settings.get("mcpServers"))
    return bool(found.entries or found.problems)


async def _close(models: list[Model]) -> None:
    for model in models:
        await model.close()


class AskedAhead:
    """A model that is being asked already; the one who asks it the same gets that answer."""

    def __init__(self, model: Model, request: ModelRequest) -> None:
        self.name = model.name
        self.wire: Wire = model.wire
        self.context_window = model.context_window
        self._model = model
        self._answer: _Answer | None = _Answer(request, model.stream(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask, or read what is coming; closing the iterator ends the request at once."""
        answer, self._answer = self._answer, None
        if answer is not None and answer.request == request:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            return
        if answer is not None:
            _log.warning("the request that was sent ahead is not the one that is wanted, so it is sent again")
            await answer.close()
        async with aclosing(cast("AsyncGenerator[StreamEvent]", self._model.stream(request))) as events:
            async for event in events:
                yield event

    async def words(self) -> "Words | None":
        """What an answer that is nothing but words says, once it is whole; who asks for it later reads it all again."""
        return None if self._answer is None else await self._answer.words()

    async def count_tokens(self, request: ModelRequest) -> int:
        """As the model counts them."""
        return await self._model.count_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """As the model costs."""
        return self._model.cost_usd(usage)

    async def close(self) -> None:
        """End what nobody read, and give the connections back."""
        if self._answer is not None:
            await self._answer.close()
        await self._model.close()


class _Answer:
    """An answer that is read from the wire as it comes, whether somebody listens yet or not."""

    def __init__(self, request: ModelRequest, events: AsyncIterator[StreamEvent]) -> None:
        self.request = request
        self._came: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._all: list[StreamEvent] = []
        self._reading = asyncio.create_task(self._read(cast("AsyncGenerator[StreamEvent]", events)))

    async def events(self) -> AsyncGenerator[StreamEvent]:
        """What came and what comes; raises what the model raised."""
        try:
            while (event := await self._came.get()) is not None:
                yield event
            await self._reading
        finally:
            await self.close()

    async def words(self) -> "Words | None":
        """What it says, if it is nothing but words."""
        from holdfast.app.words import words_of  # noqa: PLC0415 - behind the request

        await asyncio.wait([self._reading])
        is_whole = not self._reading.cancelled() and self._reading.exception() is None
        return words_of(self._all) if is_whole else None

    async def close(self) -> None:
        """End the request."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        if not self._reading.cancelled():
            self._reading.exception()  # seen: whoever read the answer was told

    async def _read(self, events: AsyncGenerator[StreamEvent]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self._all.append(event)
                    self._came.put_nowait(event)
        finally:
            self._came.put_nowait(None)

"""Which models an agent talks to, opened: the one that is asked, and the one to fall back on."""

import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from holdfast.app.choose_model import NoModelError, choose_fallback, choose_model, model_settings
from holdfast.app.options import AgentOptions
from holdfast.app.rights import Rights
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from holdfast.models import Model, ModelRequest, StreamEvent, Usage
    from holdfast.models.interface import Wire

__all__ = ["model_name", "open_given", "open_models", "open_named"]


class AbsentModel:
    """The agent's own model, which cannot be asked: runs that name another one work, others say why they fail."""

    wire: "Wire" = "anthropic"

    def __init__(self, name: str, error: Exception, stand_in: "str | Model") -> None:
        self.name = name
        self.context_window = 200_000 if isinstance(stand_in, str) else stand_in.context_window
        self._why = str(error)

    async def stream(self, request: "ModelRequest") -> AsyncIterator["StreamEvent"]:
        """Fail as it would have failed at the start."""
        del request
        from holdfast.models.errors import ModelError  # noqa: PLC0415 - few agents get here

        raise ModelError(self._why, "auth")
        yield  # what makes this function an iterator

    async def count_tokens(self, request: "ModelRequest") -> int:
        """Estimated, as everywhere without a provider."""
        from holdfast.models.tokens import estimate_request_tokens  # noqa: PLC0415 - the same

        return estimate_request_tokens(request)

    def cost_usd(self, usage: "Usage") -> float | None:
        """Nothing was asked, so nothing is known."""
        del usage
        return None

    async def close(self) -> None:
        """There is nothing to close."""


def model_name(agent: AgentOptions, rights: Rights) -> str:
    """The name of the model that is asked.

    Raises:
        UsageError: Nothing names one.
    """
    given = agent.model
    if given is not None and not isinstance(given, str):
        return given.name
    try:
        return choose_model(given, rights.settings, os.environ)
    except NoModelError:
        if agent.stand_in is None:
            raise
        return agent.stand_in if isinstance(agent.stand_in, str) else agent.stand_in.name


def open_given(given: "str | Model", rights: Rights) -> "Model":
    """A model by its name, or the caller's own as it is."""
    if not isinstance(given, str):
        return given
    from holdfast.models.open import open_model  # noqa: PLC0415 - a model of the caller's own needs none of ours

    return open_model(given, environ=os.environ, settings=model_settings(rights.settings))


def open_named(name: str, rights: Rights, own: "Model") -> "Model":
    """A model that a model, a skill or a definition names, where this one works.

    Its name leads to no file: that would be read, and told, whatever the rules say. A session that is played from a
    file itself may name others.

    Raises:
        UsageError: It does, or the text names no model.
        ModelError: There is no key.
    """
    from holdfast.models.open import is_played  # noqa: PLC0415 - as above

    if is_played(name) and not is_played(own.name):
        raise UsageError("only the user chooses a file that speaks in a model's place")
    return open_given(name, rights)


def open_models(agent: AgentOptions, name: str, rights: Rights) -> "list[Model]":
    """The model, and behind it the one to fall back on, if there is one."""
    second = agent.fallback_model
    if second is None or isinstance(second, str):
        second = choose_fallback(second, rights.settings)
    return [_open_first(agent, name, rights), *([] if second is None else [open_given(second, rights)])]


def _open_first(agent: AgentOptions, name: str, rights: Rights) -> "Model":
    if agent.stand_in is None:
        return open_given(agent.model or name, rights)
    from holdfast.models.errors import ModelError  # noqa: PLC0415 - few runs name a model

    try:
        return open_given(agent.model or choose_model(None, rights.settings, os.environ), rights)
    except (ModelError, NoModelError) as error:
        return AbsentModel(name, error, agent.stand_in)

"""Which models an agent talks to, opened: the one that is asked, and the one to fall back on."""

import os
from typing import TYPE_CHECKING

from holdfast.app.choose_model import choose_fallback, choose_model, model_settings
from holdfast.app.options import AgentOptions
from holdfast.app.rights import Rights

if TYPE_CHECKING:
    from holdfast.models import Model

__all__ = ["model_name", "open_given", "open_models"]


def model_name(agent: AgentOptions, rights: Rights) -> str:
    """The name of the model that is asked.

    Raises:
        UsageError: Nothing names one.
    """
    given = agent.model
    return choose_model(given, rights.settings, os.environ) if given is None or isinstance(given, str) else given.name


def open_given(given: "str | Model", rights: Rights) -> "Model":
    """A model by its name, or the caller's own as it is."""
    if not isinstance(given, str):
        return given
    from holdfast.models.open import open_model  # noqa: PLC0415 - a model of the caller's own needs none of ours

    return open_model(given, environ=os.environ, settings=model_settings(rights.settings))


def open_models(agent: AgentOptions, name: str, rights: Rights) -> "list[Model]":
    """The model, and behind it the one to fall back on, if there is one."""
    second = agent.fallback_model
    if second is None or isinstance(second, str):
        second = choose_fallback(second, rights.settings)
    return [open_given(given, rights) for given in (agent.model or name, second) if given is not None]

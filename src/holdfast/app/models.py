"""Which models an agent talks to, opened: the one that is asked, and the one to fall back on."""

import os
from typing import TYPE_CHECKING

from holdfast.app.choose_model import choose_fallback, choose_model, model_settings
from holdfast.app.options import AgentOptions
from holdfast.app.rights import Rights
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from holdfast.models import Model

__all__ = ["model_name", "open_given", "open_models", "open_named"]


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
    return [open_given(given, rights) for given in (agent.model or name, second) if given is not None]

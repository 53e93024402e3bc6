"""Which model a session talks to: what was given, else the environment, the settings, or whose key is set."""

from collections.abc import Mapping
from typing import Any, cast

from holdfast.contract.errors import UsageError
from holdfast.settings import Settings

__all__ = ["NoModelError", "choose_fallback", "choose_model", "key_source", "model_settings"]

_BY_KEY = (
    ("ANTHROPIC_API_KEY", "anthropic:sonnet"),
    ("ANTHROPIC_AUTH_TOKEN", "anthropic:sonnet"),
    ("OPENAI_API_KEY", "openai:gpt-6-sol"),
    ("GEMINI_API_KEY", "gemini:gemini-2.5-pro"),
)
_NONE = (
    "no model is chosen. Name one with --model provider:name or HOLDFAST_MODEL, for example "
    "--model anthropic:sonnet with ANTHROPIC_API_KEY set, or --model ollama:qwen3 for a model on this "
    "machine. Without a key, `holdfast demo` shows the work and --model scripted:FILE plays a script"
)


class NoModelError(UsageError):
    """Nothing names a model; a face that has a person before it may ask."""


def choose_model(given: str | None, settings: Settings, environ: Mapping[str, str]) -> str:
    """The model's name.

    Raises:
        NoModelError: Nothing names one; the text says how to.
    """
    configured = settings.get("model")
    for name in (given, environ.get("HOLDFAST_MODEL"), configured if isinstance(configured, str) else None):
        if name and name.strip():
            return name.strip()
    for variable, name in _BY_KEY:
        if environ.get(variable, "").strip():
            return name
    raise NoModelError(_NONE)


def choose_fallback(given: str | None, settings: Settings) -> str | None:
    """The model to go on with when the first is overloaded; the settings may name one, or several."""
    if given:
        return given
    configured = settings.get("fallbackModel")
    if isinstance(configured, str):
        return configured or None
    if isinstance(configured, tuple | list) and configured and isinstance(configured[0], str):
        return configured[0]
    return None


def model_settings(settings: Settings) -> Mapping[str, Any] | None:
    """Addresses, headers and limits of models (`modelOptions`)."""
    found = settings.get("modelOptions")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def key_source(model: str, environ: Mapping[str, str]) -> str:
    """Which variable a model's key comes from, for programs that show it; `none` where there is none."""
    from holdfast.models.open import KEYS, provider_of  # noqa: PLC0415 - an agent loads it only when it asks a model

    variables = KEYS.get(provider_of(model), ())
    return next((variable for variable in variables if environ.get(variable, "").strip()), "none")

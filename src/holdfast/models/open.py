"""From what the user writes to a model: `provider:name`, a bare name, a short name, or a file."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from holdfast.contract.errors import UsageError
from holdfast.models.interface import Model
from holdfast.models.options import ModelOptions, as_options

__all__ = ["ALIASES", "KEYS", "is_played", "open_model", "provider_of"]

ALIASES: dict[str, str] = {
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
}
"""Short names for the current models, as of 2026-11-15. A variable such as ANTHROPIC_DEFAULT_OPUS_MODEL overrides."""
_CLIENTS = {
    "anthropic": "anthropic:AnthropicModel",
    "openai": "openai:OpenAIModel",
    "openai-responses": "openai_responses:OpenAIResponsesModel",
    "gemini": "gemini:GeminiModel",
    "bedrock": "bedrock:BedrockModel",
    "ollama": "openai:OpenAIModel",
}
KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
    "ollama": (),
}
"""Every provider, and the variables its key may stand in, the usual one first."""
_FROM_FILE = {"scripted": "scripted:ScriptedModel", "replay": "replay:ReplayModel"}
_OPENAI_NAME = re.compile(r"gpt-|chatgpt-|codex-|o\d")
_FORMS = (
    "anthropic:NAME, openai:NAME, openai-responses:NAME, gemini:NAME, bedrock:NAME, ollama:NAME, scripted:FILE, "
    "replay:FILE, a name such as claude-…, gpt-… or gemini-…, or one of " + ", ".join(ALIASES)
)


def open_model(
    spec: str, *, environ: Mapping[str, str], settings: ModelOptions | Mapping[str, Any] | None = None
) -> Model:
    """The model that a text names. Nothing is connected yet.

    Args:
        spec: `anthropic:NAME`, `openai:NAME`, `openai-responses:NAME`, `gemini:NAME`, `bedrock:NAME`, `ollama:NAME`,
            `scripted:FILE`, `replay:FILE`, or a bare name.
        environ: Where keys, addresses and proxies come from.
        settings: What to choose about the connection; a mapping has the names of `ModelOptions` in camelCase, and may
            have them again under a provider (`openai`) or a model (`openai:gpt-6-sol`), for that one only.

    Raises:
        UsageError: The text names no model, or the settings are wrong.
        ModelError: There is no key (`auth`).
    """
    provider, name = _split(spec.strip())
    if client := _CLIENTS.get(provider):
        full_name = _full_name(provider, name, environ)

        def rank(key: str) -> int | None:
            if key in _CLIENTS:
                return int(key == provider)
            meant, meant_name = _split(key)
            if meant not in _CLIENTS:
                return 0 if meant in _FROM_FILE else None
            return 2 * int((meant, _full_name(meant, meant_name, environ)) == (provider, full_name))

        options = as_options(settings, rank=rank)
        made: Model = _load(client)(full_name, environ=environ, options=options, provider=provider)
        return made
    if keyless := _FROM_FILE.get(provider):
        read: Model = _load(keyless).from_file(name)
        return read
    raise UsageError(f"There is no model {spec!r}. Write {_FORMS}.")


def _load(place: str) -> Any:
    """The class behind `module:Class`; what is not used is not loaded."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"holdfast.models.{module}"), name)


def provider_of(spec: str) -> str:
    """Who answers for a model that a text names, `anthropic` for `sonnet`; empty where no provider is known to us."""
    provider = _split(spec.strip())[0]
    return provider if provider in _CLIENTS or provider in _FROM_FILE else ""


def is_played(spec: str) -> bool:
    """Whether a text names no model but a file that speaks in the place of one."""
    return _split(spec.strip())[0] in _FROM_FILE


def _split(spec: str) -> tuple[str, str]:
    """The provider and the name. A name may have colons of its own, as `ollama:qwen3:4b` has."""
    provider, colon, name = spec.partition(":")
    if colon and name.strip():
        return provider.strip().lower(), name.strip()
    if spec in ALIASES or spec.startswith("claude-"):
        return "anthropic", spec
    if _OPENAI_NAME.match(spec):
        return "openai", spec
    if spec.startswith("gemini-"):
        return "gemini", spec
    return "", spec


def _full_name(provider: str, name: str, environ: Mapping[str, str]) -> str:
    if provider != "anthropic" or name not in ALIASES:
        return name
    return environ.get(f"ANTHROPIC_DEFAULT_{name.upper()}_MODEL") or ALIASES[name]

"""What can be chosen about the connection to a provider. Every choice has a default."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from holdfast.contract.errors import UsageError

__all__ = ["ModelOptions", "PriceOptions", "as_options"]


class PriceOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Dollars for a million tokens. What is left out of the cache costs as input does."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How to reach a provider. What is left out comes from the environment, then from the provider's defaults."""

    base_url: str | None = None
    api_key: str | None = None
    auth: Literal["auto", "key", "bearer"] = "auto"
    """`key`: the provider's own header; `bearer`: `Authorization: Bearer …`, as some gateways want."""
    api_version: str | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Sent with every request; they win over ours. An empty value leaves our header out."""
    connect_timeout_s: float = 15.0
    first_byte_timeout_s: float = 600.0
    """Until the first event: a large local model may read a long prompt for minutes."""
    silence_timeout_s: float = 180.0
    """Between two events of a stream that has begun, whatever they are."""
    idle_timeout_s: float = 600.0
    """Waited for more of the answer itself; pings, comments and blank lines are ignored."""
    max_event_bytes: int = 16 * 1024 * 1024
    max_answer_bytes: int = 32 * 1024 * 1024
    """Of an answer that comes as a whole."""
    max_stream_bytes: int = 64 * 1024 * 1024
    """Of a streamed answer, most of which is packing: a server that never ends is left."""
    max_output_tokens: int | None = None
    """Asked for when a request does not say."""
    context_window: int | None = None
    price: PriceOptions | None = None
    """Your own instead of the list's, for costs and budgets."""
    text_calls: bool | None = None
    """Take calls that the model writes as text; None: only from servers that are not the provider's own."""
    cache_prompts: bool = True
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Put into every request body as it is."""


_NAMES: dict[str, str] = dict(zip(ModelOptions.__struct_fields__, ModelOptions.__struct_encode_fields__, strict=True))
"""Each option in Python, and as settings spell it."""
_JOINED = ("headers", "extra")
_FORMS = "a provider (anthropic, openai, openai-responses, gemini, bedrock, ollama) or a model (anthropic:NAME, …)"


def as_options(
    settings: "ModelOptions | Mapping[str, Any] | None", *, rank: Callable[[str], int | None] | None = None
) -> ModelOptions:
    """The options from what a caller or a settings file gives (there in camelCase).

    Args:
        settings: The options, for all models. An object under the name of a provider or a model holds for that one, and
            wins; `headers` and `extra` are joined.
        rank: Says of such a name how closely it means the model that is opened: 0 for another model, None for no model.

    Raises:
        UsageError: A key is neither, or a value does not fit.
    """
    if settings is None:
        return ModelOptions()
    if isinstance(settings, ModelOptions):
        return settings
    given: dict[str, Any] = _thawed(settings)
    sections: list[tuple[int, dict[str, Any]]] = [(0, {})]
    for key in [key for key in given if key not in _NAMES.values()]:
        closeness = rank(key) if rank is not None else None
        section = given.pop(key)
        if closeness is None or not isinstance(section, dict):
            raise _unknown(key, f"; what is under it is {type(section).__name__}" if closeness is not None else "")
        checked = _checked(cast("dict[str, Any]", section), f" for {key!r}")
        if closeness:
            sections.append((closeness, checked))
    merged = _checked(given, "")
    for _, section in sorted(sections, key=lambda item: item[0]):
        joined = {name: {**merged.get(name, {}), **section[name]} for name in _JOINED if name in section}
        merged = {**merged, **section, **joined}
    return msgspec.convert(merged, ModelOptions)


def _checked(options: dict[str, Any], whose: str) -> dict[str, Any]:
    for key in options:
        if key not in _NAMES.values():
            raise _unknown(key, whose)
    try:
        msgspec.convert(options, ModelOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"The options of the model do not fit{whose}: {error}.") from error
    return options


def _unknown(key: str, where: str) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake

    near = [_NAMES[key]] if key in _NAMES else get_close_matches(key, _NAMES.values(), n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(_NAMES.values())}, and {_FORMS} above them."
    return UsageError(f"The options of the model have the key {key!r}{where}, which means nothing. {hint}")


def _thawed(value: Any) -> Any:
    """Settings are read-only views and tuples; a request body takes plain objects and lists."""
    if isinstance(value, Mapping):
        return {str(key): _thawed(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_thawed(item) for item in cast("Sequence[Any]", value)]
    return value

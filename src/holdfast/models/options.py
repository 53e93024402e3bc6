"""What can be chosen about the connection to a provider. Every choice has a default."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from holdfast.contract.errors import UsageError

__all__ = ["ModelOptions", "as_options"]


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
    """Waited for more of the answer itself; pings, comments and blanks do not count."""
    max_event_bytes: int = 16 * 1024 * 1024
    max_answer_bytes: int = 64 * 1024 * 1024
    """Of an answer that comes as a whole."""
    max_stream_bytes: int = 256 * 1024 * 1024
    """Of a streamed answer, most of which is packing: a server that never ends is left."""
    max_output_tokens: int | None = None
    """Asked for when a request does not say."""
    context_window: int | None = None
    text_calls: bool | None = None
    """Take calls that the model writes as text; None: only from servers that are not the provider's own."""
    cache_prompts: bool = True
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Put into every request body as it is."""


def as_options(settings: "ModelOptions | Mapping[str, Any] | None") -> ModelOptions:
    """The options from what a caller or a settings file gives (there in camelCase)."""
    if settings is None:
        return ModelOptions()
    if isinstance(settings, ModelOptions):
        return settings
    try:
        return msgspec.convert(dict(settings), ModelOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"The options of the model do not fit: {error}.") from error

"""chat.completions: OpenAI, and every server that speaks like it (Ollama, vLLM, llama.cpp, gateways)."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from urllib.parse import urlsplit

import msgspec

from holdfast.models.anthropic_stream import ErrorEvent
from holdfast.models.call_ids import CallIds
from holdfast.models.catalog import price_for, window_of
from holdfast.models.errors import ModelError
from holdfast.models.http import Channel, Exchange, header_lines
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.openai_body import Dialect, chat_body
from holdfast.models.openai_stream import ChatReader
from holdfast.models.options import ModelOptions
from holdfast.models.prices import usage_cost_usd
from holdfast.models.sse import ServerEvent
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["OTHER_WINDOW", "OpenAIModel", "is_openai_address", "openai_base_url", "openai_headers"]

_BASE_URL = "https://api.openai.com/v1"
_OLLAMA_PORT = 11434
_AFTER_FINISH_S = 5.0
"""How long the usage may take to follow the answer's end."""
OTHER_WINDOW = 128_000
_OLLAMA_WINDOW = 32_768
"""Ollama cuts a longer conversation without a word: better compact early."""
_NEW_NAMES = ("o1", "o3", "o4", "gpt-5", "gpt-6")


class _Named(msgspec.Struct):
    name: str = ""


class _ToolEntry(msgspec.Struct):
    function: _Named = msgspec.field(default_factory=_Named)


class OpenAIModel:
    """A model behind chat.completions. Made by `open_model("openai:NAME", …)` or `open_model("ollama:NAME", …)`."""

    wire: Wire = "openai"

    def __init__(
        self, model: str, *, environ: Mapping[str, str], options: ModelOptions | None = None, provider: str = "openai"
    ) -> None:
        """Take the key and the address from the options, else from the environment.

        Raises:
            ModelError: There is no key, and OpenAI itself is asked.
        """
        self.name = f"{provider}:{model}"
        self._model = model
        self._options = options = options or ModelOptions()
        base_url = (options.base_url or openai_base_url(provider, environ)).rstrip("/")
        is_openai = is_openai_address(base_url)
        other = _OLLAMA_WINDOW if provider == "ollama" else OTHER_WINDOW
        self.context_window = options.context_window or window_of(model) or other
        headers = openai_headers(provider, environ, options, is_openai=is_openai)
        self._channel = Channel(base_url, headers=headers, options=options, environ=environ)
        self._dialect = Dialect(
            is_openai=is_openai,
            names_completion_tokens=is_openai or model.rpartition("/")[2].startswith(_NEW_NAMES),
            wants_reasoning=any(name in base_url for name in ("deepseek", "moonshot", "kimi")),
        )
        self._takes_text_calls = not is_openai if options.text_calls is None else options.text_calls
        self._names: tuple[bytes, frozenset[str]] = (b"[]", frozenset())
        self.price = price_for(model, options, is_listed=is_openai)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        dialect = self._dialect
        while True:
            has_begun = False
            try:
                async with aclosing(self._ask(request, dialect)) as events:
                    async for event in events:
                        has_begun = True
                        yield event
            except ModelError as error:
                other = None if has_begun else _other_dialect(dialect, error)
                if other is None:
                    raise
                # Not a second try of the same: this server wants a field by its other name, or not at all.
                self._dialect = dialect = other
            else:
                return

    def expect(self) -> None:
        """A request follows soon: the connection may open meanwhile."""
        self._channel.expect()

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate: this wire cannot count."""
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs at list prices, or None where they are not known."""
        return usage_cost_usd(self.price, usage)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channel.close()

    async def _ask(self, request: ModelRequest, dialect: Dialect) -> AsyncGenerator[StreamEvent]:
        options = self._options
        body = chat_body(request, self._model, dialect, max_tokens=options.max_output_tokens, extra=options.extra)
        names = self._tool_names(request.tools) if self._takes_text_calls else frozenset[str]()
        reader = ChatReader(CallIds(request.messages), text_calls=names)
        async with self._channel.post("/chat/completions", body, is_streaming=request.is_streaming) as exchange:
            if not request.is_streaming or exchange.is_whole:
                for event in _fed(reader, await exchange.read_all(), exchange):
                    yield event
                for event in reader.finish(_estimated(request, reader)):
                    yield event
                return
            try:
                while not reader.has_ended:
                    for event in _events_in(await _read(exchange, reader), exchange, reader, request):
                        yield event
            finally:
                if reader.has_ended:
                    await exchange.drain()

    def _tool_names(self, tools: bytes) -> frozenset[str]:
        if self._names[0] != tools:
            entries = msgspec.json.decode(tools, type=list[_ToolEntry])
            self._names = (tools, frozenset(entry.function.name for entry in entries))
        return self._names[1]


async def _read(exchange: Exchange, reader: ChatReader) -> list[ServerEvent] | None:
    try:
        return await exchange.read()
    except ModelError:
        if reader.finish_reason is None:
            raise
        return None  # the answer is complete; only the usage is missing


def _events_in(
    batch: list[ServerEvent] | None, exchange: Exchange, reader: ChatReader, request: ModelRequest
) -> Iterator[StreamEvent]:
    """The events of a batch, one by one: what came before an error is told before it."""
    if batch is None:
        if reader.finish_reason is None:
            raise exchange.broken("the connection was closed before its end")
        yield from reader.finish(_estimated(request, reader))
        return
    for item in batch:
        if item.data.strip() == b"[DONE]":
            yield from reader.finish(_estimated(request, reader))
            return
        yield from _fed(reader, item.data, exchange)
    if reader.finish_reason is not None:
        exchange.wait_at_most(_AFTER_FINISH_S)


def _fed(reader: ChatReader, data: bytes, exchange: Exchange) -> list[StreamEvent]:
    written_chars = reader.written_chars
    try:
        events = reader.feed(data)
    except ErrorEvent as error:
        raise exchange.error_in(data) from error
    except ValueError as error:
        raise exchange.senseless(data, f"a chunk makes no sense ({error})") from error
    if events or reader.written_chars > written_chars:  # text that may be a call is held back at first
        exchange.went_on()
    return events


def _estimated(request: ModelRequest, reader: ChatReader) -> Usage:
    """The usage where the server does not tell it: a guess is better than none, the window fills all the same."""
    if reader.usage is not None:
        return reader.usage
    return Usage(estimate_request_tokens(request), reader.written_chars // 4)


def _other_dialect(dialect: Dialect, error: ModelError) -> Dialect | None:
    """How to ask instead, when the server refuses a field that it knows by another name or not at all."""
    text = str(error)
    if error.kind != "invalid_request":
        return None
    if "stream_options" in text and dialect.takes_stream_options:
        return dialect._replace(takes_stream_options=False)
    if "max_completion_tokens" in text and "max_tokens" in text and not dialect.names_completion_tokens:
        return dialect._replace(names_completion_tokens=True)
    if "max_completion_tokens" in text and dialect.names_completion_tokens and not dialect.is_openai:
        return dialect._replace(names_completion_tokens=False)
    return None


def openai_base_url(provider: str, environ: Mapping[str, str]) -> str:
    """Where the server is, as the environment says."""
    if provider == "ollama":
        return _ollama_url(environ.get("OLLAMA_HOST", "").strip())
    return environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_BASE") or _BASE_URL


def is_openai_address(base_url: str) -> bool:
    """OpenAI itself, or Azure's copy of it."""
    return (urlsplit(base_url).hostname or "").endswith(("api.openai.com", ".openai.azure.com"))


def _ollama_url(host: str) -> str:
    """`OLLAMA_HOST` in all the forms that Ollama takes: a name, a port, both, or an address."""
    scheme, mark, rest = host.partition("://")
    if not mark:
        scheme, rest = "http", host
    place, slash, path = rest.partition("/")
    parts = urlsplit(f"//{place}")
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in {"0.0.0.0", "::"} else f"[{name}]" if ":" in name else name  # noqa: S104 - a client
    port = parts.port or {"https": 443}.get(scheme, 80 if mark else _OLLAMA_PORT)
    return f"{scheme}://{name}:{port}{slash}{path}".rstrip("/").removesuffix("/v1") + "/v1"


def openai_headers(
    provider: str, environ: Mapping[str, str], options: ModelOptions, *, is_openai: bool
) -> dict[str, str]:
    """Who we are. Raises `ModelError` where OpenAI itself is asked without a key."""
    variable = "OLLAMA_API_KEY" if provider == "ollama" else "OPENAI_API_KEY"
    key = options.api_key or environ.get(variable, "").strip()
    # A gateway's headers may hold secrets, which are not for another server.
    lines = "" if provider == "ollama" else environ.get("OPENAI_CUSTOM_HEADERS", "")
    headers = {name.lower(): value for name, value in header_lines(lines).items()}
    if key:
        headers.setdefault("authorization", f"Bearer {key}")
    for name, value in (("openai-organization", "OPENAI_ORG_ID"), ("openai-project", "OPENAI_PROJECT_ID")):
        if is_openai and (given := environ.get(value)):
            headers.setdefault(name, given)
    named = {name.lower() for name in (*headers, *options.headers)}
    if is_openai and not {"authorization", "api-key"} & named:
        raise ModelError(f"There is no key for OpenAI. Set {variable}.", "auth")
    return headers

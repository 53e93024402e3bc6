"""Claude by the Messages API, at Anthropic or at any gateway that speaks it."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping

import msgspec

from holdfast.models.anthropic_body import BodyChoices, request_body, tools_with_breakpoint
from holdfast.models.anthropic_stream import AnthropicReader, ErrorEvent, events_of_message
from holdfast.models.call_ids import CallIds
from holdfast.models.catalog import price_for, window_of
from holdfast.models.claude import is_first_party, traits_of, window_with
from holdfast.models.errors import ModelError
from holdfast.models.http import Channel, Exchange, header_lines
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.options import ModelOptions
from holdfast.models.prices import usage_cost_usd
from holdfast.models.sse import ServerEvent
from holdfast.models.strict import without_strict
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["AnthropicModel"]

_LEAST_WITH_RESULT = 3
"""Before so many messages no call can have been answered."""
_REFERENCES = re.compile(r"tool_reference|defer_loading", re.IGNORECASE)
_BASE_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
"""The version that Anthropic and every gateway take; newer ones only change defaults that we do not use."""


class _Counted(msgspec.Struct):
    input_tokens: int


class AnthropicModel:
    """A Claude model. Made by `open_model("anthropic:NAME", …)`."""

    wire: Wire = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        environ: Mapping[str, str],
        options: ModelOptions | None = None,
        provider: str = "anthropic",
    ) -> None:
        """Take the key and the address from the options, else from the environment.

        Raises:
            ModelError: There is no key.
        """
        self.name = f"{provider}:{model}"
        options = options or ModelOptions()
        traits = traits_of(model)
        base_url = options.base_url or environ.get("ANTHROPIC_BASE_URL") or _BASE_URL
        headers = _headers(base_url, environ, options)
        asked = {**headers, **{name.lower(): value for name, value in options.headers.items()}}
        wide = window_with(model, traits, asked.get("anthropic-beta", ""))
        self.context_window = options.context_window or window_of(model) or wide
        # Gateways and other clouds speak the same words, and refuse some of the newer ones.
        self._takes_strict = traits.takes_strict_tools and is_first_party(base_url)
        self._takes_references = traits.takes_references and is_first_party(base_url)
        # A gateway's address may or may not end in the version.
        self._channel = Channel(
            base_url.rstrip("/").removesuffix("/v1"), headers=headers, options=options, environ=environ
        )
        self._choices = BodyChoices(
            model,
            traits,
            options.max_output_tokens or traits.default_output,
            cache_prompts=options.cache_prompts,
            extra=options.extra,
        )
        self.price = price_for(model, options)
        self._tools: tuple[bytes, bytes] = (b"[]", b"[]")
        self._can_count = True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        ids = CallIds(request.messages)
        while True:
            try:
                async with self._channel.post(
                    "/v1/messages", self._body(request), is_streaming=request.is_streaming
                ) as exchange:
                    if not request.is_streaming or exchange.is_whole:
                        for event in await _whole(exchange, ids):
                            yield event
                        return
                    reader = AnthropicReader(ids)
                    try:
                        while not reader.has_ended:
                            for event in _events_in(await exchange.read(), exchange, reader):
                                yield event
                    finally:
                        if reader.has_ended:
                            await exchange.drain()
                    return
            except ModelError as error:
                if not self._refuses_references(error):
                    raise

    def _refuses_references(self, error: ModelError) -> bool:
        """The address does not know references to tools after all: from now on it is told the whole tools."""
        refuses = self._takes_references and error.kind == "invalid_request" and bool(_REFERENCES.search(str(error)))
        self._takes_references = self._takes_references and not refuses
        return refuses

    def expect(self) -> None:
        """A request follows soon: the connection may open meanwhile."""
        self._channel.expect()

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request has: counted by the provider where it can, else estimated."""
        if self._can_count:
            body = self._body(request, for_counting=True)
            try:
                async with self._channel.post("/v1/messages/count_tokens", body, is_streaming=False) as exchange:
                    return msgspec.json.decode(await exchange.read_all(), type=_Counted).input_tokens
            except ModelError as error:
                # A gateway that cannot count is not asked again.
                self._can_count = error.is_retryable
            except msgspec.DecodeError:
                self._can_count = False
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs at list prices, or None where they are not known."""
        return usage_cost_usd(self.price, usage)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channel.close()

    def _body(self, request: ModelRequest, *, for_counting: bool = False) -> bytes:
        tools = request.tools if self._takes_strict else without_strict(request.tools)
        if not self._takes_references or len(request.messages) < _LEAST_WITH_RESULT:
            return request_body(request, self._choices, tools=self._tools_of(tools), for_counting=for_counting)
        from holdfast.models.references import referenced  # noqa: PLC0415 - a first request has none

        found = referenced(request.messages, tools)
        told = self._tools_of(found.in_list(tools))
        return request_body(request, self._choices, tools=told, messages=found.messages, for_counting=for_counting)

    def _tools_of(self, tools: bytes) -> bytes:
        """The tool list to send: looked through once, for it is the same bytes in every turn."""
        if not self._choices.cache_prompts:
            return tools
        if self._tools[0] != tools:
            self._tools = (tools, tools_with_breakpoint(tools))
        return self._tools[1]


async def _whole(exchange: Exchange, ids: CallIds) -> list[StreamEvent]:
    body = await exchange.read_all()
    try:
        return events_of_message(body, ids)
    except ValueError as error:
        if b'"error"' in body[:200]:
            raise exchange.error_in(body) from error
        raise exchange.senseless(body, f"it is not a message ({error})") from error


def _events_in(batch: list[ServerEvent] | None, exchange: Exchange, reader: AnthropicReader) -> Iterator[StreamEvent]:
    """The events of a batch, one by one: what came before an error is told before it."""
    if batch is None:
        if reader.stop_reason is None:
            raise exchange.broken("the connection was closed before its end")
        yield from reader.finish()  # a server that leaves out the last event
        return
    for item in batch:
        try:
            events = reader.feed(item.data)
        except ErrorEvent as error:
            raise exchange.error_in(item.data) from error
        except ValueError as error:
            raise exchange.senseless(item.data, f"an event makes no sense ({error})") from error
        if events:
            exchange.went_on()
        yield from events
        if reader.has_ended:
            return


def _headers(base_url: str, environ: Mapping[str, str], options: ModelOptions) -> dict[str, str]:
    """Who we are, in the form that the provider or gateway wants."""
    headers = {"anthropic-version": options.api_version or environ.get("ANTHROPIC_VERSION") or _VERSION}
    token = environ.get("ANTHROPIC_AUTH_TOKEN", "").strip() if not options.api_key else ""
    key = options.api_key or environ.get("ANTHROPIC_API_KEY", "").strip()
    own = header_lines(environ.get("ANTHROPIC_CUSTOM_HEADERS", ""))
    if token and options.auth != "key":
        headers["authorization"] = f"Bearer {token}"
    elif key or token:
        given = key or token
        headers |= {"authorization": f"Bearer {given}"} if options.auth == "bearer" else {"x-api-key": given}
    headers |= {name.lower(): value for name, value in own.items()}
    if betas := environ.get("ANTHROPIC_BETAS", "").strip():
        headers.setdefault("anthropic-beta", betas)
    given_names = {name.lower() for name in (*headers, *options.headers)}
    if base_url.rstrip("/") == _BASE_URL and not {"authorization", "x-api-key"} & given_names:
        raise ModelError(
            "There is no key for Anthropic. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a bearer token).", "auth"
        )
    return headers

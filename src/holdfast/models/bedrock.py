"""Claude at Amazon Bedrock: the words of the Messages API, signed, in Amazon's binary stream."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import quote

import msgspec

from holdfast.models.anthropic_body import BodyChoices, request_body
from holdfast.models.anthropic_stream import AnthropicReader, events_of_message
from holdfast.models.aws_events import AwsEventSplitter
from holdfast.models.aws_sign import aws_keys, signed_headers
from holdfast.models.call_ids import CallIds
from holdfast.models.catalog import price_for
from holdfast.models.claude import traits_of
from holdfast.models.errors import ModelError
from holdfast.models.http import Channel
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.options import ModelOptions
from holdfast.models.prices import usage_cost_usd
from holdfast.models.reading import read_answer
from holdfast.models.strict import without_strict
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["BedrockModel"]

_VERSION = "bedrock-2023-05-31"
_OPTIONAL = ("model", "stream")
"""What the address says here, and the body must not."""


class _Reader(AnthropicReader):
    """The events of the Messages API; a whole answer is one message."""

    def __init__(self, ids: CallIds, *, is_whole: bool) -> None:
        super().__init__(ids)
        self._given_ids = ids
        self._is_whole = is_whole

    @property
    def may_end(self) -> bool:
        """A reason to stop has come."""
        return self.stop_reason is not None

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in one event's data, or in a whole message."""
        if not self._is_whole:
            return super().feed(data)
        self.has_ended = True
        return events_of_message(data, self._given_ids)


class BedrockModel:
    """A Claude model at Bedrock, or a profile of one. Made by `open_model("bedrock:anthropic.claude-…", …)`."""

    wire: Wire = "anthropic"

    def __init__(
        self, model: str, *, environ: Mapping[str, str], options: ModelOptions | None = None, provider: str = "bedrock"
    ) -> None:
        """Take region and address from the options, else from the environment; who we are is asked for each request.

        Raises:
            ModelError: There is no region.
        """
        self.name = f"{provider}:{model}"
        self._model = model
        self._environ = environ
        self._options = options = options or ModelOptions()
        self._region = environ.get("AWS_REGION", "").strip() or environ.get("AWS_DEFAULT_REGION", "").strip()
        if not self._region:
            raise ModelError("There is no region for Amazon Bedrock. Set AWS_REGION, such as us-east-1.", "auth")
        traits = traits_of(model)
        self.context_window = options.context_window or traits.context_window
        own = f"https://bedrock-runtime.{self._region}.amazonaws.com"
        base_url = (options.base_url or environ.get("ANTHROPIC_BEDROCK_BASE_URL") or own).rstrip("/")
        self._bearer = options.api_key or environ.get("AWS_BEARER_TOKEN_BEDROCK", "").strip()
        headers = {"authorization": f"Bearer {self._bearer}"} if self._bearer else {}
        self._channel = Channel(base_url, headers=headers, options=options, environ=environ)
        output = options.max_output_tokens or traits.default_output
        extra = {"anthropic_version": _VERSION, **options.extra}
        self._choices = BodyChoices(model, traits, output, cache_prompts=options.cache_prompts, extra=extra)
        self.price = price_for(_plain_name(model), options)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        body = self._body(request)
        way = "invoke-with-response-stream" if request.is_streaming else "invoke"
        path = f"/model/{quote(self._model, safe='')}/{way}"
        headers = await self._signed(path, body, accept="application/vnd.amazon.eventstream")
        splitter = AwsEventSplitter(max_event_bytes=self._options.max_event_bytes)
        async with self._channel.post(
            path, body, is_streaming=request.is_streaming, headers=headers, splitter=splitter
        ) as exchange:
            is_whole = not request.is_streaming or exchange.is_whole
            reader = _Reader(CallIds(request.messages), is_whole=is_whole)
            async with aclosing(read_answer(exchange, reader, is_whole=is_whole)) as events:
                async for event in events:
                    yield event

    def expect(self) -> None:
        """A request follows soon: the connection may open meanwhile."""
        self._channel.expect()

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate."""
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs at the maker's list prices, or None where they are not known."""
        return usage_cost_usd(self.price, usage)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channel.close()

    def _body(self, request: ModelRequest) -> bytes:
        """The body of the Messages API without what the address says."""
        whole: dict[str, msgspec.Raw] = msgspec.json.decode(
            request_body(request, self._choices, tools=without_strict(request.tools)), type=dict[str, msgspec.Raw]
        )
        return msgspec.json.encode({name: value for name, value in whole.items() if name not in _OPTIONAL})

    async def _signed(self, path: str, body: bytes, *, accept: str) -> dict[str, str]:
        if self._bearer:
            return {"accept": accept}
        keys = await asyncio.to_thread(aws_keys, self._environ)  # roles and sign-ons may ask the network
        return {"accept": accept, **signed_headers(self._channel.base_url + path, body, keys, self._region)}


def _plain_name(model: str) -> str:
    """`us.anthropic.claude-sonnet-4-5-20250929-v1:0` without region, maker and version of the deployment."""
    name = model.rpartition("/")[2]
    start = name.find("claude-")
    return name[start:].partition("-v")[0] if start >= 0 else name

"""The Responses API: OpenAI's models with their thinking kept from turn to turn, and servers that speak it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from holdfast.models.call_ids import CallIds
from holdfast.models.catalog import price_for, window_of
from holdfast.models.http import Channel
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.openai import OTHER_WINDOW, is_openai_address, openai_base_url, openai_headers
from holdfast.models.openai_responses_body import responses_body
from holdfast.models.openai_responses_stream import ResponsesReader
from holdfast.models.options import ModelOptions
from holdfast.models.prices import usage_cost_usd
from holdfast.models.reading import read_answer
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["OpenAIResponsesModel"]


class OpenAIResponsesModel:
    """A model behind `/responses`. Made by `open_model("openai-responses:NAME", …)`."""

    wire: Wire = "openai"

    def __init__(
        self,
        model: str,
        *,
        environ: Mapping[str, str],
        options: ModelOptions | None = None,
        provider: str = "openai-responses",
    ) -> None:
        """Take the key and the address from the options, else from the environment, as `openai:` does.

        Raises:
            ModelError: There is no key, and OpenAI itself is asked.
        """
        self.name = f"{provider}:{model}"
        self._model = model
        self._options = options = options or ModelOptions()
        base_url = (options.base_url or openai_base_url("openai", environ)).rstrip("/")
        self._is_openai = is_openai_address(base_url)
        self.context_window = options.context_window or window_of(model) or OTHER_WINDOW
        headers = openai_headers("openai", environ, options, is_openai=self._is_openai)
        self._channel = Channel(base_url, headers=headers, options=options, environ=environ)
        self.price = price_for(model, options, is_listed=self._is_openai)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        options = self._options
        body = responses_body(request, self._model, max_tokens=options.max_output_tokens, extra=options.extra)
        reader = ResponsesReader(CallIds(request.messages))
        async with self._channel.post("/responses", body, is_streaming=request.is_streaming) as exchange:
            is_whole = not request.is_streaming or exchange.is_whole
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
        """What this usage costs, or None where the price is not known."""
        return usage_cost_usd(self.price, usage)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channel.close()

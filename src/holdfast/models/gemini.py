"""Gemini by its own API (`generateContent`), at Google or at a gateway that speaks it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import quote

import msgspec

from holdfast.models.call_ids import CallIds
from holdfast.models.catalog import price_for, window_of
from holdfast.models.errors import ModelError
from holdfast.models.gemini_body import gemini_body
from holdfast.models.gemini_stream import GeminiReader
from holdfast.models.http import Channel
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.options import ModelOptions
from holdfast.models.prices import usage_cost_usd
from holdfast.models.reading import read_answer
from holdfast.models.tokens import estimate_request_tokens

__all__ = ["GeminiModel"]

_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
_OTHER_WINDOW = 1_048_576


class _Counted(msgspec.Struct):
    totalTokens: int  # noqa: N815 - the wire's word


class GeminiModel:
    """A Gemini model. Made by `open_model("gemini:NAME", …)`."""

    wire: Wire = "openai"

    def __init__(
        self, model: str, *, environ: Mapping[str, str], options: ModelOptions | None = None, provider: str = "gemini"
    ) -> None:
        """Take the key and the address from the options, else from the environment.

        Raises:
            ModelError: There is no key.
        """
        self.name = f"{provider}:{model}"
        self._model = model.removeprefix("models/")
        self._options = options = options or ModelOptions()
        base_url = (options.base_url or environ.get("GEMINI_BASE_URL") or _BASE_URL).rstrip("/")
        self.context_window = options.context_window or window_of(model) or _OTHER_WINDOW
        headers = _headers(environ, options, is_own=base_url == _BASE_URL)
        self._channel = Channel(base_url, headers=headers, options=options, environ=environ)
        self.price = price_for(model, options)
        self._place = f"/models/{quote(self._model, safe='')}"
        self._can_count = True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ask. Raises `ModelError`; closing the iterator ends the request at once."""
        body = gemini_body(request, self._model, max_tokens=self._options.max_output_tokens, extra=self._options.extra)
        way = ":streamGenerateContent?alt=sse" if request.is_streaming else ":generateContent"
        reader = GeminiReader(CallIds(request.messages))
        async with self._channel.post(self._place + way, body, is_streaming=request.is_streaming) as exchange:
            is_whole = not request.is_streaming or exchange.is_whole
            async with aclosing(read_answer(exchange, reader, is_whole=is_whole)) as events:
                async for event in events:
                    yield event

    def expect(self) -> None:
        """A request follows soon: the connection may open meanwhile."""
        self._channel.expect()

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the request has: counted by the provider where it can, else estimated."""
        if self._can_count:
            body = gemini_body(request, self._model, max_tokens=None, extra={}, for_counting=True)
            try:
                async with self._channel.post(self._place + ":countTokens", body, is_streaming=False) as exchange:
                    return msgspec.json.decode(await exchange.read_all(), type=_Counted).totalTokens
            except ModelError as error:
                self._can_count = error.is_retryable  # a gateway that cannot count is not asked again
            except msgspec.DecodeError:
                self._can_count = False
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs, or None where the price is not known."""
        return usage_cost_usd(self.price, usage)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channel.close()


def _headers(environ: Mapping[str, str], options: ModelOptions, *, is_own: bool) -> dict[str, str]:
    key = options.api_key or environ.get("GEMINI_API_KEY", "").strip() or environ.get("GOOGLE_API_KEY", "").strip()
    named = {name.lower() for name in options.headers}
    if key:
        return {"authorization": f"Bearer {key}"} if options.auth == "bearer" else {"x-goog-api-key": key}
    if is_own and not {"authorization", "x-goog-api-key"} & named:
        raise ModelError("There is no key for Gemini. Set GEMINI_API_KEY (or GOOGLE_API_KEY).", "auth")
    return {}

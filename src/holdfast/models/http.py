"""The connection to one provider: kept open between requests, bounded in time and size, errors in our words."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from holdfast.contract.errors import UsageError
from holdfast.host.http import HttpClient, HttpError, Request, Response, without_login
from holdfast.lib.visible import visible
from holdfast.models.errors import ModelError
from holdfast.models.options import ModelOptions
from holdfast.models.refusals import error_from_answer, error_from_event
from holdfast.models.sse import EventSplitter, EventTooLarge, ServerEvent, Splitter

__all__ = ["Channel", "Exchange", "header_lines"]

_MAX_ERROR_BYTES = 16 * 1024
_DRAIN_S = 0.25
_REFUSAL_S = 10.0
"""How long the reasons of a refusal may take."""
_OPENING_BYTES = 2_048
_SHOWN_CHARS = 200
_MIN_SECRET_CHARS = 6


class Channel:
    """Sends requests to one base address. Nothing is connected before `expect` or the first one."""

    def __init__(
        self, base_url: str, *, headers: Mapping[str, str], options: ModelOptions, environ: Mapping[str, str]
    ) -> None:
        """Check the address and the headers."""
        self.base_url = _checked_url(base_url)
        self.options = options
        self._environ = environ
        self._headers = _merged(headers, options.headers)
        self._secrets = sorted(_secrets(self._headers), key=len, reverse=True)
        self._client: HttpClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def clean(self, text: str) -> str:
        """A server's text without the secrets that our headers carry, and without what a terminal would obey."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        return visible(text)

    @asynccontextmanager
    async def post(
        self,
        path: str,
        body: bytes,
        *,
        is_streaming: bool = True,
        headers: Mapping[str, str] | None = None,
        splitter: Splitter | None = None,
    ) -> "AsyncGenerator[Exchange]":
        """Send a body; gives the answer to read from. Leaving ends the request at once.

        Args:
            path: Behind the base address.
            body: What to send.
            is_streaming: A stream of events is wanted.
            headers: Of this request only, such as its signature.
            splitter: Cuts the answer into events; None: server-sent events.

        Raises:
            ModelError: Nothing could be sent, or the answer is no success.
        """
        response = await self._send(path, body, is_streaming=is_streaming, added=headers or {})
        try:
            exchange = Exchange(response, self, splitter)
            if not response.is_success:
                raise await self._refusal(response, exchange)
            yield exchange
        finally:
            await response.close()

    def expect(self) -> None:
        """A request follows soon: begin to connect, so that it finds the connection open."""
        self._open_client().expect(self.base_url)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    @property
    def address(self) -> str:
        """The server's name and port, as messages tell them: without the path and without a login."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    def silent(self, after_s: float) -> ModelError:
        """The error for a server of which nothing came for this long."""
        return ModelError(f"{self.address} was silent for {after_s:g} s.", "timeout")

    def stalled(self, after_s: float) -> ModelError:
        """The error for a server that keeps the connection alive, but has not gone on with its answer for this long."""
        return ModelError(
            f"{self.address} sent only signs of life for {after_s:g} s, and nothing of its answer.", "timeout"
        )

    def failed(self, error: HttpError, *, has_begun: bool) -> ModelError:
        """The error for a connection that broke, in our words: before the answer, or in the midst of it."""
        reason = self.clean(str(error))
        if error.kind == "connect_timeout":
            limit_s = self.options.connect_timeout_s
            return ModelError(f"{self.address} could not be reached in {limit_s:g} s.", "connection")
        if error.kind == "certificates":
            return ModelError(reason, "connection")
        if has_begun:
            return ModelError(f"The answer of {self.address} was cut: {reason}", "broken_stream")
        if error.kind == "invalid":
            return ModelError(f"The request to {self.address} cannot be sent: {reason}", "invalid_request")
        advice = "Check the address and the network, and that the server runs."
        return ModelError(f"The connection to {self.address} failed: {reason.rstrip('.')}. {advice}", "connection")

    async def _send(self, path: str, body: bytes, *, is_streaming: bool, added: Mapping[str, str]) -> Response:
        accepted = {"accept": "text/event-stream"} if is_streaming else {}
        headers = {**self._headers, **accepted, **added}
        client = self._open_client()
        try:
            async with asyncio.timeout(self.options.first_byte_timeout_s):
                return await client.send(Request("POST", self.base_url + path, headers, body))
        except TimeoutError as error:
            raise self.silent(self.options.first_byte_timeout_s) from error
        except HttpError as error:
            raise self.failed(error, has_begun=False) from error

    def _open_client(self) -> HttpClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            # Connections belong to their event loop; those of a loop that has ended are of no use.
            self._client, self._loop = self._new_client(), loop
        return self._client

    def _new_client(self) -> HttpClient:
        return HttpClient(self._environ, connect_timeout_s=self.options.connect_timeout_s)

    async def _refusal(self, response: Response, exchange: "Exchange") -> ModelError:
        try:
            async with asyncio.timeout(_REFUSAL_S):
                body = await exchange.read_all(limit_bytes=_MAX_ERROR_BYTES, is_cut=True)
        except (ModelError, TimeoutError):
            body = b""
        return error_from_answer(response.status, response.headers, body, clean=self.clean)


class Exchange:
    """One answer being read."""

    def __init__(self, response: Response, channel: Channel, splitter: Splitter | None = None) -> None:
        """Begin at the first byte of the body."""
        self._response = response
        self._channel = channel
        self._splitter = splitter or EventSplitter(max_event_bytes=channel.options.max_event_bytes)
        self._wait_s = channel.options.first_byte_timeout_s
        self._patience_s = channel.options.silence_timeout_s
        self._idle_s = 0.0
        """How long we have waited since the answer last went on."""
        self._opening = b""
        """The first bytes, until the first event."""
        self._has_events = False
        self._has_ended = False
        self._read_bytes = 0

    @property
    def request_id(self) -> str | None:
        """The provider's name for this request."""
        headers = self._response.headers
        return headers.get("request-id") or headers.get("x-request-id")

    @property
    def is_whole(self) -> bool:
        """The answer is one JSON document, not a stream of events."""
        return "json" in self._content_type

    @property
    def _content_type(self) -> str:
        return self._response.headers.get("content-type", "").lower()

    def went_on(self) -> None:
        """The answer went on, by something that is no mere sign of life: waiting begins anew."""
        self._idle_s = 0.0

    def not_a_model(self, body: bytes) -> ModelError:
        """The error for a success that is no answer of a model; asking again would bring the same."""
        text = " ".join(body[: _SHOWN_CHARS * 8].decode("utf-8", "replace").split())[:_SHOWN_CHARS]
        channel = self._channel
        return ModelError(
            f"{channel.address} answered {self._response.status} with something else than a model's answer: "
            f"content type {channel.clean(self._content_type) or 'none'!r}, beginning {channel.clean(text)!r}. "
            f"Check the base URL {without_login(channel.base_url)!r}, and that no proxy or login page is in between.",
            "invalid_request",
            status=self._response.status,
            request_id=self.request_id,
        )

    def senseless(self, data: bytes, why: str) -> ModelError:
        """The error for data that cannot be read: a page where an answer should be, or a broken answer."""
        return self.not_a_model(data) if self._is_page(data) else self.broken(why)

    def _is_page(self, data: bytes) -> bool:
        """Whether data that is no event is for a browser: a proxy's login, or a gateway's error.

        The content type alone does not tell: there are servers that stream events as `text/html`.
        """
        return data.lstrip()[:1] == b"<" or "html" in self._content_type

    def error_in(self, data: bytes) -> ModelError:
        """The error that an event of this answer tells."""
        return error_from_event(data, clean=self._channel.clean, request_id=self.request_id)

    def broken(self, why: str) -> ModelError:
        """The error for an answer that was cut or makes no sense."""
        return ModelError(
            f"The answer broke off: {self._channel.clean(why)}", "broken_stream", request_id=self.request_id
        )

    async def read(self) -> list[ServerEvent] | None:
        """The next events, at least one; None at the end."""
        while not self._has_ended:
            chunk = await self._next_chunk()
            self._read_bytes += len(chunk or b"")
            if self._read_bytes > self._channel.options.max_stream_bytes:
                raise self.broken(f"it has more than {self._channel.options.max_stream_bytes} bytes")
            if not self._has_events and len(self._opening) < _OPENING_BYTES:
                self._opening += chunk or b""
                if self._opening.lstrip()[:1] == b"<":  # no event begins so, and a page may be long
                    raise self.not_a_model(self._opening)
            try:
                events = self._splitter.finish() if chunk is None else self._splitter.feed(chunk)
            except EventTooLarge as error:
                raise self.senseless(self._opening, str(error)) from error
            if events:
                self._has_events, self._opening = True, b""
                self._wait_s = self._patience_s
                return events
        if not self._has_events and self._is_page(self._opening):
            raise self.not_a_model(self._opening)
        return None

    async def read_all(self, *, limit_bytes: int | None = None, is_cut: bool = False) -> bytes:
        """The whole body. More than the limit is an error, or cut."""
        limit = limit_bytes or self._channel.options.max_answer_bytes
        parts: list[bytes] = []
        held = 0
        while (chunk := await self._next_chunk()) is not None:
            parts.append(chunk)
            held += len(chunk)
            if not chunk.isspace():  # gateways send blanks to keep the connection
                self.went_on()
            if held > limit:
                if not is_cut:
                    raise self.broken(f"it has more than {limit} bytes")
                break
        return b"".join(parts)[:limit]

    def wait_at_most(self, seconds: float) -> None:
        """Be less patient from now on: the answer is complete, only details may follow."""
        self._patience_s = min(self._patience_s, seconds)
        self._wait_s = min(self._wait_s, seconds)

    async def drain(self) -> None:
        """Read what follows the last event, so that the connection can be used again; a short while at most."""
        self._wait_s = _DRAIN_S
        try:
            for _ in range(8):
                if await self._next_chunk() is None:
                    return
        except ModelError:
            return

    async def _next_chunk(self) -> bytes | None:
        if self._has_ended:
            return None
        idle_limit_s = self._channel.options.idle_timeout_s
        left_s = idle_limit_s - self._idle_s
        clock = asyncio.get_running_loop().time
        began_s = clock()
        try:
            async with asyncio.timeout(max(0.0, min(self._wait_s, left_s))):
                chunk = await self._response.read()
        except TimeoutError as error:
            if left_s < self._wait_s:
                raise self._channel.stalled(idle_limit_s) from error
            raise self._channel.silent(self._wait_s) from error
        except HttpError as error:
            raise self._channel.failed(error, has_begun=True) from error
        else:
            self._has_ended = chunk is None
            return chunk
        finally:
            # Only waiting counts: a reader that takes its time between two events is no fault of the server.
            self._idle_s += clock() - began_s


def header_lines(text: str) -> dict[str, str]:
    """Headers from `Name: value` lines, as `ANTHROPIC_CUSTOM_HEADERS` holds them."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            found[name.strip()] = value.strip()
    return found


def _checked_url(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f"The address {without_login(base_url)!r} is not an http:// or https:// address.")
    return url


def _merged(ours: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "holdfast"}
    headers |= {name.lower(): value for name, value in ours.items()}
    headers |= {name.lower(): value for name, value in given.items()}
    for name, value in headers.items():
        # The value is not told: it may be the key.
        if not name.isascii() or not value.isascii() or not (name + value).isprintable():
            raise UsageError(f"The header {name!r} has a character that no header may have. Set it again.")
    return {name: value for name, value in headers.items() if value}


def _secrets(headers: Mapping[str, str]) -> set[str]:
    """Values that must not appear in a message: everything but what describes the request."""
    plain = {"content-type", "user-agent", "accept", "anthropic-version", "anthropic-beta"}
    words = {word for name, value in headers.items() if name not in plain for word in (value, value.split(" ")[-1])}
    return {word for word in words if len(word) >= _MIN_SECRET_CHARS}

"""The older transport for servers behind an address: one stream for all that comes, another address for what goes."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from holdfast.host.http import HttpClient, HttpError, Request, Response
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson, Badge, Refused, refusal_of
from holdfast.mcp.event_stream import EventReader
from holdfast.mcp.moved import exchanged
from holdfast.mcp.session import Session
from holdfast.mcp.wire import METHOD_NOT_FOUND, McpError, error_bytes

__all__ = ["SseTransport"]

_MAX_BYTES = 32 << 20
_CLOSE_S = 2.0


class SseTransport:
    """The older transport: one stream for everything that comes, and an address of its own for what goes."""

    def __init__(self, session: Session, url: str, badge: Badge, ask: AskPerson | None = None) -> None:
        """Take the address, what goes with each request, and how a person is asked to log in during a call."""
        self._session = session
        self._url = url
        self._badge = badge
        self._ask_person = ask
        self._client = HttpClient(os.environ)
        self._target: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen())

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Post one message to where the server wants it."""
        del method, params
        url = await asyncio.shield(self._target)
        try:
            refused = await self._post(url, message, key)
            if refused is not None:
                with self._session.clock_stopped(key):
                    await self._badge.renew(refused, self._ask_person if self._session.is_ready else None)
                refused = await self._post(url, message, key)
        except HttpError as error:
            raise McpError(f"The MCP server {self._session.name!r} cannot be reached: {error}.") from error
        if refused is not None:
            raise McpError(f"The MCP server {self._session.name!r} refuses the login (HTTP {refused.status}).")

    async def _post(self, url: str, message: bytes, key: int | None) -> Refused | None:
        headers = {**self._badge.headers(), "content-type": "application/json"}
        mark = self._badge.mark
        async with exchanged(self._client, Request("POST", url, headers, message)) as (response, _):
            refused = await refusal_of(response, mark)
            if refused is None:
                await response.read_all(_MAX_BYTES)
                if not response.is_success and key is not None:
                    self._session.take(error_bytes(key, METHOD_NOT_FOUND, f"HTTP {response.status}"))
            return refused

    def abandon(self, key: int) -> bool:
        """The server must be told by a message."""
        del key
        return False

    async def close(self) -> None:
        """End the stream."""
        self._listening.cancel()
        await asyncio.wait([self._listening], timeout=_CLOSE_S)
        if not self._target.done():
            self._target.cancel()
        await self._client.close()

    async def _listen(self) -> None:
        reason, problem = "its stream ended", None
        try:
            refused = await self._read_stream()
            if refused is not None:
                await self._badge.renew(refused, None)
                refused = await self._read_stream()
            if refused is not None:
                reason = f"it refuses the login (HTTP {refused.status})"
        except HttpError as error:
            reason = f"it cannot be reached: {error}"
        except McpError as error:
            reason, problem = str(error), error
        finally:
            if not self._target.done():
                self._target.set_exception(problem or McpError(f"The MCP server {self._session.name!r}: {reason}."))
                self._target.exception()
            self._session.lost(reason)

    async def _read_stream(self) -> Refused | None:
        headers = {**self._badge.headers(), "accept": "text/event-stream"}
        mark = self._badge.mark
        async with exchanged(self._client, Request("GET", self._url, headers)) as (response, self._url):
            refused = await refusal_of(response, mark)
            if refused is None and not response.is_success:
                raise McpError(f"The MCP server {self._session.name!r} answered with HTTP {response.status}.")
            if refused is None:
                await self._read(response)
            return refused

    async def _read(self, response: Response) -> None:
        reader = EventReader(_MAX_BYTES)
        while (piece := await response.read()) is not None:
            for event in reader.feed(piece):
                if event.kind != "endpoint":
                    self._session.take(event.data)
                elif not self._target.done():
                    self._target.set_result(self._address(event.data.decode("utf-8", "replace")))

    def _address(self, said: str) -> str:
        """Where messages go: only the server that was configured, whatever it says."""
        try:
            url = urljoin(self._url, said.strip())
            is_there = urlsplit(url)[:2] == urlsplit(self._url)[:2]
        except ValueError:
            url, is_there = said, False
        if not is_there:
            raise HttpError(f"it wants messages to go to {visible(url, limit_chars=200)}, another server", "invalid")
        return url

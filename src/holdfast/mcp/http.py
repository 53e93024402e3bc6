"""Servers behind an address: one request for each message, answers as JSON or as a stream of events.

Redirects to another server are not followed: what goes with a request, tokens included, goes to the one that the user
configured.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from holdfast.host.http import HttpClient, HttpError, Request, Response
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson, Badge, Refused, refusal_of
from holdfast.mcp.event_stream import EventReader, ServerEvent
from holdfast.mcp.moved import exchanged
from holdfast.mcp.parameter_headers import as_header
from holdfast.mcp.session import Session
from holdfast.mcp.wire import METHOD_NOT_FOUND, Incoming, McpError, error_bytes

__all__ = ["HttpTransport"]

_log = logging.getLogger(__name__)
_MAX_BYTES = 32 << 20
_MAX_RESUMES = 3
_RETRY_S = 1.0
_MAX_RETRY_S = 10.0
_CLOSE_S = 2.0
_MAX_RENEWALS = 2
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ACCEPT = "application/json, text/event-stream"


class HttpTransport:
    """Streamable HTTP, of both eras."""

    def __init__(self, session: Session, url: str, badge: Badge, ask: AskPerson | None = None) -> None:
        """Take the address, what goes with each request, and how a person is asked to log in during a call."""
        self._session = session
        self._url = url
        self._badge = badge
        self._ask_person = ask
        self._client = HttpClient(os.environ)
        self._session_id: str | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._listening: asyncio.Task[None] | None = None

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Begin the request of a message; its answer comes to the session by itself."""
        if key is not None:
            task = self._tasks[key] = asyncio.create_task(self._ask(message, key, method, params))
            task.add_done_callback(partial(self._over, key))
            return
        if self._session.meta is not None and method:
            return  # the newer protocol knows no notifications to a server over HTTP
        try:
            request = self._request("POST", method, params, message)
            async with exchanged(self._client, request) as (response, self._url):
                await response.read_all(_MAX_BYTES)
        except HttpError as error:
            raise McpError(f"The MCP server {self._session.name!r} cannot be reached: {error}.") from error
        if method == "notifications/initialized":
            self._listening = asyncio.create_task(self._listen())

    def _over(self, key: int, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(key, None)
        self._session.ended(key, task)

    def abandon(self, key: int) -> bool:
        """Ending the request tells a newer server; an older one wants a message as well."""
        task = self._tasks.get(key)
        if task is not None:
            task.cancel()
        return self._session.meta is not None

    async def close(self) -> None:
        """End every request, and the session that the server keeps for us."""
        tasks = [task for task in (*self._tasks.values(), self._listening) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
        if self._session_id is not None:
            with contextlib.suppress(HttpError, TimeoutError):
                async with (
                    asyncio.timeout(_CLOSE_S),
                    self._client.exchange(self._request("DELETE", "", None, b"")) as response,
                ):
                    await response.read_all(_MAX_BYTES)
        await self._client.close()

    def _request(
        self, verb: str, method: str, params: Mapping[str, Any] | None, body: bytes, last: str = ""
    ) -> Request:
        headers = {**self._badge.headers(), "accept": _ACCEPT if verb != "GET" else "text/event-stream"}
        if body:
            headers["content-type"] = "application/json"
        if self._session_id is not None:
            headers["mcp-session-id"] = self._session_id
        if self._session.meta is not None:
            headers["mcp-protocol-version"] = str(self._session.meta["io.modelcontextprotocol/protocolVersion"])
            headers["mcp-method"] = method
            name = None if params is None else params.get(_NAMED.get(method, ""))
            if isinstance(name, str):
                headers["mcp-name"] = as_header(name)
            if params is not None and self._session.more_headers is not None:
                headers |= self._session.more_headers(method, params)
        elif self._session.version is not None:
            headers["mcp-protocol-version"] = self._session.version
        if last:
            headers["last-event-id"] = last
        return Request(verb, self._url, headers, body, max_body_bytes=None)

    async def _ask(self, message: bytes, key: int, method: str, params: Mapping[str, Any] | None) -> None:
        """One request and whatever comes for it; whoever waits is told in any case."""
        try:
            for _ in range(_MAX_RENEWALS):
                refused = await self._ask_once(message, key, method, params)
                if refused is None:
                    return
                with self._session.clock_stopped(key):
                    await self._badge.renew(refused, self._ask_person if self._session.is_ready else None)
            refused = await self._ask_once(message, key, method, params)
            if refused is not None:
                self._session.fail(key, f"it refuses the login (HTTP {refused.status}), also after a new one")
        except HttpError as error:
            self._session.fail(key, f"it cannot be reached: {error}")
        except McpError as error:
            self._session.fail(key, str(error), error)

    async def _ask_once(
        self, message: bytes, key: int, method: str, params: Mapping[str, Any] | None
    ) -> Refused | None:
        """The request, unless the server does not know who asks."""
        request = self._request("POST", method, params, message)
        mark = self._badge.mark
        async with exchanged(self._client, request) as (response, self._url):
            refused = await refusal_of(response, mark, request.headers.get("mcp-protocol-version", ""))
            if refused is not None:
                return refused
            if not await self._is_answered(response, key, method):
                return None
            last = await self._read_events(response, key)
        if self._session.is_waiting(key):
            await self._resume(key, last)
        return None

    async def _is_answered(self, response: Response, key: int, method: str) -> bool:
        """Take what is not a stream; true when a stream follows."""
        if method == "initialize" and response.is_success:
            self._session_id = response.headers.get("mcp-session-id")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.is_success and kind == "text/event-stream":
            return True
        body = await response.read_all(_MAX_BYTES)
        if response.is_success and kind == "application/json":
            self._session.take(body)
            if self._session.is_waiting(key):
                self._session.fail(key, "it answered something else than what was asked")
        elif response.is_success:
            self._session.fail(key, f"it answered with {visible(kind or 'nothing', limit_chars=60)} instead of JSON")
        else:
            self._refused(response, body, key)
        return False

    def _refused(self, response: Response, body: bytes, key: int) -> None:
        status, session = response.status, self._session
        if 300 <= status < 400:
            place = visible(response.headers.get("location", ""), limit_chars=200)
            session.fail(key, f"it sends us to {place}, which is not followed; configure that address if it is right")
        elif status == 404 and self._session_id is not None:
            session.lost("the server has forgotten this session")
        elif (error := _error_in(body)) is not None:
            session.take(error_bytes(key, error[0], error[1], error[2]))
        else:
            said = f"the server answered with HTTP {status}"
            session.take(error_bytes(key, METHOD_NOT_FOUND, said, {"status": status}))

    async def _read_events(self, response: Response, key: int | None) -> ServerEvent | None:
        """Take the messages of a stream until it ends or the answer has come; returns the last event with an id."""
        reader = EventReader(_MAX_BYTES)
        last: ServerEvent | None = None
        while (piece := await response.read()) is not None:
            for event in reader.feed(piece):
                last = event if event.id or event.retry_ms is not None else last
                if event.data:
                    self._session.take(event.data)
            if key is not None and not self._session.is_waiting(key):
                return None
        return last

    async def _resume(self, key: int, last: ServerEvent | None) -> None:
        """The stream broke before the answer: ask for the rest, where the server can give it."""
        for _ in range(_MAX_RESUMES):
            if last is None or not last.id:
                break
            pause_s = _RETRY_S if last.retry_ms is None else min(last.retry_ms / 1000, _MAX_RETRY_S)
            await asyncio.sleep(pause_s)
            async with self._client.exchange(self._request("GET", "", None, b"", last.id)) as response:
                if not response.is_success:
                    break
                last = await self._read_events(response, key) or last
            if not self._session.is_waiting(key):
                return
        self._session.fail(key, "its stream ended before the answer")

    async def _listen(self) -> None:
        """What an older server says by itself; one that has no such stream says so at once."""
        last: ServerEvent | None = None
        for _ in range(1000):
            try:
                identity = "" if last is None else last.id
                async with self._client.exchange(self._request("GET", "", None, b"", identity)) as response:
                    if not response.is_success:
                        return
                    last = await self._read_events(response, None) or last
            except HttpError as error:
                _log.debug("the stream of the MCP server %s broke: %s", self._session.name, error)
            retry_ms = None if last is None else last.retry_ms
            await asyncio.sleep(_RETRY_S if retry_ms is None else min(max(retry_ms / 1000, 0.1), _MAX_RETRY_S))


def _error_in(body: bytes) -> tuple[int, str, Any] | None:
    try:
        error = msgspec.json.decode(body, type=Incoming).error
        data = None if error is None or not error.data else msgspec.json.decode(error.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return None if error is None else (int(error.code), error.message, data)

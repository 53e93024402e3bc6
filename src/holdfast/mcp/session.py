"""One connection: requests out and their answers back, progress, cancellation, and what the server asks of us."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, Protocol

import msgspec

from holdfast.mcp.questions import ASKS_PEOPLE, Questions
from holdfast.mcp.wire import (
    BOM,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Incoming,
    McpError,
    RpcError,
    error_bytes,
    id_in,
    notification_bytes,
    read_line,
    read_object,
    read_value,
    request_bytes,
    result_bytes,
)

__all__ = ["Limits", "Progress", "Session", "Transport"]

_log = logging.getLogger(__name__)
_MAX_SERVER_REQUESTS = 16
_MOST_ANSWERS = 256
"""On their way, refusals included: a server that asks and never reads must not fill our memory."""
_SHOWN_CHARS = 200
_CLOSE_S = 5.0
_TELL_S = 30.0
"""How long it may take to hand over what has no answer."""
_CALL_CANCELLED = -32800
_NO_CANCEL = frozenset({"initialize", "server/discover"})

Progress = Callable[[float, float | None, str], None]
"""Told how far a call is: done, of how much, and a word about it."""
Notice = Callable[[str, dict[str, Any]], None]
Answerer = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Transport(Protocol):
    """Carries whole messages. It reports what comes by the session's `take`, and its end by `lost`."""

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Hand one message over; raises `McpError` when that is not possible any more."""
        ...

    def abandon(self, key: int) -> bool:
        """Stop waiting for the answer to a request; True when that alone tells the server, so no message is needed."""
        ...

    async def close(self) -> None:
        """End the connection and what serves it."""
        ...


class Limits:
    """How long an answer may take: in silence, and in all."""

    __slots__ = ("idle_s", "total_s")

    def __init__(self, total_s: float, idle_s: float | None = None) -> None:
        self.total_s = total_s
        self.idle_s = total_s if idle_s is None else min(idle_s, total_s)


class _Waiting:
    """One request that is not answered yet."""

    __slots__ = ("alarm", "answer", "began", "last", "on_progress")

    def __init__(self, answer: "asyncio.Future[Incoming]", on_progress: Progress | None) -> None:
        self.answer = answer
        self.on_progress = on_progress
        self.alarm: asyncio.Timeout | None = None
        self.began = self.last = time.monotonic()


class Session:
    """Speaks with one server over one transport. Made anew for each connection."""

    def __init__(self, name: str) -> None:
        """Take the server's name, for messages."""
        self.name = name
        self.transport: Transport | None = None
        self.meta: Mapping[str, Any] | None = None
        """What each request carries in the newer protocol."""
        self.version: str | None = None
        """The older protocol's version, once it is agreed on."""
        self.more_headers: Callable[[str, Mapping[str, Any]], Mapping[str, str]] | None = None
        """What a request repeats in its head, for transports that have one."""
        self.on_notice: Notice | None = None
        self.on_request: Answerer | None = None
        self.on_lost: Callable[[str], None] | None = None
        self.why_lost: str | None = None
        self.is_ready = False
        """The beginning is over: from now on a person may be asked to log in."""
        self._waiting: dict[int, _Waiting] = {}
        self._next = 0
        self._answering: set[asyncio.Task[None]] = set()
        self._questions = Questions()

    # Out.

    async def request(
        self, method: str, params: Mapping[str, Any] | None, limits: Limits, on_progress: Progress | None = None
    ) -> msgspec.Raw:
        """Ask the server and wait for its answer, which the caller reads as what it must be.

        Raises:
            RpcError: It answered with an error.
            McpError: It did not answer in time, or is gone.
        """
        key = self._next = self._next + 1
        sent = self._with_meta(params, key if on_progress is not None else None)
        waiting = _Waiting(asyncio.get_running_loop().create_future(), on_progress)
        self._check_alive()
        self._waiting[key] = waiting
        try:
            answer = await self._exchange(key, method, sent, waiting, limits)
        except asyncio.CancelledError:
            self._cancel(key, method, "the user cancelled it")
            raise
        except TimeoutError as error:
            self._cancel(key, method, "it took too long")
            raise McpError(self._too_slow(method, waiting, limits)) from error
        finally:
            self._waiting.pop(key, None)
            if waiting.answer.done() and not waiting.answer.cancelled():
                waiting.answer.exception()  # where sending failed, nobody has looked at it
        if answer.error is not None:
            problem = answer.error
            message = problem.message[:2000] or "the server gave no reason"
            raise RpcError(int(problem.code), message, read_value(problem.data))
        return answer.result

    async def notify(self, method: str, params: Mapping[str, Any] | None = None, *, limit_s: float = _TELL_S) -> None:
        """Tell the server something; nobody answers."""
        self._check_alive()
        sent = params if self.meta is None else self._with_meta(params, None)
        await self._handed_over(notification_bytes(method, sent), method, sent, limit_s)

    async def close(self) -> None:
        """End the connection; whoever still waits is told."""
        self.lost("the connection was closed")
        answering = list(self._answering)
        for task in answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering, timeout=_CLOSE_S)
        if self.transport is not None:
            await self.transport.close()

    # In, by the transport.

    def take(self, line: bytes) -> None:
        """Take what the server sent: one line, or the body of one answer. Whatever it is, it raises nothing."""
        if line[:1] not in (b"{", b"[") and line.strip()[:1] not in (b"{", b"["):
            if line.startswith(BOM):
                self.take(line.lstrip(BOM))
            elif line.strip():
                _log.debug("%s wrote something that is not a message: %r", self.name, line[:_SHOWN_CHARS])
            return
        try:
            messages = read_line(line)
        except ValueError as error:
            self.broken(line[:4096], line[-4096:], f"its answer cannot be read: {error}")
            return
        for message in messages:
            if message.method is not None:
                self._hear(message, message.method)
                continue
            waiting = None if message.key is None else self._waiting.get(message.key)
            if waiting is not None and not waiting.answer.done():
                waiting.answer.set_result(message)

    def broken(self, head: bytes, tail: bytes, reason: str) -> None:
        """Something came that cannot be read: tell the one who waits for it; if nobody can tell who, everybody."""
        _log.warning("the MCP server %s: %s", self.name, reason)
        key = id_in(head[:512])
        key = id_in(tail[-512:]) if key is None or key not in self._waiting else key
        if key is not None and key in self._waiting:
            self.fail(key, reason)
            return
        for pending in list(self._waiting):
            self.fail(pending, reason)

    @contextmanager
    def clock_stopped(self, key: int | None) -> Generator[None]:
        """A request's time stands still: a login is renewed, which has limits of its own, or a person is asked."""
        waiting = None if key is None else self._waiting.get(key)
        alarm = None if waiting is None else waiting.alarm
        when = None if alarm is None or alarm.expired() else alarm.when()
        if waiting is None or alarm is None or when is None:
            yield
            return
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        alarm.reschedule(None)
        try:
            yield
        finally:
            took_s = loop.time() - began_s
            waiting.began += took_s
            if key is not None and self._waiting.get(key) is waiting:
                alarm.reschedule(when + took_s)

    def _clocks(self) -> list[AbstractContextManager[None]]:
        return [self.clock_stopped(key) for key in self._waiting]

    def is_waiting(self, key: int) -> bool:
        """Somebody still waits for this answer."""
        waiting = self._waiting.get(key)
        return waiting is not None and not waiting.answer.done()

    def fail(self, key: int, reason: str, error: McpError | None = None) -> None:
        """No answer will come for this request."""
        waiting = self._waiting.get(key)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_exception(error or McpError(f"The MCP server {self.name!r}: {reason}."))

    def ended(self, key: int, work: "asyncio.Task[None]") -> None:
        """Work for an answer is over; where it failed by a bug, nobody is left waiting."""
        error = None if work.cancelled() else work.exception()
        if error is not None:
            _log.error("a request to the MCP server %s failed", self.name, exc_info=error)
            self.fail(key, "our part of the request failed; the log has the details")

    def lost(self, reason: str) -> None:
        """The connection is gone."""
        if self.why_lost is not None:
            return
        self.why_lost = reason
        for key in list(self._waiting):
            self.fail(key, f"{reason} before it answered")
        if self.on_lost is not None:
            self.on_lost(reason)

    # Inside.

    def _with_meta(self, params: Mapping[str, Any] | None, token: int | None) -> Mapping[str, Any] | None:
        if self.meta is None and token is None:
            return params
        given = dict(params or {})
        meta = {**given.get("_meta", {}), **(self.meta or {})}
        if token is not None:
            meta["progressToken"] = token
        return {**given, "_meta": meta}

    def _check_alive(self) -> None:
        if self.why_lost is not None or self.transport is None:
            raise McpError(f"The MCP server {self.name!r} is not connected: {self.why_lost or 'not started yet'}.")

    async def _exchange(
        self, key: int, method: str, params: Mapping[str, Any] | None, waiting: _Waiting, limits: Limits
    ) -> Incoming:
        assert self.transport is not None
        async with asyncio.timeout(limits.idle_s) as alarm:
            waiting.alarm = alarm
            send = self.transport.send(request_bytes(key, method, params), key=key, method=method, params=params)
            await send
            if waiting.on_progress is None:
                return await waiting.answer
            inner = waiting.on_progress

            def go_on(done: float, total: float | None, message: str) -> None:
                waiting.last = time.monotonic()
                left_s = limits.total_s - (waiting.last - waiting.began)
                now = asyncio.get_running_loop().time()
                if not alarm.expired() and alarm.when() is not None:
                    alarm.reschedule(now + min(limits.idle_s, max(left_s, 0.0)))
                inner(done, total, message)

            waiting.on_progress = go_on
            return await waiting.answer

    def _too_slow(self, method: str, waiting: _Waiting, limits: Limits) -> str:
        took = time.monotonic() - waiting.began
        what = f"The MCP server {self.name!r} did not answer {method} within {took:.0f} s"
        quiet = took > limits.idle_s and limits.idle_s < limits.total_s
        hint = f" ({limits.idle_s:.0f} s without progress)" if quiet else ""
        if method in _NO_CANCEL:
            return f"{what}. Start it by hand and look, or give it longer: MCP_TIMEOUT, in milliseconds."
        return f"{what}{hint}. Try a smaller step, or set a longer `timeout` for this server."

    def _cancel(self, key: int, method: str, reason: str) -> None:
        """Tell the server that nobody waits any more, without waiting for that either."""
        if self.why_lost is not None or self.transport is None or method in _NO_CANCEL:
            return
        for question in self._questions.moot(key, self._waiting):
            self._spawn(self._answer_error(question, _CALL_CANCELLED, "the call was cancelled"))
        if not self.transport.abandon(key):
            self._spawn(self.notify("notifications/cancelled", {"requestId": key, "reason": reason}))

    def _spawn(self, work: Coroutine[Any, Any, None], key: object = None) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._answering.add(task)
        task.add_done_callback(partial(self._told, key))
        return task

    def _told(self, key: object, task: "asyncio.Task[None]") -> None:
        self._answering.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, McpError):
            _log.debug("the MCP server %s could not be told: %s", self.name, error)
        elif error is not None:
            _log.error("an answer to the MCP server %s failed", self.name, exc_info=error)
            if key is not None:  # it waits
                self._spawn(self._answer_error(key, INTERNAL_ERROR, "internal error of the client"))

    def _hear(self, message: Incoming, method: str) -> None:
        try:
            params = read_object(message.params)
        except McpError:
            return
        if message.id is None:
            self._notice(method, params)
        elif len(self._answering) >= _MOST_ANSWERS:
            _log.debug("the MCP server %s asks more than it reads answers to; %s is dropped", self.name, method)
        elif len(self._answering) >= _MAX_SERVER_REQUESTS:
            self._spawn(self._answer_error(message.id, INVALID_REQUEST, "too many requests at once"))
        else:
            task = self._spawn(self._answer(message.id, method, params), message.id)
            self._questions.began(message.id, task, self._waiting)

    def _notice(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/progress":
            self._progressed(params)
        elif method == "notifications/cancelled":
            self._questions.taken_back(params.get("requestId"))
        elif self.on_notice is not None:
            self.on_notice(method, params)

    def _progressed(self, params: dict[str, Any]) -> None:
        token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
        key = int(token) if isinstance(token, str) and token.isdigit() and len(token) < 16 else token
        waiting = self._waiting.get(key) if isinstance(key, int) else None
        if waiting is None or waiting.on_progress is None or not isinstance(done, int | float):
            return
        message = params.get("message")
        whole = total if isinstance(total, int | float) else None
        waiting.on_progress(done, whole, message[:500] if isinstance(message, str) else "")

    async def _answer(self, key: object, method: str, params: dict[str, Any]) -> None:
        if method == "ping":
            await self._send(result_bytes(key, {}))
            return
        if self.on_request is None:
            await self._answer_error(key, METHOD_NOT_FOUND, f"{method} is not supported")
            return
        try:
            with self._questions.to_person(self._clocks) if method in ASKS_PEOPLE else nullcontext():
                answer = await self.on_request(method, params)
        except RpcError as error:
            await self._answer_error(key, error.code, str(error))
        else:
            await self._send(result_bytes(key, answer))

    async def _answer_error(self, key: object, code: int, message: str) -> None:
        await self._send(error_bytes(key, code, message))

    async def _send(self, message: bytes) -> None:
        self._check_alive()
        await self._handed_over(message, "", None, _TELL_S)

    async def _handed_over(self, message: bytes, method: str, params: Mapping[str, Any] | None, limit_s: float) -> None:
        """A message without an answer; nobody waits for ever for a server that does not take it."""
        assert self.transport is not None
        try:
            async with asyncio.timeout(limit_s):
                await self.transport.send(message, key=None, method=method, params=params)
        except TimeoutError as error:
            what = method or "an answer"
            raise McpError(f"The MCP server {self.name!r} did not take {what} within {limit_s:.0f} s.") from error

"""Our server on an address: streamable HTTP of both eras, over the small web server of the host room.

An answer that comes alone is JSON; one that is preceded by progress or questions is a stream of events. Older clients
have a session, and may read a stream again from where they lost it; newer ones end a request by closing it.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable

from holdfast.events import encode_json
from holdfast.host.web_server import Responder, WebRequest
from holdfast.mcp.handshake import LEGACY, MODERN
from holdfast.mcp.serve.guard import Gate, Refusal, check_headers
from holdfast.mcp.serve.peer import Outgoing, Peer, client_of
from holdfast.mcp.serve.service import Client, Service
from holdfast.mcp.serve.stream import Stream
from holdfast.mcp.wire import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Incoming,
    McpError,
    RpcError,
    error_bytes,
    read_line,
    read_object,
)

__all__ = ["MAX_BODY_BYTES", "HttpEndpoint"]

MAX_BODY_BYTES = 16 << 20
_MAX_SESSIONS = 100
_IDLE_S = 1800.0
_STATUS = dict.fromkeys(
    (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION, -32021), 400
) | {METHOD_NOT_FOUND: 404}
_JSON = ("content-type", "application/json")


class _Session:
    """One older client."""

    def __init__(self, service: Service) -> None:
        self.id = os.urandom(16).hex()
        self.used = time.monotonic()
        self.peer = Peer(service, self._send)
        self.streams: dict[str, Stream] = {}
        self.standing = Stream(f"{self.id[:8]}-s")
        """What belongs to no request; one reader at a time."""
        self._by_request: dict[int | str, Stream] = {}

    def open_stream(self, id_: int | str) -> Stream:
        """Where the messages about a request go. Streams that have ended are kept for a while, to be read again."""
        stream = self._by_request[id_] = Stream(os.urandom(6).hex())
        self.streams[stream.id] = stream
        ended = [known for known in self.streams.values() if known.is_done]
        for old in ended[:-16]:
            del self.streams[old.id]
        return stream

    def _send(self, out: Outgoing) -> None:
        stream = self.standing if out.about is None else self._by_request.get(out.about, self.standing)
        stream.put(out)
        if out.is_answer and out.about is not None:
            self._by_request.pop(out.about, None)


class HttpEndpoint:
    """Answers the requests of a web server."""

    def __init__(self, service: Service, gate: Gate, *, path: str = "/mcp") -> None:
        self._service = service
        self._gate = gate
        self._path = path
        self._sessions: dict[str, _Session] = {}

    async def handle(self, request: WebRequest, responder: Responder) -> None:
        """Answer one request."""
        refusal = self._gate.refusal(request)
        if refusal is None and request.target.partition("?")[0].rstrip("/") != self._path:
            refusal = Refusal(404, f"there is nothing here; the server is at {self._path}")
        if refusal is not None:
            body = encode_json({"error": refusal.reason})
            await responder.whole(refusal.status, body, [_JSON, *refusal.headers])
            return
        try:
            await self._route(request, responder)
        except _NoSessionError as error:
            await _refuse(responder, 404, error.code, str(error))
        except RpcError as error:
            await _refuse(responder, _STATUS.get(error.code, 400), error.code, str(error), data=error.data)

    async def close(self) -> None:
        """End every session."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.peer.close() for session in sessions))

    async def _route(self, request: WebRequest, responder: Responder) -> None:
        is_modern = request.header("mcp-protocol-version") == MODERN
        if request.method == "POST":
            await self._post(request, responder)
        elif request.method == "GET" and not is_modern:
            await self._get(request, responder)
        elif request.method == "DELETE" and not is_modern:
            session = self._session(request)
            del self._sessions[session.id]
            await session.peer.close()
            await responder.whole(200)
        else:
            await responder.whole(405, headers=[("allow", "POST" if is_modern else "GET, POST, DELETE")])

    # POST.

    async def _post(self, request: WebRequest, responder: Responder) -> None:
        if (request.header("content-type") or "").partition(";")[0].strip().lower() != "application/json":
            await _refuse(responder, 415, INVALID_REQUEST, "the body must be application/json")
            return
        accepted = request.header("accept") or ""
        if "*/*" not in accepted and not ("application/json" in accepted and "text/event-stream" in accepted):
            await _refuse(responder, 406, INVALID_REQUEST, "Accept must name application/json and text/event-stream")
            return
        try:
            messages = read_line(request.body)
        except ValueError:
            await _refuse(responder, 400, PARSE_ERROR, "the body is not JSON message")
            return
        if len(messages) != 1 or request.body.lstrip()[:1] == b"[":
            raise RpcError(INVALID_REQUEST, "the body must be one message")
        if _is_modern(request, messages[0]):
            await self._modern(request, messages[0], responder)
        else:
            await self._older(request, messages[0], responder)

    async def _modern(self, request: WebRequest, message: Incoming, responder: Responder) -> None:
        """One request that stands for itself; closing it cancels it."""
        if message.method is None:
            raise RpcError(INVALID_REQUEST, "the body must be a request")
        if message.id is None:
            await responder.whole(202)
            return
        id_ = message.id if isinstance(message.id, int | str) else 0
        try:
            check_headers(request, message, self._service.schema_of)
            client = _required_client(message)
        except RpcError as error:
            await _refuse(responder, _STATUS.get(error.code, 400), error.code, str(error), id_, error.data)
            return
        stream = Stream("")
        peer = Peer(self._service, stream.put)
        peer.take(message, client)
        try:
            await _until_gone(stream.write_to(responder, statuses=_STATUS), responder)
        finally:
            await peer.close()

    async def _older(self, request: WebRequest, message: Incoming, responder: Responder) -> None:
        version = request.header("mcp-protocol-version")
        if version is not None and version not in LEGACY:
            data = {"supported": [MODERN, *LEGACY], "requested": version[:40]}
            raise RpcError(UNSUPPORTED_VERSION, "this protocol version is not known here", data)
        headers: list[tuple[str, str]] = []
        if message.method == "initialize":
            session = self._new_session()
            headers.append(("mcp-session-id", session.id))
        else:
            session = self._session(request)
        if message.method is None or message.id is None or isinstance(message.id, float):
            session.peer.take(message)
            await responder.whole(202)
            return
        stream = session.open_stream(message.id)
        session.peer.take(message)
        is_primed = session.peer.client is not None and session.peer.client.version >= "2025-11-25"
        await _until_gone(stream.write_to(responder, headers=headers, is_primed=is_primed), responder)

    # Sessions.

    def _new_session(self) -> _Session:
        now = time.monotonic()
        for old in [known for known in self._sessions.values() if now - known.used > _IDLE_S]:
            self._forget(old)
        if len(self._sessions) >= _MAX_SESSIONS:
            idle = [known for known in self._sessions.values() if not known.peer.is_busy]
            if not idle:
                raise RpcError(INVALID_REQUEST, f"more than {_MAX_SESSIONS} sessions are open; end one first")
            self._forget(min(idle, key=lambda known: known.used))
        session = _Session(self._service)
        self._sessions[session.id] = session
        return session

    def _forget(self, session: _Session) -> None:
        del self._sessions[session.id]
        task = asyncio.ensure_future(session.peer.close())
        task.add_done_callback(lambda _: None)

    def _session(self, request: WebRequest) -> _Session:
        id_ = request.header("mcp-session-id")
        if id_ is None:
            raise RpcError(INVALID_REQUEST, "the header mcp-session-id is missing; send initialize first")
        session = self._sessions.get(id_)
        if session is None:
            raise _NoSessionError(INVALID_REQUEST, "this session has ended; send initialize again")
        session.used = time.monotonic()
        return session

    async def _get(self, request: WebRequest, responder: Responder) -> None:
        """What the server says by itself, or the rest of a stream that broke."""
        if "text/event-stream" not in (request.header("accept") or ""):
            await _refuse(responder, 406, INVALID_REQUEST, "Accept must name text/event-stream")
            return
        session = self._session(request)
        stream, at = session.standing, 0
        last = request.header("last-event-id")
        if last is not None:
            name, _, number = last.rpartition("_")
            stream = session.streams.get(name, session.standing)
            at = int(number) if number.isdigit() and len(number) < 10 else 0
        if stream.has_reader:
            await _refuse(responder, 409, INVALID_REQUEST, "this stream is being read already")
            return
        await _until_gone(stream.write_to(responder, at=at, is_stream=True), responder)


class _NoSessionError(RpcError):
    """The session is not known: the client has to begin again."""


def _is_modern(request: WebRequest, message: Incoming) -> bool:
    """Each request of the newer era says so in its envelope, or at least in a header."""
    if request.header("mcp-protocol-version") == MODERN or message.method == "server/discover":
        return True
    try:
        meta = read_object(message.params).get("_meta")
    except McpError:
        return False
    return isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta


def _required_client(message: Incoming) -> Client:
    client = client_of(read_object(message.params))
    if client is None:
        raise RpcError(INVALID_PARAMS, "params._meta must name the protocol version and the client's capabilities")
    return client


async def _until_gone(writing: Awaitable[None], responder: Responder) -> None:
    """Write until the end, or until nobody reads any more."""
    work, gone = asyncio.ensure_future(writing), asyncio.ensure_future(responder.gone())
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (work, gone):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await work


async def _refuse(
    responder: Responder, status: int, code: int, reason: str, id_: int | str | None = None, data: object = None
) -> None:
    await responder.whole(status, error_bytes(id_, code, reason, data), [_JSON])

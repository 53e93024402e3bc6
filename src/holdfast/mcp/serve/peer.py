"""One client of ours: its requests in and their answers out, in both eras of the protocol, whatever carries them."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from holdfast.mcp.handshake import LEGACY, MODERN
from holdfast.mcp.serve.service import Client, Handler, Service
from holdfast.mcp.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Incoming,
    McpError,
    RpcError,
    error_bytes,
    notification_bytes,
    read_object,
    read_value,
    request_bytes,
    result_bytes,
)

__all__ = ["PREFIX", "Exchange", "Outgoing", "Peer", "client_of"]

_log = logging.getLogger(__name__)
PREFIX = "io.modelcontextprotocol/"
_INTERNAL = -32603
_MAX_OPEN = 256
_ASK_S = 600.0
_CACHED = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}
)
_ONLY_OLDER = frozenset({"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_LISTENED = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}


class Outgoing(NamedTuple):
    """One message to the client."""

    data: bytes
    about: int | str | None = None
    """The client's request that it belongs to."""
    is_answer: bool = False
    """It is the answer to that request; nothing follows."""
    code: int | None = None
    """Of an answer that is an error."""


class Exchange:
    """One request that is being answered."""

    def __init__(self, peer: "Peer", id_: int | str, client: Client, params: Mapping[str, Any]) -> None:
        self.id = id_
        self.client = client
        self._peer = peer
        meta = params.get("_meta")
        self._token: Any = cast("dict[str, Any]", meta).get("progressToken") if isinstance(meta, dict) else None
        self._done = -1.0

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something that belongs to this request."""
        self._peer.send(Outgoing(notification_bytes(method, params), self.id))

    def progress(self, done: float, message: str = "", total: float | None = None) -> None:
        """Say how far the work is, if the client wants to know; only ever forward."""
        if self._token is None or done <= self._done:
            return
        self._done = done
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self.notify("notifications/progress", params)

    async def ask(self, method: str, params: Mapping[str, Any], timeout_s: float = _ASK_S) -> dict[str, Any]:
        """Ask an older client something while its request waits; newer ones are asked by the result.

        Raises:
            RpcError: The client answered with an error.
            McpError: It did not answer.
        """
        return await self._peer.ask(method, params, self.id, timeout_s)


class Peer:
    """Speaks with one client. `send` must take a message at once, in order, and never raise."""

    def __init__(self, service: Service, send: Callable[[Outgoing], None]) -> None:
        self.send = send
        self.client: Client | None = None
        """An older client, once it has said who it is."""
        self._service = service
        self._open: dict[int | str, asyncio.Task[None]] = {}
        self._asked: dict[int, asyncio.Future[Incoming]] = {}
        self._next = 0
        self._stop_listening: Callable[[], None] | None = None

    @property
    def is_busy(self) -> bool:
        """Some request is not answered yet."""
        return bool(self._open)

    def take(self, message: Incoming, client: Client | None = None) -> None:
        """Take one message. It raises nothing: what is wrong is answered.

        Args:
            message: The message.
            client: Who sends it, where that is already known from its envelope.
        """
        id_ = message.id
        if message.method is None:
            self._take_answer(message)
        elif id_ is None:
            self._hear(message.method, message)
        elif isinstance(id_, float) or id_ in self._open:
            reason = "a request with this id is still open" if id_ in self._open else "an id is a string or an integer"
            self._refuse(id_, INVALID_REQUEST, reason)
        elif len(self._open) >= _MAX_OPEN:
            self._refuse(id_, INVALID_REQUEST, f"more than {_MAX_OPEN} requests are open; wait for some answers")
        else:
            task = self._open[id_] = asyncio.ensure_future(self._serve(id_, message.method, message, client))
            task.add_done_callback(lambda _: self._open.pop(id_, None))

    async def ask(self, method: str, params: Mapping[str, Any], about: int | str, timeout_s: float) -> dict[str, Any]:
        """See `Exchange.ask`."""
        key = self._next = self._next + 1
        answer = self._asked[key] = asyncio.get_running_loop().create_future()
        self.send(Outgoing(request_bytes(key, method, params), about))
        try:
            async with asyncio.timeout(timeout_s):
                message = await answer
        except TimeoutError as error:
            raise McpError(f"the client did not answer {method} within {timeout_s:.0f} s") from error
        finally:
            del self._asked[key]
        if message.error is not None:
            raise RpcError(int(message.error.code), message.error.message[:500] or "no reason was given")
        return read_object(message.result)

    async def wait(self, seconds: float) -> None:
        """Wait until every request is answered, but not longer than this."""
        if self._open:
            await asyncio.wait(list(self._open.values()), timeout=seconds)

    async def close(self) -> None:
        """The client is gone: end what still works for it."""
        if self._stop_listening is not None:
            self._stop_listening()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(McpError("the client is gone"))
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def cancel(self, id_: int | str) -> None:
        """Nobody wants the answer to this request any more."""
        task = self._open.get(id_)
        if task is not None:
            task.cancel()

    # Inside.

    def _take_answer(self, message: Incoming) -> None:
        waiting = None if message.key is None else self._asked.get(message.key)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def _hear(self, method: str, message: Incoming) -> None:
        if method != "notifications/cancelled":
            return
        try:
            id_ = read_object(message.params).get("requestId")
        except McpError:
            return
        if isinstance(id_, int | str):
            self.cancel(id_)

    def _refuse(self, id_: object, code: int, message: str) -> None:
        about = id_ if isinstance(id_, int | str) else None
        self.send(Outgoing(error_bytes(id_, code, message), about, is_answer=True, code=code))

    async def _serve(self, id_: int | str, method: str, message: Incoming, client: Client | None) -> None:
        try:
            result = await self._result(id_, method, message, client)
        except RpcError as error:
            data = error_bytes(id_, error.code, str(error), error.data)
            self.send(Outgoing(data, id_, is_answer=True, code=error.code))
        except McpError as error:
            self._refuse(id_, INVALID_REQUEST, str(error))
        except Exception:  # noqa: BLE001 - the edge of the server: whatever a handler does, the client is answered
            _log.exception("the request %s of a client failed", method)
            self._refuse(id_, _INTERNAL, "the server failed to answer this; its log says why")
        else:
            self.send(Outgoing(result_bytes(id_, result), id_, is_answer=True))

    async def _result(self, id_: int | str, method: str, message: Incoming, client: Client | None) -> dict[str, Any]:
        params = _params(message)
        asking = client or client_of(params)
        if asking is None:
            asking = self.client
            if method == "initialize":
                return self._initialize(params)
            if method == "ping":
                return {}
            if asking is None:
                raise RpcError(INVALID_REQUEST, f"{method} came before initialize; send that first")
        exchange = Exchange(self, id_, asking, params)
        result = await self._handler(method, asking)(exchange, params)
        return _finished(method, result) if asking.is_modern else result

    def _handler(self, method: str, client: Client) -> Handler:
        own: dict[str, Handler] = (
            {"server/discover": self._discover, "subscriptions/listen": self._listen} if client.is_modern else {}
        )
        found = own.get(method) or self._service.handlers.get(method)
        if found is None or (client.is_modern and method in _ONLY_OLDER):
            raise RpcError(METHOD_NOT_FOUND, f"this server does not know the method {method!r}")
        return found

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "initialize needs a protocolVersion")
        version = wanted if wanted in LEGACY else LEGACY[0]
        self.client = Client(version, _object(params.get("capabilities")), _object(params.get("clientInfo")))
        if self._stop_listening is None:
            self._stop_listening = self._service.changes.listen(self._tell)
        service = self._service
        said = {"instructions": service.instructions} if service.instructions else {}
        return {
            "protocolVersion": version,
            "capabilities": service.capabilities,
            "serverInfo": service.info,
            **said,
        }

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self.send(Outgoing(notification_bytes(method, params or None)))

    async def _discover(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        del exchange, params
        service = self._service
        said = {"instructions": service.instructions} if service.instructions else {}
        return {
            "supportedVersions": [MODERN, *LEGACY],
            "capabilities": {name: value for name, value in service.capabilities.items() if name != "logging"},
            "_meta": {f"{PREFIX}serverInfo": service.info},
            **said,
        }

    async def _listen(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        """One stream of changes, until the client ends it."""
        wanted = _object(params.get("notifications"))
        honoured: dict[str, Any] = {name: True for name in _LISTENED.values() if wanted.get(name) is True}
        uris = wanted.get("resourceSubscriptions")
        if isinstance(uris, list) and uris:
            honoured["resourceSubscriptions"] = uris
        meta = {f"{PREFIX}subscriptionId": exchange.id}

        def tell(method: str, what: dict[str, Any]) -> None:
            is_wanted = honoured.get(_LISTENED.get(method, "")) or what.get("uri") in honoured.get(
                "resourceSubscriptions", ()
            )
            if is_wanted:
                exchange.notify(method, {**what, "_meta": meta})

        stop = self._service.changes.listen(tell)
        try:
            exchange.notify("notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": meta})
            await asyncio.get_running_loop().create_future()
        finally:
            stop()
        return {"_meta": meta}


def client_of(params: Mapping[str, Any]) -> Client | None:
    """Who sends a request of the newer protocol, as its envelope says; None for one of the older.

    Raises:
        RpcError: The envelope is broken, or names a version that is not known here.
    """
    meta = _object(params.get("_meta"))
    version = meta.get(f"{PREFIX}protocolVersion")
    if version is None:
        return None
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, "the protocol version must be a string")
    if version != MODERN:
        supported = {"supported": [MODERN, *LEGACY], "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, f"the protocol version {version[:40]!r} is not known here", supported)
    capabilities = meta.get(f"{PREFIX}clientCapabilities")
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"params._meta needs {PREFIX}clientCapabilities")
    return Client(version, cast("dict[str, Any]", capabilities), _object(meta.get(f"{PREFIX}clientInfo")))


def _params(message: Incoming) -> dict[str, Any]:
    try:
        value = read_value(message.params)
    except McpError as error:
        raise RpcError(INVALID_PARAMS, "params cannot be read") from error
    if value is not None and not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, "params must be an object")
    return cast("dict[str, Any]", value or {})


def _finished(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """What the newer protocol wants of every result."""
    whole: dict[str, Any] = {"resultType": "complete", **result}
    if method in _CACHED and whole["resultType"] == "complete":
        whole = {"ttlMs": 0, "cacheScope": "private", **whole}
    return whole


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

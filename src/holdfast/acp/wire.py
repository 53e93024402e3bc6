"""JSON-RPC 2.0, a message a line: what the editor asks is answered, and the editor can be asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec

from holdfast.contract.errors import HoldfastError

__all__ = ["INVALID_PARAMS", "METHOD_NOT_FOUND", "NOT_FOUND", "Handler", "Peer", "RpcError", "as_list", "as_object"]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FOUND = -32002
CANCELLED = -32800

Params = dict[str, Any]
Handler = Callable[[str, Params], Awaitable[Any]]
_CANCEL = "$/cancel_request"
_log = logging.getLogger(__name__)


def as_object(value: Any) -> Params:
    """A JSON object; anything else counts as an empty one."""
    return cast("Params", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON array; anything else counts as an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


class RpcError(Exception):
    """An answer that is an error; the message is for whoever reads the editor's log."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Peer:
    """The editor at the other end. Every request gets one answer, whatever happens to it."""

    def __init__(self, write: Callable[[bytes], None], handle: Handler) -> None:
        self._write = write
        self._handle = handle
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self._working: dict[object, asyncio.Task[None]] = {}
        self._noting: set[asyncio.Task[None]] = set()
        self._is_closed = False

    # What comes in.

    def take(self, line: bytes) -> None:
        """Take one line. Requests and notifications begin in the order in which they came, and run side by side."""
        try:
            message: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            self._send({"id": None, "error": {"code": PARSE_ERROR, "message": f"this line is not JSON: {error}"}})
            return
        if not isinstance(message, dict):
            self._refuse("a message is one JSON object")
            return
        fields = cast("Params", message)
        method = fields.get("method")
        if isinstance(method, str):
            self._begin(method, fields)
        elif "id" in fields and ("result" in fields or "error" in fields):
            self._answered(fields)
        else:
            self._refuse("a message has a method, or is the answer to one")

    def refuse_line(self, reason: str) -> None:
        """A line could not be taken at all."""
        self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        self._send({"id": None, "error": {"code": INVALID_REQUEST, "message": reason}})

    def _begin(self, method: str, fields: Params) -> None:
        params = as_object(fields.get("params"))
        if method == _CANCEL:
            task = self._working.get(params.get("requestId"))
            if task is not None:
                task.cancel()
            return
        if "id" not in fields:
            task = asyncio.create_task(self._note(method, params))
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)
            return
        id_: Any = fields["id"]
        if not isinstance(id_, int | str) or id_ in self._working:
            self._send({"id": None, "error": {"code": INVALID_REQUEST, "message": f"this id cannot be used: {id_!r}"}})
            return
        self._working[id_] = asyncio.create_task(self._answer(id_, method, params))

    async def _note(self, method: str, params: Params) -> None:
        try:
            await self._handle(method, params)
        except (RpcError, HoldfastError) as error:
            _log.warning("the editor's notification %s: %s", method, error)

    async def _answer(self, id_: object, method: str, params: Params) -> None:
        try:
            answer: Params = {"result": await self._handle(method, params)}
        except RpcError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        except HoldfastError as error:
            answer = {"error": {"code": INVALID_PARAMS, "message": str(error)}}
        except asyncio.CancelledError:
            answer = {"error": {"code": CANCELLED, "message": "the request was cancelled"}}
        except Exception:  # noqa: BLE001 - an edge of its own: one request, one answer
            _log.exception("the editor's request %s failed", method)
            answer = {"error": {"code": INTERNAL_ERROR, "message": "internal error; the log file tells more"}}
        self._working.pop(id_, None)
        self._send({"id": id_, **answer})

    def _answered(self, fields: Params) -> None:
        waiting = self._asked.pop(fields["id"], None) if isinstance(fields["id"], int) else None
        if waiting is None or waiting.done():
            return
        if fields.get("error") is None:
            waiting.set_result(fields.get("result"))
            return
        about = as_object(fields["error"])
        code = about.get("code")
        said = str(about.get("message", fields["error"]))
        waiting.set_exception(RpcError(code if isinstance(code, int) else 0, said))

    # What goes out.

    async def ask(self, method: str, params: Params) -> Any:
        """Ask the editor and wait for its answer; whoever stops waiting tells the editor so.

        Raises:
            RpcError: The editor says no, or is gone.
        """
        if self._is_closed:
            raise RpcError(0, "the editor is gone")
        self._count += 1
        id_ = self._count
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[id_] = waiting
        self._send({"id": id_, "method": method, "params": params})
        try:
            return await waiting
        except asyncio.CancelledError:
            self.tell(_CANCEL, {"requestId": id_})
            raise
        finally:
            self._asked.pop(id_, None)

    def tell(self, method: str, params: Params) -> None:
        """Tell the editor something that needs no answer."""
        self._send({"method": method, "params": params})

    def _send(self, message: Params) -> None:
        self._write(msgspec.json.encode({"jsonrpc": "2.0", **message}, enc_hook=str))

    def hang_up(self) -> None:
        """The editor is gone: nobody answers any more."""
        self._is_closed = True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(RpcError(0, "the editor is gone"))

    async def settle(self) -> None:
        """Stop what is under way, and wait until every request has its answer."""
        tasks = [*self._working.values(), *self._noting]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

"""What we ask the program at the other end besides permission: its hook functions and its MCP servers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from holdfast.contract import HoldfastError
from holdfast.hooks import HookFailed
from holdfast.mcp.wire import McpError

__all__ = ["HostCalls", "HostFailed"]

Line = dict[str, Any]


class HostFailed(HoldfastError):
    """The host answered with an error, or went away."""


class HostCalls:
    """Requests of ours that wait for the host's answer."""

    def __init__(self, write: Callable[[Line], None]) -> None:
        self._write = write
        self._open: dict[str, asyncio.Future[Line]] = {}
        self._count = 0
        self._gone = ""

    async def ask(self, request: Line) -> Line:
        """Put a request to the host and wait; one that nobody waits for any more is taken back.

        Raises:
            HostFailed: It could not, or is gone.
        """
        if self._gone:
            raise HostFailed(self._gone)
        self._count += 1
        request_id = f"holdfast_{self._count}"
        answer: asyncio.Future[Line] = asyncio.get_running_loop().create_future()
        self._open[request_id] = answer
        self._write({"type": "control_request", "request_id": request_id, "request": request})
        try:
            return await answer
        except asyncio.CancelledError:
            self._write({"type": "control_cancel_request", "request_id": request_id})
            raise
        finally:
            del self._open[request_id]

    def take(self, response: Mapping[str, Any]) -> bool:
        """Take an answer of the host; false when it is none to a request of this kind."""
        waiting = self._open.get(str(response.get("request_id", "")))
        if waiting is None or waiting.done():
            return str(response.get("request_id", "")).startswith("holdfast_")
        if response.get("subtype") == "error":
            waiting.set_exception(HostFailed(str(response.get("error") or "the host gave no reason")))
        else:
            said: Any = response.get("response")
            if said is None or isinstance(said, dict):
                waiting.set_result(cast("Line", said or {}))
            else:
                waiting.set_exception(HostFailed(f"its answer must be a JSON object, got {said!r}"))
        return True

    def close(self, reason: str) -> None:
        """Nobody will answer any more."""
        self._gone = self._gone or reason
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(HostFailed(reason))

    async def ask_hook(self, id_: str, event: Line, tool_use_id: str | None) -> Line:
        """Let one of the host's hook functions hear an event."""
        request: Line = {"subtype": "hook_callback", "callback_id": id_, "input": event}
        if tool_use_id:
            request["tool_use_id"] = tool_use_id
        try:
            return await self.ask(request)
        except HostFailed as error:
            raise HookFailed(f"the host could not run it: {error}") from error

    async def ask_server(self, name: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Hand a message to one of the host's MCP servers."""
        try:
            said = await self.ask({"subtype": "mcp_message", "server_name": name, "message": dict(message)})
        except HostFailed as error:
            raise McpError(f"The MCP server {name!r} of the host: {error}.") from error
        answer: Any = said.get("mcp_response")
        return cast("Line", answer) if isinstance(answer, dict) else None

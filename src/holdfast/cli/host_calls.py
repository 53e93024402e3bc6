"""What we ask the program at the other end besides permission: its hook functions and its MCP servers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from holdfast.contract import HoldfastError, UsageError
from holdfast.events import to_builtins
from holdfast.hooks import Hook, HookAnswer, HookFailed
from holdfast.hooks.answers import read_answer
from holdfast.hooks.events import EVENTS
from holdfast.hooks.inputs import HookInput
from holdfast.mcp.wire import McpError

__all__ = ["HostCalls", "HostFailed", "hooks_of_host"]

Line = dict[str, Any]
_ON_FAILURE = {"block": "deny", "continue": "ignore"}
_LATER = frozenset({"async", "asyncTimeout"})


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

    async def ask_server(self, name: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Hand a message to one of the host's MCP servers."""
        try:
            said = await self.ask({"subtype": "mcp_message", "server_name": name, "message": dict(message)})
        except HostFailed as error:
            raise McpError(f"The MCP server {name!r} of the host: {error}.") from error
        answer: Any = said.get("mcp_response")
        return cast("Line", answer) if isinstance(answer, dict) else None


def hooks_of_host(given: Any, calls: HostCalls) -> list[Hook]:
    """The hooks that `initialize` brings: functions of the host by their ids.

    Raises:
        UsageError: One of them could never run, so the host must not believe that it does.
    """
    if not given:
        return []
    if not isinstance(given, dict):
        raise UsageError(f"hooks must be an object of events, got {given!r}")
    found: list[Hook] = []
    for event, matchers in cast("Line", given).items():
        if event not in EVENTS:
            raise UsageError(f"hooks: there is no event {event!r}; known are {', '.join(sorted(EVENTS))}")
        for matcher in cast("list[Any]", matchers) if isinstance(matchers, list) else [matchers]:
            if not isinstance(matcher, dict):
                raise UsageError(f"hooks.{event} must be a list of matchers, got {matcher!r}")
            found += _of_matcher(event, cast("Line", matcher), calls)
    return found


def _of_matcher(event: str, matcher: Line, calls: HostCalls) -> list[Hook]:
    ids = matcher.get("hookCallbackIds")
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in cast("list[Any]", ids)):
        raise UsageError(f"hooks.{event}: hookCallbackIds must be a list of texts, got {ids!r}")
    on_failure = matcher.get("onFailure")
    timeout = matcher.get("timeout")
    seconds = float(timeout) if isinstance(timeout, int | float) and timeout > 0 else EVENTS[event].timeout_s
    pattern = matcher.get("matcher")
    return [
        Hook(
            event,
            _Callback(calls, id_).run,
            matcher=str(pattern) if pattern else "*",
            on_failure=None if on_failure is None else cast("Any", _ON_FAILURE.get(str(on_failure), "deny")),
            timeout_s=seconds,
            label=f"callback {id_} of the host",
            origin="initialize",
        )
        for id_ in cast("list[str]", ids)
    ]


class _Callback:
    """One function of the host."""

    def __init__(self, calls: HostCalls, id_: str) -> None:
        self._calls = calls
        self._id = id_

    async def run(self, event: HookInput) -> HookAnswer:
        """Call it with the event's record."""
        told: Line = to_builtins(cast("Any", event))
        request: Line = {"subtype": "hook_callback", "callback_id": self._id, "input": told}
        if told.get("tool_use_id"):
            request["tool_use_id"] = told["tool_use_id"]
        try:
            said = await self._calls.ask(request)
        except HostFailed as error:
            raise HookFailed(f"the host could not run it: {error}") from error
        return read_answer(type(event), {key: value for key, value in said.items() if key not in _LATER})

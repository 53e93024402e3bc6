"""Ask a tool of an MCP server as a hook: the event fills its input, and its answer is read like a command's output."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from holdfast.events import to_builtins
from holdfast.hooks.answers import HookAnswer, HookFailed, read_output
from holdfast.hooks.inputs import HookInput

__all__ = ["CallServer", "McpToolRunner", "ToolSaid", "filled"]

_PLACE: Final = re.compile(r"\$\{([\w.\-]+)\}")
_MAX_DEPTH: Final = 32
_SHOWN_CHARS: Final = 300


class ToolSaid(NamedTuple):
    """What came back."""

    text: str
    is_error: bool = False


CallServer = Callable[[str, str, Mapping[str, Any]], Awaitable[ToolSaid]]
"""Calls a tool (server, tool, input). Raises `HookFailed` when it cannot be called."""


class McpToolRunner:
    """Runs the hooks of a session that call tools of servers."""

    def __init__(self, call: CallServer) -> None:
        self._call = call

    async def run(self, handler: Mapping[str, Any], event: HookInput, timeout_s: float | None) -> HookAnswer:
        """Call the tool and read its answer.

        Raises:
            HookFailed: It could not be called, failed, or said nothing that can be relied upon.
        """
        server, tool = str(handler["server"]), str(handler["tool"])
        given: Any = handler.get("input") or {}
        if not isinstance(given, Mapping):
            raise HookFailed(f"its input is {given!r}; give an object")
        wanted = filled(cast("Mapping[str, Any]", given), cast("dict[str, Any]", to_builtins(event)))
        limit_s = type(event).timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(limit_s):
                said = await self._call(server, tool, wanted)
        except TimeoutError:
            raise HookFailed(f"{server}: {tool} gave no answer within {limit_s:g} s") from None
        if said.is_error:
            raise HookFailed(f"{server}: {tool} failed: {said.text[:_SHOWN_CHARS]}", is_soft=True)
        return read_output(type(event), 0, said.text, "")


def filled(given: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """The input with `${tool_input.x}` and other places of the event put in.

    A text that is nothing but one place becomes its value; inside other text it is put in as text. What the event does
    not have is empty.
    """
    return {name: _filled(value, event, 0) for name, value in given.items()}


def _filled(value: Any, event: Mapping[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise HookFailed("its input is nested too deeply")
    if isinstance(value, str):
        if (whole := _PLACE.fullmatch(value)) is not None:
            found = _value(event, whole[1])
            return "" if found is None else found
        return _PLACE.sub(lambda place: _as_text(_value(event, place[1])), value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return {name: _filled(inner, event, depth + 1) for name, inner in entries.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, event, depth + 1) for inner in cast("Sequence[Any]", value)]
    return value


def _value(event: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(event, Mapping):
            event = cast("Mapping[str, Any]", event).get(name)
        elif isinstance(event, list | tuple) and name.isascii() and name.isdigit():
            items = cast("Sequence[Any]", event)
            event = items[int(name)] if int(name) < len(items) else None
        else:
            return None
    return event


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    import msgspec  # noqa: PLC0415 - few places hold more than text

    return msgspec.json.encode(value).decode()

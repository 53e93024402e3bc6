"""The control requests of a host, once the session runs: each is done, or refused in words that name it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from holdfast.app.live_settings import apply_settings, rename_session, settings_now, think
from holdfast.cli.file_wishes import rewind_files, seed_read_state
from holdfast.cli.offers import model_list
from holdfast.cli.server_wishes import mcp_message, mcp_reconnect, mcp_set_servers, mcp_status, mcp_toggle
from holdfast.cli.stream_json import COMPATIBLE_VERSION
from holdfast.contract import UsageError

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["grant"]

Line = dict[str, Any]
_AS_AT_FIRST = frozenset({"", "default", "inherit"})
_PLANS_WITH = {"opusplan": "opus"}


async def grant(agent: "RunningAgent", wish: str, fields: Line) -> Line:
    """Do what a host wishes; returns the answer's fields.

    Raises:
        HoldfastError: It cannot be done, or this version does not do it.
    """
    doing = _WISHES.get(wish) or _looks().get(wish)
    if doing is None:
        raise UsageError(f"the control request {wish!r} is not known here")
    return await doing(agent, fields)


def _looks() -> Mapping[str, Callable[["RunningAgent", Line], Awaitable[Line]]]:
    from holdfast.cli.look_wishes import LOOKS  # noqa: PLC0415 - few hosts look

    return LOOKS


async def _set_mode(agent: "RunningAgent", fields: Line) -> Line:
    return {"mode": agent.change_mode(str(fields.get("mode")))}


async def _set_model(agent: "RunningAgent", fields: Line) -> Line:
    name = str(fields.get("model") or "").strip().removesuffix("[1m]")
    agent.change_model(agent.first_model if name in _AS_AT_FIRST else _PLANS_WITH.get(name, name))
    return {}


async def _list_models(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    return {"models": model_list(agent)}


async def _context_usage(agent: "RunningAgent", fields: Line) -> Line:
    from holdfast.cli.context_wish import context_usage  # noqa: PLC0415 - few hosts ask for it

    return await context_usage(agent, fields)


async def _session_cost(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    cost = round(agent.cost_usd or 0.0, 6)
    return {"text": f"This session has cost {cost:.4f} USD so far.", "total_cost_usd": cost}


async def _set_thinking(agent: "RunningAgent", fields: Line) -> Line:
    tokens, display = fields.get("max_thinking_tokens"), fields.get("thinking_display")
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0):
        raise UsageError(f"max_thinking_tokens must be a number from 0 on, or null, got {tokens!r}")
    if display not in (None, "summarized", "omitted"):
        raise UsageError(f"thinking_display must be summarized, omitted or null here, got {display!r}")
    think(agent, tokens, display, has_display="thinking_display" in fields)
    return {}


async def _apply_settings(agent: "RunningAgent", fields: Line) -> Line:
    given: Any = fields.get("settings")
    if not isinstance(given, dict):
        raise UsageError(f"settings must be an object, got {given!r}")
    apply_settings(agent, cast("Line", given))
    return {}


async def _get_settings(agent: "RunningAgent", fields: Line) -> Line:
    del fields
    return settings_now(agent)


async def _rename(agent: "RunningAgent", fields: Line) -> Line:
    title, session_id = fields.get("title"), fields.get("session_id")
    if not isinstance(title, str) or not title.strip():
        raise UsageError(f"title must be a string, got {title!r}")
    if session_id not in (None, agent.session_id):
        raise UsageError(f"this is the session {agent.session_id}, not {session_id!r}")
    rename_session(agent, title.strip())
    return {}


async def _version(agent: "RunningAgent", fields: Line) -> Line:
    del agent, fields
    return {"version": COMPATIBLE_VERSION}


async def _noted(agent: "RunningAgent", fields: Line) -> Line:
    """Lines go out at once, whoever watches."""
    del agent, fields
    return {}


async def _stop_task(agent: "RunningAgent", fields: Line) -> Line:
    task_id = str(fields.get("task_id"))
    if not await agent.stop_task(task_id):
        raise UsageError(f"there is no task {task_id!r}")
    return {}


_WISHES: dict[str, Callable[["RunningAgent", Line], Awaitable[Line]]] = {
    "set_permission_mode": _set_mode,
    "set_model": _set_model,
    "list_models": _list_models,
    "set_max_thinking_tokens": _set_thinking,
    "apply_flag_settings": _apply_settings,
    "get_settings": _get_settings,
    "mcp_status": mcp_status,
    "mcp_reconnect": mcp_reconnect,
    "mcp_toggle": mcp_toggle,
    "mcp_set_servers": mcp_set_servers,
    "mcp_message": mcp_message,
    "rewind_files": rewind_files,
    "seed_read_state": seed_read_state,
    "rename_session": _rename,
    "get_binary_version": _version,
    "set_has_subscribers": _noted,
    "get_context_usage": _context_usage,
    "get_session_cost": _session_cost,
    "stop_task": _stop_task,
}

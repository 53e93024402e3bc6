"""What fills the model's window, as hosts draw it: by category, file, tool and agent."""

from typing import TYPE_CHECKING, Any

from holdfast.app.ledger import Ledger, ledger_of
from holdfast.cli.result_line import bare_model
from holdfast.lib.tokens import estimate_tokens

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["context_usage"]

Line = dict[str, Any]
_SIDE = 10
_COLOURS = {
    "system_prompt": "gray",
    "system_tools": "cyan",
    "mcp_tools": "magenta",
    "mcp_tools_deferred": "gray",
    "memory_files": "yellow",
    "messages": "blue",
    "autocompact_buffer": "gray",
    "free_space": "gray",
}
_NAMES = {"mcp_tools": "MCP tools", "mcp_tools_deferred": "MCP tools (deferred)"}
_SOURCES = {"user": "userSettings", "project": "projectSettings", "managed": "policySettings", "flag": "flagSettings"}


async def context_usage(agent: "RunningAgent", fields: Line) -> Line:
    """The window as it is now; the sum is the provider's count where there is one, its parts are estimates."""
    del fields
    ledger, window = ledger_of(agent, counts_all=True), agent.model.context_window or 0
    categories = _categories(ledger, window)
    total = sum(one["tokens"] for one in categories if one["kind"] == "used")
    return {
        "categories": categories,
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * total / window, 2) if window else 0,
        "gridRows": _grid(categories, window),
        "model": bare_model(agent.model.name),
        "memoryFiles": [
            {"path": file.path, "type": file.kind.capitalize(), "tokens": estimate_tokens(file.text)}
            for file in agent.instructions
            if file.text
        ],
        "mcpTools": [
            {"name": one.name, "serverName": one.server, "tokens": one.tokens, "isLoaded": one.is_loaded}
            for one in ledger.described
            if one.server
        ],
        "systemTools": [{"name": entry.name, "tokens": entry.tokens} for entry in ledger.tools],
        "deferredBuiltinTools": [
            {"name": one.name, "tokens": one.tokens, "isLoaded": False}
            for one in ledger.described
            if not (one.server or one.is_loaded)
        ],
        "agents": _agents(agent),
        "isAutoCompactEnabled": ledger.compacts_at is not None,
        **({} if ledger.compacts_at is None else {"autoCompactThreshold": ledger.compacts_at}),
        "apiUsage": None,
    }


def _categories(ledger: Ledger, window: int) -> list[Line]:
    memory = sum(entry.tokens for entry in ledger.instructions)
    fixed = {
        "system_prompt": max(0, ledger.system - memory),
        "system_tools": sum(entry.tokens for entry in ledger.tools),
        "mcp_tools": sum(entry.tokens for entry in ledger.servers),
        "memory_files": memory,
    }
    said = ledger.used - sum(fixed.values())
    if said <= 0:  # our estimate of the rest is too high
        said = ledger.said + sum(entry.tokens for entry in ledger.results)
    used = {**fixed, "messages": said}
    kept_free = 0 if ledger.compacts_at is None else window - ledger.compacts_at
    free = max(0, window - sum(used.values()))
    deferred = sum(one.tokens for one in ledger.described if one.server and not one.is_loaded)
    return [
        *(_category(id_, tokens, "used") for id_, tokens in used.items()),
        {**_category("mcp_tools_deferred", deferred, "deferred"), "isDeferred": True},
        _category("autocompact_buffer", min(kept_free, free), "buffer"),
        _category("free_space", free - min(kept_free, free), "free"),
    ]


def _category(id_: str, tokens: int, kind: str) -> Line:
    name = _NAMES.get(id_, id_.replace("_", " ").capitalize())
    return {"id": id_, "name": name, "tokens": tokens, "color": _COLOURS[id_], "kind": kind}


def _agents(agent: "RunningAgent") -> list[Line]:
    """Those that somebody wrote; what the model is told of each."""
    return [
        {
            "agentType": name,
            "source": _SOURCES.get(found.source, found.source),
            **({"path": found.path} if found.path else {}),
            "tokens": estimate_tokens(f"{name}: {found.description or ''}"),
        }
        for name, found in agent.definitions.agents.items()
        if name in agent.agent_types
    ]


def _grid(categories: list[Line], window: int) -> list[list[Line]]:
    """The window as squares, row by row."""
    if not window:
        return []
    square = window / _SIDE**2
    squares: list[Line] = []
    for one in categories:
        if one["kind"] == "deferred" or not one["tokens"]:
            continue
        share = one["tokens"] / square
        about = {
            "color": one["color"],
            "isFilled": one["kind"] == "used",
            "categoryName": one["name"],
            "tokens": one["tokens"],
            "percentage": round(100 * one["tokens"] / window, 2),
        }
        count = max(1, round(share))
        squares += [{**about, "squareFullness": round(min(1.0, share - index), 3)} for index in range(count)]
    return [squares[start : start + _SIDE] for start in range(0, min(len(squares), _SIDE**2), _SIDE)]

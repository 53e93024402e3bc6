"""What fills the model's window: by our estimate, for each tool, server and kind of message."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from holdfast.lib.tokens import estimate_bytes, estimate_tokens
from holdfast.models.tokens import estimate_block_tokens

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["Described", "Entry", "Ledger", "ledger_of"]


class Entry(NamedTuple):
    """One line of the ledger."""

    name: str
    tokens: int
    number: int = 0
    """Of how many: tools of a server, calls of a tool."""


class Described(NamedTuple):
    """One tool, and what describing it costs."""

    name: str
    tokens: int
    server: str = ""
    """The MCP server that it comes from."""
    is_loaded: bool = True
    """False: it is named only, until somebody wants it."""


class Ledger(NamedTuple):
    """All of it."""

    window: int
    used: int
    """By the provider's last count where there is one; the entries are estimates and need not add up to it."""
    system: int
    instructions: tuple[Entry, ...]
    """Files of the user and the project; they are part of the system prompt."""
    tools: tuple[Entry, ...]
    """What describing each tool costs, the dearest first."""
    servers: tuple[Entry, ...]
    """The same for the tools of each server."""
    results: tuple[Entry, ...]
    """What the results of each tool take in the conversation."""
    said: int
    """Prompts and answers."""
    deferred: int
    """Tools that are named only, until somebody wants them."""
    compacts_at: int | None
    """So many tokens make the conversation shorter by itself; None: nothing does."""
    described: tuple[Described, ...]
    """Every tool by itself, in the order they are offered."""


def ledger_of(agent: "RunningAgent", *, counts_all: bool = False) -> Ledger:
    """Count once; `counts_all`: also what tools would cost that are named only."""
    described = tuple(_described(agent, counts_all=counts_all))
    offered, servers = _tools(described)
    results, said = _conversation(agent)
    instructions = tuple(Entry(found.path, estimate_tokens(found.text)) for found in agent.instructions if found.text)
    window, choices = agent.model.context_window or 0, agent.loop.choices
    return Ledger(
        window=window,
        used=agent.context_tokens,
        system=sum(estimate_tokens(block.text) for block in agent.system_blocks),
        instructions=instructions,
        tools=offered,
        servers=servers,
        results=results,
        said=said,
        deferred=len(agent.tools.deferred()),
        compacts_at=int(choices.compact_at * window) if choices.auto_compact else None,
        described=described,
    )


def _described(agent: "RunningAgent", *, counts_all: bool) -> Iterator[Described]:
    from holdfast.registry import Pool  # noqa: PLC0415 - loaded with the tools

    deferred = {tool.name for tool in agent.tools.deferred()}
    prompt = agent.opened.executor.state.session.prompt
    for tool in agent.tools:
        is_loaded, tokens = tool.name not in deferred, 0
        if is_loaded or counts_all:
            tokens = estimate_bytes(Pool([tool]).to_bytes(agent.model.wire, prompt))
        server = "" if tool.mcp_info is None else tool.mcp_info.server
        yield Described(tool.name, tokens, server, is_loaded)


def _tools(described: Iterable[Described]) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    servers: dict[str, list[int]] = {}
    offered: list[Entry] = []
    for tool in described:
        if tool.is_loaded and tool.server:
            servers.setdefault(tool.server, []).append(tool.tokens)
        elif tool.is_loaded:
            offered.append(Entry(tool.name, tool.tokens))
    by_server = (Entry(name, sum(found), len(found)) for name, found in servers.items())
    return _dearest(offered), _dearest(by_server)


def _conversation(agent: "RunningAgent") -> tuple[tuple[Entry, ...], int]:
    names: dict[str, str] = {}
    results: dict[str, list[int]] = {}
    said = 0
    for message in agent.history:
        content: Any = message.get("content")
        is_list = isinstance(content, list)
        blocks = cast("list[dict[str, Any]]", content) if is_list else [{"type": "text", "text": content}]
        for block in blocks:
            tokens = estimate_block_tokens(block)
            if block.get("type") == "tool_use":
                names[str(block.get("id"))] = name = str(block.get("name"))
                results.setdefault(name, []).append(tokens)
            elif block.get("type") == "tool_result":
                results.setdefault(names.get(str(block.get("tool_use_id")), "other"), []).append(tokens)
            else:
                said += tokens
    return _dearest(Entry(name, sum(found), len(found)) for name, found in results.items()), said


def _dearest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: (-entry.tokens, entry.name)))

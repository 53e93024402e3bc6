"""ToolSearch: load tools that are told by name only, by their names or by words about them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from holdfast.contract import Args, Content, Text, Tool, ToolContext, ToolReference, ToolResult
from holdfast.registry import Pool

if TYPE_CHECKING:
    from holdfast.tools.search.tool_index import ToolIndex

__all__ = ["ToolSearch", "clear_description_cache"]

_SELECT = "select:"
_MAX_RESULTS = 50


class SearchArgs(Args):
    """What to look for."""

    query: Annotated[str, Field(description='"select:NAME,NAME" for exact names, or words; "+word" must be in a name')]
    max_results: Annotated[int, Field(description="At most so many", ge=1, le=_MAX_RESULTS)] = 5


class ToolSearch(Tool[SearchArgs, dict[str, Any]]):
    """Finds and loads deferred tools."""

    name = "ToolSearch"
    args_type = SearchArgs
    max_result_chars = 100_000
    read_only = True
    concurrency_safe = True
    session_state = True
    always_load = True

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self._pending: Callable[[], list[str]] = list
        self._index: ToolIndex | None = None

    def bind(self, pool: Pool, pending: Callable[[], list[str]]) -> None:
        """Take the tools to search, and who knows which servers are still on their way."""
        self._pool = pool
        self._pending = pending

    async def call(self, args: SearchArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Search, and load what was found."""
        del ctx
        pool = self._pool
        deferred: Sequence[Tool] = () if pool is None else pool.deferred()
        query = args.query.strip()
        if query.lower().startswith(_SELECT):
            found = self._selected(query[len(_SELECT) :])
        else:
            found = self._indexed(deferred).search(query, args.max_results)
        matches = found if pool is None else pool.load(found)
        out: dict[str, Any] = {"matches": matches, "query": args.query, "total_deferred_tools": len(deferred)}
        if pending := self._pending():
            out["pending_mcp_servers"] = pending
        return ToolResult(out)

    def to_blocks(self, out: dict[str, Any]) -> Content:
        """What the model reads: the tools themselves are in its list from the next answer on."""
        matches: list[str] = out["matches"]
        late = out.get("pending_mcp_servers")
        more = f" These servers are still being connected to: {', '.join(late)}; search again later." if late else ""
        if not matches:
            return f"None of {out['total_deferred_tools']} tools matches {out['query']!r}. Try other words.{more}"
        said = f"Loaded, call them now: {', '.join(matches)}.{more}"
        # Providers that know references read the tools here; for the others they stand in the list from now on.
        return (Text(said), *map(ToolReference, filter(self._waited, matches)))

    def _waited(self, name: str) -> bool:
        """The tool was not in the list from the start."""
        found = None if self._pool is None else self._pool.find(name)
        deferral = None if self._pool is None else self._pool.deferral
        return found is not None and deferral is not None and deferral.is_deferred(found.tool)

    def _selected(self, names: str) -> list[str]:
        if self._pool is None:
            return []
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        found = [self._known(name) for name in wanted]
        if None in found:
            by_name = {tool.name.lower(): tool.name for tool in self._pool}
            found = [known or by_name.get(name.lower()) for known, name in zip(found, wanted, strict=True)]
        return list(dict.fromkeys(name for name in found if name is not None))

    def _known(self, name: str) -> str | None:
        found = None if self._pool is None else self._pool.find(name)
        return None if found is None else found.tool.name

    def _indexed(self, tools: Sequence[Tool]) -> "ToolIndex":
        if self._index is None or self._index.tools is not tools:
            from holdfast.tools.search.tool_index import ToolIndex  # noqa: PLC0415 - with the first search

            self._index = ToolIndex(tools)
        return self._index

    def forget(self) -> None:
        """Read every description anew with the next search."""
        self._index = None


def clear_description_cache(tool: ToolSearch) -> None:
    """The descriptions may have changed: read them anew."""
    tool.forget()

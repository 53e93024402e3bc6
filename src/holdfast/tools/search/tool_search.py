"""ToolSearch: load tools that are told by name only, by their names or by words about them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from holdfast.contract import Args, Content, Tool, ToolContext, ToolResult
from holdfast.registry import Pool

__all__ = ["ToolSearch", "clear_description_cache"]

_SELECT = "select:"
_MAX_RESULTS = 50
_NAME_PART, _NAME_PART_REMOTE = 10, 12
_IN_NAME, _IN_NAME_REMOTE = 5, 6
_HINT, _DESCRIPTION = 4, 2


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
        self._index: _Index | None = None

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
        return f"Loaded, call them now: {', '.join(matches)}.{more}"

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

    def _indexed(self, tools: Sequence[Tool]) -> "_Index":
        if self._index is None or self._index.tools is not tools:
            self._index = _Index(tools)
        return self._index

    def forget(self) -> None:
        """Read every description anew with the next search."""
        self._index = None


def clear_description_cache(tool: ToolSearch) -> None:
    """The descriptions may have changed: read them anew."""
    tool.forget()


class _Column(NamedTuple):
    """One text of every tool, joined, so that one fast search looks through all of them."""

    text: str
    starts: list[int]

    def holding(self, word: str) -> Iterator[int]:
        """The tools whose text holds the word, each once."""
        at, last = self.text.find(word), -1
        while at >= 0:
            row = bisect_right(self.starts, at) - 1
            if row != last:
                yield row
            last = row
            following = self.starts[row + 1] if row + 1 < len(self.starts) else len(self.text)
            at = self.text.find(word, following)


class _Index:
    """The deferred tools, ready to be searched."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self._is_remote = [tool.mcp_info is not None for tool in tools]
        lowered = [tool.name.lower() for tool in tools]
        self._names = _column(lowered)
        order = sorted(range(len(tools)), key=lowered.__getitem__)
        self._rank = {row: place for place, row in enumerate(order)}
        self._hints = _column(tool.search_hint.lower() for tool in tools)
        self._descriptions = _column(_described(tool) for tool in tools)
        self._parts: dict[str, list[int]] = {}
        for row, tool in enumerate(tools):
            for part in set(_parts_of(tool.name)):
                self._parts.setdefault(part, []).append(row)

    def search(self, query: str, limit: int) -> list[str]:
        """The best names, by score and then by name."""
        words = [word for word in query.lower().split() if word.strip("+")]
        scores: dict[int, int] = {}
        kept: set[int] | None = None
        for word in words:
            is_needed, plain = word.startswith("+"), word.lstrip("+")
            found = self._score(plain)
            if is_needed:
                kept = set(found) if kept is None else kept & found.keys()
            for row, score in found.items():
                scores[row] = scores.get(row, 0) + score
        rows = scores.keys() if kept is None else kept
        best = nsmallest(limit, rows, key=lambda row: (-scores[row], self._rank[row]))
        return [self.tools[row].name for row in best]

    def _score(self, word: str) -> dict[int, int]:
        found = dict.fromkeys(self._descriptions.holding(word), _DESCRIPTION)
        for row in self._hints.holding(word):
            if word in self.tools[row].search_hint.lower().split():
                found[row] = found.get(row, 0) + _HINT
        exact = set(self._parts.get(word, ()))
        for row in {*exact, *self._names.holding(word)}:
            remote = self._is_remote[row]
            if row in exact:
                score = _NAME_PART_REMOTE if remote else _NAME_PART
            else:
                score = _IN_NAME_REMOTE if remote else _IN_NAME
            found[row] = found.get(row, 0) + score
        return found


def _column(texts: Iterable[str]) -> _Column:
    starts: list[int] = []
    at = 0
    parts: list[str] = []
    for text in texts:
        starts.append(at)
        parts.append(text)
        at += len(text) + 1
    return _Column("\n".join(parts), starts)


def _described(tool: Tool) -> str:
    return tool.description().lower().replace("\n", " ")


def _parts_of(name: str) -> Iterator[str]:
    """`mcp__git_hub__createIssue` is mcp, git, hub, create, issue."""
    for piece in name.replace("-", "_").split("_"):
        word = ""
        for char in piece:
            if char.isupper() and word and not word[-1].isupper():
                yield word.lower()
                word = ""
            word += char
        if word:
            yield word.lower()

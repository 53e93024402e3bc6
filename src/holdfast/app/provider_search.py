"""The search that Anthropic runs on its own side: beside the conversation, or as a tool of the conversation itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from holdfast.app.side_question import Account, side_answer
from holdfast.contract import ToolFailed
from holdfast.settings import Settings

if TYPE_CHECKING:
    from holdfast.tools.web._search import Found, Query

__all__ = ["PROVIDER_TOOL", "ProviderSearch"]

_TOKENS = 4_000
PROVIDER_TOOL: Mapping[str, Any] = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
"""As the provider wants it in a list of tools; it searches at most so often for one request."""


class ProviderSearch:
    """Asked in a request beside the conversation, so that rules, hooks and people have their say before each search."""

    name = "anthropic"

    def __init__(self, model: str, settings: Settings, account: Account | None = None) -> None:
        self._account = account
        self._model = model
        self._settings = settings

    async def search(self, query: "Query") -> "Sequence[Found] | str":
        """Ask a model to search; its own words count where it found no page."""
        import msgspec  # noqa: PLC0415 - with the first search

        from holdfast.models import ModelError  # noqa: PLC0415 - the same

        tool: dict[str, Any] = {**PROVIDER_TOOL}
        if query.allowed:
            tool["allowed_domains"] = list(query.allowed)
        elif query.blocked:
            tool["blocked_domains"] = list(query.blocked)
        try:
            blocks = await side_answer(
                self._model,
                self._settings,
                f"Search the web for this, and list what you find: {query.text}",
                max_output_tokens=_TOKENS,
                tools=msgspec.json.encode([tool]),
                account=self._account,
            )
        except ModelError as error:
            raise ToolFailed(f"the model {self._model!r} could not be asked to search: {error}") from error
        return _pages(blocks) or "".join(block["text"] for block in blocks if block["type"] == "text").strip()


def _pages(blocks: Sequence[Mapping[str, Any]]) -> "list[Found]":
    from holdfast.tools.web._search import Found  # noqa: PLC0415 - loaded already

    quoted = _quotes(blocks)
    found: list[Found] = []
    for block in blocks:
        if block.get("type") != "web_search_tool_result":
            continue
        content: Any = block.get("content")
        if isinstance(content, Mapping):
            code = cast("Mapping[str, Any]", content).get("error_code")
            raise ToolFailed(f"the search was refused by the provider: {code}")
        rows = [cast("Mapping[str, Any]", row) for row in content or () if isinstance(row, Mapping)]
        found += [
            Found(
                str(row.get("title", "")),
                str(row["url"]),
                quoted.get(str(row["url"])) or str(row.get("page_age") or ""),
            )
            for row in rows
            if row.get("url")
        ]
    return found


def _quotes(blocks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the answer quotes from each page: the pages themselves come encrypted."""
    quoted: dict[str, list[str]] = {}
    for block in blocks:
        for citation in block.get("citations") or ():
            if citation.get("type") == "web_search_result_location":
                quoted.setdefault(str(citation.get("url")), []).append(str(citation.get("cited_text", "")))
    return {url: " … ".join(dict.fromkeys(texts)) for url, texts in quoted.items()}

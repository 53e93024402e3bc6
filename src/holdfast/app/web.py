"""What the web tools need: a search service, a small model for long pages, and how pictures and PDFs are shown."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from holdfast.app.side_question import Account, asked_once, side_answer
from holdfast.contract import Content, Tool, ToolFailed
from holdfast.settings import Settings
from holdfast.tools.web.web_fetch import FetchChoices, WebFetch
from holdfast.tools.web.web_search import WebSearch

if TYPE_CHECKING:
    from holdfast.tools.web._search import Found, Query, SearchChoice, SearchService

__all__ = ["search_name", "web_tools"]

_SUMMARY_TOKENS = 4_000
_SEARCH_TOKENS = 4_000
_SEARCHES_A_CALL = 8
_DEFAULT_SEARCH_MODEL = "anthropic:haiku"
_KEY_VARIABLES: Final[Mapping[str, str]] = {
    "searxng": "SEARXNG_URL",
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "exa": "EXA_API_KEY",
}
"""What a service needs, and the variable that brings it; the first one that is set is used when no setting chooses."""
_SERVICES: Final = (*_KEY_VARIABLES, "ddgs", "anthropic")


def web_tools(
    settings: Settings | None = None, environ: Mapping[str, str] = os.environ, *, account: Account | None = None
) -> list[Tool]:
    """WebFetch, and WebSearch with the chosen service."""
    chosen = _chosen(settings)
    model = chosen.get("model")
    proxy = chosen.get("proxy")
    choices = FetchChoices(
        summarise=asked_once(model, settings, max_output_tokens=_SUMMARY_TOKENS, account=account)
        if isinstance(model, str) and settings is not None
        else None,
        obeys_robots=chosen.get("robots") is True,
        proxy=proxy if isinstance(proxy, str) else None,
        show_media=_show_media,
    )
    return [WebFetch(choices), WebSearch(_service(chosen, settings, environ, account))]


def search_name(settings: Settings | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """The search service that is used, for `doctor`; None: WebSearch is not offered."""
    name, _ = _named_service(_chosen(settings), environ)
    return name


def _chosen(settings: Settings | None) -> Mapping[str, Any]:
    found = None if settings is None else settings.get("web")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _named_service(chosen: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str | None, Mapping[str, Any]]:
    given: Any = chosen.get("search")
    details: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    name: object = details.get("service") if details else cast("object", given)
    if isinstance(name, str):
        return (name if name in _SERVICES else None), details
    by_key = (service for service, variable in _KEY_VARIABLES.items() if environ.get(variable, "").strip())
    return next(by_key, None), details


def _service(
    chosen: Mapping[str, Any], settings: Settings | None, environ: Mapping[str, str], account: Account | None
) -> "Callable[[], SearchService] | None":
    name, details = _named_service(chosen, environ)
    if name is None:
        return None
    given = str(details.get("url" if name == "searxng" else "key") or environ.get(_KEY_VARIABLES.get(name, ""), ""))
    if name in _KEY_VARIABLES and not given.strip():
        return None  # chosen, but without its key or address; `doctor` tells

    def make() -> "SearchService":
        from holdfast.tools.web._search import SearchChoice  # noqa: PLC0415 - with the first search

        choice = SearchChoice(name, given.strip(), given.strip() if name == "searxng" else "")
        return _made(choice, settings, str(details.get("model") or _DEFAULT_SEARCH_MODEL), account)

    return make


def _made(choice: "SearchChoice", settings: Settings | None, model: str, account: Account | None) -> "SearchService":
    from holdfast.tools.web._client import WebClient  # noqa: PLC0415 - with the first search
    from holdfast.tools.web._search import HttpSearch  # noqa: PLC0415 - the same

    if choice.service == "ddgs":
        from holdfast.tools.web._ddgs import DdgsSearch  # noqa: PLC0415 - an extra

        return DdgsSearch()
    if choice.service == "anthropic":
        if settings is None:
            raise ToolFailed("searching with the model's provider needs settings")
        return ProviderSearch(model, settings, account)
    exempt: frozenset[tuple[str, int]] = frozenset()
    if choice.service == "searxng":
        parts = urlsplit(choice.url)
        exempt = frozenset({(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))})
    return HttpSearch(choice, WebClient(exempt=exempt))


class ProviderSearch:
    """The search that Anthropic runs on its own side; asked in a request beside the conversation."""

    name = "anthropic"

    def __init__(self, model: str, settings: Settings, account: Account | None = None) -> None:
        self._account = account
        self._model = model
        self._settings = settings

    async def search(self, query: "Query") -> "Sequence[Found] | str":
        """Ask a model to search; its own words count where it found no page."""
        import msgspec  # noqa: PLC0415 - with the first search

        tool: dict[str, Any] = {"type": "web_search_20250305", "name": "web_search", "max_uses": _SEARCHES_A_CALL}
        if query.allowed:
            tool["allowed_domains"] = list(query.allowed)
        elif query.blocked:
            tool["blocked_domains"] = list(query.blocked)
        blocks = await side_answer(
            self._model,
            self._settings,
            f"Search the web for this, and list what you find: {query.text}",
            max_output_tokens=_SEARCH_TOKENS,
            tools=msgspec.json.encode([tool]),
            account=self._account,
        )
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


async def _show_media(body: bytes, kind: str, url: str) -> Content:
    """A picture or a PDF as Read shows it."""
    from holdfast.tools.files._media import show_image, show_pdf  # noqa: PLC0415 - few pages are pictures

    with tempfile.TemporaryFile() as file:
        file.write(body)
        file.flush()
        if kind == "application/pdf":
            shown = await show_pdf(file.fileno(), url, None)
        else:
            shown = await show_image(file.fileno(), url, url)
    return shown.text or ""

"""What the web tools need: a search service, a small model for long pages, and how pictures and PDFs are shown."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from holdfast.app.side_question import Account, asked_once
from holdfast.contract import Content, Text, Tool, ToolFailed
from holdfast.settings import Settings
from holdfast.tools.web.web_fetch import FetchChoices, WebFetch
from holdfast.tools.web.web_search import WebSearch

if TYPE_CHECKING:
    from holdfast.tools.web._search import SearchService

__all__ = ["SearchPlan", "search_plan", "web_tools"]

_SUMMARY_TOKENS = 4_000
_PDF_PAGES = 10
_DEFAULT_SEARCH_MODEL = "anthropic:haiku"
_KEY_VARIABLES: Final[Mapping[str, str]] = {
    "searxng": "SEARXNG_URL",
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "exa": "EXA_API_KEY",
}
"""What a service needs, and the variable that brings it; the first one that is set is used when no setting chooses."""
_SERVICES: Final = (*_KEY_VARIABLES, "ddgs", "anthropic")


class SearchPlan(NamedTuple):
    """Which search service a session has."""

    service: str | None
    """None: WebSearch is not offered."""
    problem: str = ""
    """Why not, and what to do."""
    key: str = ""
    """The key, or the address of a server of the user's own."""
    model: str = _DEFAULT_SEARCH_MODEL
    in_conversation: bool = False
    """The provider's search is a tool of the conversation wherever rules let it run unasked."""
    proxy: str | None = None


def web_tools(
    settings: Settings | None = None, environ: Mapping[str, str] = os.environ, *, account: Account | None = None
) -> list[Tool]:
    """WebFetch, and WebSearch with the chosen service."""
    chosen = _chosen(settings)
    model = chosen.get("model")
    choices = FetchChoices(
        summarise=_summary(model, settings, account) if isinstance(model, str) and settings is not None else None,
        obeys_robots=chosen.get("robots") is True,
        proxy=_proxy(chosen),
        show_media=_show_media,
    )
    plan = search_plan(settings, environ)
    search = WebSearch(None if plan.service is None else lambda: _made(plan, settings, account))
    if plan.in_conversation:
        from holdfast.app.provider_search import PROVIDER_TOOL  # noqa: PLC0415 - few sessions search so

        search.run_by_provider = PROVIDER_TOOL
        search.should_defer = False
    return [WebFetch(choices), search]


def search_plan(settings: Settings | None, environ: Mapping[str, str] = os.environ) -> SearchPlan:
    """What settings and keys say; `doctor` tells it."""
    chosen = _chosen(settings)
    given: Any = chosen.get("search")
    details: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
    name: object = details.get("service") if details else cast("object", given)
    if name is None:
        by_key = (service for service, variable in _KEY_VARIABLES.items() if environ.get(variable, "").strip())
        name = next(by_key, None)
    if name is None:
        return SearchPlan(None, f"no service is chosen: set web.search, or one of {', '.join(_KEY_VARIABLES.values())}")
    if not isinstance(name, str) or name not in _SERVICES:
        return SearchPlan(None, f"web.search is {name!r}; choose one of {', '.join(_SERVICES)}")
    variable = _KEY_VARIABLES.get(name, "")
    key = str(details.get("url" if name == "searxng" else "key") or environ.get(variable, "")).strip()
    if variable and not key:
        return SearchPlan(None, f"web.search is {name!r}, which needs {variable} or its entry in the settings")
    if name == "searxng" and not _is_web_address(key):
        return SearchPlan(None, f"the address of SearXNG is {key!r}; write it as https://search.example.com")
    return SearchPlan(
        name,
        key=key,
        model=str(details.get("model") or _DEFAULT_SEARCH_MODEL),
        in_conversation=name == "anthropic" and details.get("inConversation") is True and not _has_gates(settings),
        proxy=_proxy(chosen),
    )


def _chosen(settings: Settings | None) -> Mapping[str, Any]:
    found = None if settings is None else settings.get("web")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _proxy(chosen: Mapping[str, Any]) -> str | None:
    proxy = chosen.get("proxy")
    return proxy if isinstance(proxy, str) and proxy else None


def _has_gates(settings: Settings | None) -> bool:
    """Whether hooks want to hear a call before it runs: one that the provider runs they would not hear."""
    return settings is not None and any(entry.event == "PreToolUse" for entry in settings.hooks)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _summary(model: str, settings: Settings, account: Account | None) -> Callable[[str], Awaitable[str]]:
    ask = asked_once(model, settings, max_output_tokens=_SUMMARY_TOKENS, account=account)

    async def summarise(prompt: str) -> str:
        from holdfast.models import ModelError  # noqa: PLC0415 - loaded with the first question

        try:
            return await ask(prompt)
        except ModelError as error:
            raise ToolFailed(f"the model {model!r} of web.model could not be asked: {error}") from error

    return summarise


def _made(plan: SearchPlan, settings: Settings | None, account: Account | None) -> "SearchService":
    from holdfast.permissions.web import WebTarget, check_url  # noqa: PLC0415 - with the first search
    from holdfast.tools.web._client import WebClient  # noqa: PLC0415 - the same
    from holdfast.tools.web._search import HttpSearch, SearchChoice  # noqa: PLC0415 - the same

    if plan.service == "ddgs":
        from holdfast.tools.web._ddgs import DdgsSearch  # noqa: PLC0415 - an extra

        return DdgsSearch(plan.proxy)
    if plan.service == "anthropic":
        from holdfast.app.provider_search import ProviderSearch  # noqa: PLC0415 - with the first search

        if settings is None:
            raise ToolFailed("searching with the model's provider needs settings")
        return ProviderSearch(plan.model, settings, account)
    assert plan.service is not None
    if plan.service != "searxng":
        return HttpSearch(SearchChoice(plan.service, plan.key), WebClient(proxy=plan.proxy))
    parts = urlsplit(plan.key)
    origin = ((parts.hostname or ""), parts.port or (443 if parts.scheme == "https" else 80))
    is_public = isinstance(check_url(plan.key), WebTarget)
    client = WebClient(exempt=frozenset({origin}), proxy=plan.proxy if is_public else None)
    return HttpSearch(SearchChoice("searxng", url=plan.key), client)


async def _show_media(body: bytes, kind: str, url: str) -> Content:
    """A picture or a PDF as Read shows it."""
    import tempfile  # noqa: PLC0415 - few pages are pictures

    from holdfast.tools.files._media import show_image, show_pdf  # noqa: PLC0415 - few pages are pictures

    with tempfile.TemporaryFile() as file:
        file.write(body)
        file.flush()
        if kind != "application/pdf":
            return (await show_image(file.fileno(), url, url)).text or ""
        shown = await show_pdf(file.fileno(), url, f"1-{_PDF_PAGES}")
    count, text = shown.data["file"]["count"], shown.text or ""
    if count <= _PDF_PAGES or isinstance(text, str):
        return text
    advice = f"[The first {_PDF_PAGES} of {count:,} pages. Download it with Bash and use Read for others.]"
    return (*text, Text(advice))

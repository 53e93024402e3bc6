"""Search services, one small adapter each: how to ask, and where title, address and text stand in the answer."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from holdfast.contract import ToolFailed
from holdfast.permissions.web import WebRefusal, WebTarget, canonical_host, check_url
from holdfast.tools.web._client import Fetched, WebClient

__all__ = ["Found", "HttpSearch", "Query", "SearchChoice", "SearchService", "found_in", "only_wanted", "with_sites"]

_RESULTS = 10
_SNIPPET_CHARS = 500
_TITLE_CHARS = 200


class Found(NamedTuple):
    """One result."""

    title: str
    url: str
    snippet: str = ""


class Query(NamedTuple):
    """What is searched for, and where."""

    text: str
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class SearchService(Protocol):
    """Something that can be asked."""

    name: str

    async def search(self, query: Query) -> Sequence[Found] | str:
        """The results, or a text that says why there are none."""
        ...


class SearchChoice(NamedTuple):
    """Which service, as the user's settings or variables say it."""

    service: str
    """`searxng`, `brave`, `tavily`, `exa`, `ddgs` or `anthropic`."""
    key: str = ""
    url: str = ""
    """SearXNG: where the user's server is."""


class _Request(NamedTuple):
    url: str
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] | None = None


class HttpSearch:
    """A service behind one request. Its address is checked like any other, but for a server of the user's own."""

    def __init__(self, choice: SearchChoice, client: WebClient) -> None:
        self.name = choice.service
        self._choice = choice
        self._client = client

    async def search(self, query: Query) -> Sequence[Found]:
        """Ask once."""
        asked = _REQUESTS[self.name](self._choice, query)
        body = b"" if asked.body is None else msgspec.json.encode(asked.body)
        headers = {"accept": "application/json", **asked.headers}
        if body:
            headers["content-type"] = "application/json"
        answer = await self._client.request("POST" if body else "GET", _place(asked.url), headers=headers, body=body)
        return _results(self.name, answer)


def _place(url: str) -> WebTarget:
    """The target of a configured address: a server of the user's own may be anywhere, the rest was checked."""
    target = check_url(url)
    if isinstance(target, WebTarget):
        return target
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return WebTarget(url, parts.scheme, parts.hostname or "", port)


def with_sites(query: Query) -> str:
    """Services without filters of their own know `site:`."""
    sites = [f"site:{host}" for host in query.allowed] or [f"-site:{host}" for host in query.blocked]
    joined = " OR ".join(sites) if query.allowed else " ".join(sites)
    return f"{query.text} {joined}".strip()


def _searxng(choice: SearchChoice, query: Query) -> _Request:
    asked = urlencode({"q": with_sites(query), "format": "json"}, quote_via=quote)
    return _Request(f"{choice.url.rstrip('/')}/search?{asked}")


def _brave(choice: SearchChoice, query: Query) -> _Request:
    asked = urlencode({"q": with_sites(query), "count": _RESULTS}, quote_via=quote)
    return _Request(f"https://api.search.brave.com/res/v1/web/search?{asked}", {"x-subscription-token": choice.key})


def _tavily(choice: SearchChoice, query: Query) -> _Request:
    body: dict[str, Any] = {"query": query.text, "max_results": _RESULTS}
    if query.allowed:
        body["include_domains"] = list(query.allowed)
    if query.blocked:
        body["exclude_domains"] = list(query.blocked)
    return _Request("https://api.tavily.com/search", {"authorization": f"Bearer {choice.key}"}, body)


def _exa(choice: SearchChoice, query: Query) -> _Request:
    body: dict[str, Any] = {"query": query.text, "numResults": _RESULTS, "contents": {"highlights": True}}
    if query.allowed:
        body["includeDomains"] = list(query.allowed)
    if query.blocked:
        body["excludeDomains"] = list(query.blocked)
    return _Request("https://api.exa.ai/search", {"x-api-key": choice.key}, body)


_REQUESTS = {"searxng": _searxng, "brave": _brave, "tavily": _tavily, "exa": _exa}
_SNIPPET_KEYS = ("content", "description", "snippet", "text", "highlights", "body")


def _results(service: str, answer: Fetched) -> list[Found]:
    if answer.status != 200:
        raise ToolFailed(
            f"the search service {service} answered {answer.status} {answer.reason}{_advice(service, answer)}"
        )
    try:
        told: Any = msgspec.json.decode(answer.body)
    except msgspec.DecodeError as error:
        raise ToolFailed(f"the search service {service} did not answer with JSON{_advice(service, answer)}") from error
    page: Any = cast("dict[str, Any]", told).get("web", cast("Any", told)) if isinstance(told, dict) else {}
    rows: Any = cast("dict[str, Any]", page).get("results") if isinstance(page, dict) else None
    if not isinstance(rows, list):
        return []
    found = [found_in(cast("dict[str, Any]", row)) for row in cast("list[Any]", rows) if isinstance(row, dict)]
    return [one for one in found if one is not None][:_RESULTS]


def found_in(row: Mapping[str, Any]) -> Found | None:
    """One result, whatever its fields are called; none where its address is not on the public web."""
    url = row.get("url") or row.get("href")
    if not isinstance(url, str) or isinstance(check_url(url), WebRefusal):
        return None
    text: Any = next((row[key] for key in _SNIPPET_KEYS if row.get(key)), "")
    if isinstance(text, list):
        text = " … ".join(str(part) for part in cast("list[Any]", text))
    title = str(row.get("title") or url)
    return Found(" ".join(title.split())[:_TITLE_CHARS], url, " ".join(str(text).split())[:_SNIPPET_CHARS])


def _advice(service: str, answer: Fetched) -> str:
    if answer.status in (401, 403) and service == "searxng":
        return "; its settings.yml must list json among `formats`"
    if answer.status in (401, 403):
        return "; check the key"
    if answer.status == 429:
        return "; too many searches, wait before the next one"
    return ""


def only_wanted(found: Sequence[Found], query: Query) -> list[Found]:
    """Hold every result against the wanted hosts, whatever the service made of them."""
    return [one for one in found if _is_wanted(one.url, query)]


def _is_wanted(url: str, query: Query) -> bool:
    target = check_url(url)
    if isinstance(target, WebRefusal):
        return False
    if query.allowed:
        return any(_is_below(target.host, host) for host in query.allowed)
    return not any(_is_below(target.host, host) for host in query.blocked)


def _is_below(host: str, wanted: str) -> bool:
    name = canonical_host(wanted.strip().removeprefix("*.").partition("/")[0])
    return not isinstance(name, WebRefusal) and (host == name or host.endswith(f".{name}"))

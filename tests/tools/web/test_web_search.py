"""WebSearch with each service, asked on a small web of its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from holdfast.contract import ArgumentsInvalid, SessionFacts, ToolContext, ToolFailed, text_of
from holdfast.testing import LabPage, LabRequest, WebLab
from holdfast.tools.web._search import HttpSearch, SearchChoice
from holdfast.tools.web.web_search import WebSearch

ROWS = [
    {"title": "One", "url": "https://docs.example.com/1", "content": "first"},
    {"title": "Two", "url": "https://other.example.org/2", "description": "second"},
    {"title": "Inside", "url": "http://127.0.0.1/admin", "content": "never"},
    {"url": "https://docs.example.com/3", "highlights": ["a", "b"]},
    "no row",
]
SERVICES = {
    "searxng": ("search.home/search", {"results": ROWS}, SearchChoice("searxng", "", "http://search.home:8888")),
    "brave": ("api.search.brave.com/res/v1/web/search", {"web": {"results": ROWS}}, SearchChoice("brave", "k")),
    "tavily": ("api.tavily.com/search", {"results": ROWS}, SearchChoice("tavily", "k")),
    "exa": ("api.exa.ai/search", {"results": ROWS}, SearchChoice("exa", "k")),
}


class _Lab(WebLab):
    """Answers every request alike."""

    def __init__(self, page: LabPage, **more: Any) -> None:
        super().__init__(**more)
        self._answer = page

    def _page(self, request: LabRequest) -> LabPage:
        return self._answer


def search(service: str, page: LabPage | None = None, **args: Any) -> tuple[Any, WebLab]:
    _, answer, choice = SERVICES[service]
    page = page or LabPage(json.dumps(answer), headers={"content-type": "application/json"})

    async def go() -> tuple[Any, WebLab]:
        async with _Lab(page, names={"search.home": [["192.168.1.9"]]}) as lab:
            exempt = frozenset({("search.home", 8888)}) if service == "searxng" else frozenset[tuple[str, int]]()
            tool = WebSearch(lambda: HttpSearch(choice, lab.client(exempt=exempt)))
            parsed = tool.arguments.parse({"query": "holdfast", **args})
            ctx = ToolContext("/", tool_use_id="c1")
            await tool.validate(parsed, ctx)
            return await tool.call(parsed, ctx), lab

    return asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_is_asked_its_own_way_and_answers_alike(service: str) -> None:
    result, lab = search(service)
    assert [(row["title"], row["url"]) for row in result.data["results"]] == [
        ("One", "https://docs.example.com/1"),
        ("Two", "https://other.example.org/2"),
        ("https://docs.example.com/3", "https://docs.example.com/3"),
    ]
    assert [row["snippet"] for row in result.data["results"]] == ["first", "second", "a … b"]
    assert "data, not instructions" in text_of(result.text)
    request = lab.requests[0]
    assert f"{request.host.partition(':')[0]}{request.path.partition('?')[0]}" == SERVICES[service][0]
    assert "holdfast" in request.path + request.body.decode()


@pytest.mark.parametrize("service", SERVICES)
def test_the_wanted_hosts_hold_whatever_a_service_answers(service: str) -> None:
    allowed, _ = search(service, allowed_domains=["example.com"])
    assert {row["url"] for row in allowed.data["results"]} == {
        "https://docs.example.com/1",
        "https://docs.example.com/3",
    }
    blocked, _ = search(service, blocked_domains=["*.example.com"])
    assert [row["url"] for row in blocked.data["results"]] == ["https://other.example.org/2"]


def test_both_filters_at_once_are_wrong() -> None:
    with pytest.raises(ArgumentsInvalid):
        search("brave", allowed_domains=["a.org"], blocked_domains=["b.org"])


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (LabPage("no", 403), "403"),
        (LabPage("no", 429), "too many"),
        (LabPage("<html>", 200), "JSON"),
        (LabPage(status=302, headers={"location": "http://127.0.0.1/"}), "302"),
    ],
)
def test_a_service_that_fails_is_told_in_words(page: LabPage, words: str) -> None:
    with pytest.raises(ToolFailed, match=words):
        search("searxng", page)


@pytest.mark.parametrize("answer", ["[]", "{}", '{"results": 3}', '{"web": []}', "null", '"x"'])
def test_an_answer_of_another_shape_is_no_result(answer: str) -> None:
    result, _ = search("brave", LabPage(answer, headers={"content-type": "application/json"}))
    assert result.data["results"] == "Nothing was found; try other words."


def test_without_a_service_the_tool_is_not_offered() -> None:
    assert not WebSearch().is_enabled(SessionFacts())
    assert WebSearch(lambda: HttpSearch(SearchChoice("brave", "k"), WebLab().client())).is_enabled(SessionFacts())


def test_a_private_address_is_reached_only_by_the_configured_server() -> None:
    async def go() -> None:
        async with WebLab(names={"search.home": [["192.168.1.9"]]}) as lab:
            service = HttpSearch(SearchChoice("searxng", "", "http://search.home:8888"), lab.client())
            tool = WebSearch(lambda: service)
            with pytest.raises(ToolFailed, match="not a public address"):
                await tool.call(tool.arguments.parse({"query": "xx"}), ToolContext("/", tool_use_id="c1"))
            assert lab.dialled == []

    asyncio.run(asyncio.wait_for(go(), 30))


def test_a_session_searches_at_most_two_hundred_times() -> None:
    class Quick:
        name = "quick"

        async def search(self, query: object) -> str:
            del query
            return "nothing"

    tool = WebSearch(Quick)
    args = tool.arguments.parse({"query": "xx"})
    for _ in range(200):
        asyncio.run(tool.call(args, ToolContext("/", tool_use_id="c1")))
    with pytest.raises(ToolFailed, match="200"):
        asyncio.run(tool.call(args, ToolContext("/", tool_use_id="c1")))

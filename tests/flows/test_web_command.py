"""`holdfast -p` that searches with each kind of service and fetches what it found, on a web of its own.

The whole command is real; only where a checked address leads is not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.testing import FakeProvider, FakeTurn, LabPage, LabRequest, WebLab
from holdfast.tools.web._client import WebClient

URL = "https://docs.example.com/guide"
ROWS = [{"title": "The guide", "url": URL, "content": "all about it", "href": URL, "body": "all about it"}]
SETTINGS: dict[str, Any] = {
    "searxng": {"service": "searxng", "url": "http://search.home:8888"},
    "brave": {"service": "brave", "key": "key-of-brave"},
    "tavily": {"service": "tavily", "key": "key-of-tavily"},
    "exa": {"service": "exa", "key": "key-of-exa"},
    "ddgs": "ddgs",
    "anthropic": "anthropic",
}
HOSTS = {
    "searxng": "search.home:8888",
    "brave": "api.search.brave.com",
    "tavily": "api.tavily.com",
    "exa": "api.exa.ai",
}


class _Web(WebLab):
    def _page(self, request: LabRequest) -> LabPage:
        if request.host == "docs.example.com":
            return LabPage("<html><head><title>The guide</title></head><body><h1>Guide</h1><p>Forty-two.</p></body>")
        answer = {"results": ROWS, "web": {"results": ROWS}} if "brave" in request.host else {"results": ROWS}
        return LabPage(json.dumps(answer), headers={"content-type": "application/json"})


def found_by_provider() -> FakeTurn:
    rows = [{"type": "web_search_result", "title": "The guide", "url": URL, "encrypted_content": "Zm9v=="}]
    return FakeTurn(blocks=[{"type": "web_search_tool_result", "tool_use_id": "s1", "content": rows}])


@contextmanager
def servers() -> Generator[tuple[WebLab, FakeProvider]]:
    """A web and a provider, served beside the command."""
    lab, provider = _Web(names={"search.home": [["192.168.1.9"]]}), FakeProvider([found_by_provider()])
    ready, over = threading.Event(), SimpleNamespace(loop=None, event=None)

    async def serve() -> None:
        over.loop, over.event = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(lab)
            await stack.enter_async_context(provider)
            ready.set()
            await asyncio.wait_for(over.event.wait(), 120)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    try:
        yield lab, provider
    finally:
        over.loop.call_soon_threadsafe(over.event.set)
        thread.join(30)


class _Ddgs:
    def __init__(self, proxy: str | None = None) -> None:
        assert proxy is None

    def text(self, query: str, max_results: int) -> list[dict[str, Any]]:
        assert (query, max_results) == ("guide", 10)
        return ROWS


@pytest.mark.parametrize("service", SETTINGS)
def test_a_command_searches_and_fetches_with_each_service(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    turns = [
        [{"tool": "WebSearch", "input": {"query": "guide"}}],
        [{"tool": "WebFetch", "input": {"url": URL, "prompt": "What is the answer?"}}],
        "It is forty-two.",
    ]
    (tmp_path / "script.json").write_text(json.dumps(turns), encoding="utf-8")
    module = ModuleType("ddgs")
    vars(module)["DDGS"] = _Ddgs
    monkeypatch.setitem(sys.modules, "ddgs", module)
    monkeypatch.chdir(tmp_path)
    with servers() as (lab, provider):
        defaults = WebClient.__init__.__kwdefaults__ or {}
        monkeypatch.setitem(defaults, "resolve", lab.resolve)
        monkeypatch.setitem(defaults, "connect_by", lab.connect)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        words = [
            "-p",
            "look it up",
            "--model",
            f"scripted:{tmp_path / 'script.json'}",
            "--output-format",
            "stream-json",
        ]
        rules = ["--verbose", "--allowedTools", "WebSearch", "WebFetch(domain:docs.example.com)"]
        code = run([*words, *rules, "--settings", json.dumps({"web": {"search": SETTINGS[service]}})])
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert code == 0, lines[-1]
    replies = [line["message"]["content"][0] for line in lines if line["type"] == "user"]
    assert URL in str(replies[0]["content"])
    assert "data, not instructions" in str(replies[0]["content"])
    assert "Forty-two" in str(replies[1]["content"])
    assert not any(reply.get("is_error") for reply in replies)
    assert lines[-1]["result"] == "It is forty-two."
    asked = [request.host for request in lab.requests]
    assert asked == [*([HOSTS[service]] if service in HOSTS else []), "docs.example.com"]
    assert len(provider.requests) == (service == "anthropic")

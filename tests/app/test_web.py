"""Which search service a session has, and the provider's own search."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from PIL import Image

from holdfast import Agent
from holdfast.app import ahead, load_rights, web
from holdfast.app.options import Options
from holdfast.app.provider_search import ProviderSearch
from holdfast.app.web import search_plan, web_tools
from holdfast.cli.group import cli
from holdfast.contract import ArgumentsInvalid, SessionFacts, ToolContext, ToolFailed
from holdfast.events import AssistantReplied, SideQuestionAnswered
from holdfast.testing import FakeProvider, FakeTurn, LabPage, WebLab, error_turn
from holdfast.tools.web._search import Query
from holdfast.tools.web.web_fetch import WebFetch

SRC = Path(__file__).parents[2] / "src"


def settings(text: str, cwd: Path) -> Any:
    return load_rights(Options(cwd=str(cwd), settings=(text,))).settings


@pytest.mark.parametrize(
    ("text", "environ", "name"),
    [
        ("{}", {}, None),
        ("{}", {"TAVILY_API_KEY": "k"}, "tavily"),
        ("{}", {"SEARXNG_URL": "http://search.home", "EXA_API_KEY": "k"}, "searxng"),
        ('{"web": {"search": "exa"}}', {"BRAVE_API_KEY": "k", "EXA_API_KEY": "k"}, "exa"),
        ('{"web": {"search": {"service": "anthropic"}}}', {}, "anthropic"),
        ('{"web": {"search": "altavista"}}', {}, None),
    ],
)
def test_settings_choose_the_service_and_keys_do_where_they_are_silent(
    text: str, environ: dict[str, str], name: str | None, tmp_path: Path
) -> None:
    found = settings(text, tmp_path)
    assert search_plan(found, environ).service == name
    search = next(tool for tool in web_tools(found, environ) if tool.name == "WebSearch")
    assert search.is_enabled(SessionFacts()) is (name is not None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "set web.search, or one of SEARXNG_URL"),
        ('{"web": {"search": "brave"}}', "needs BRAVE_API_KEY"),
        ('{"web": {"search": "altavista"}}', "choose one of searxng"),
        ('{"web": {"search": {"service": "searxng", "url": "search.home"}}}', "write it as https://"),
        ('{"web": {"search": {"service": "searxng", "url": "ftp://search.home"}}}', "write it as https://"),
    ],
)
def test_a_service_that_cannot_be_asked_is_not_offered_and_the_reason_is_told(
    text: str, told: str, tmp_path: Path
) -> None:
    found = settings(text, tmp_path)
    assert told in search_plan(found, {}).problem
    assert not next(tool for tool in web_tools(found, {}) if tool.name == "WebSearch").is_enabled(SessionFacts())


def test_a_folder_cannot_choose_where_searches_go(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"web": {"search": "anthropic", "proxy": "http://evil:1"}}')
    assert search_plan(settings("{}", tmp_path), {}).service is None
    assert settings("{}", tmp_path).get("web") is None


@pytest.mark.parametrize("allowed", [(), ("docs.example.com",)])
def test_the_providers_own_search_is_asked_beside_the_conversation(
    allowed: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"type": "web_search_result", "title": "T", "url": "https://docs.example.com/", "encrypted_content": "=="}]
    cited = {"type": "web_search_result_location", "url": rows[0]["url"], "title": "T", "cited_text": "It is so."}
    blocks = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": rows},
        {"type": "text", "text": "Found one.", "citations": [cited]},
    ]

    async def go() -> tuple[Any, dict[str, Any]]:
        async with FakeProvider([FakeTurn(blocks=blocks)]) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            found = await ProviderSearch("anthropic:haiku", settings("{}", tmp_path)).search(Query("q", allowed))
            return found, provider.requests[0].json

    found, asked = asyncio.run(asyncio.wait_for(go(), 30))
    assert [tuple(one) for one in found] == [("T", "https://docs.example.com/", "It is so.")]
    tool = asked["tools"][0]
    assert (tool["type"], tool["name"], tool["max_uses"]) == ("web_search_20250305", "web_search", 8)
    assert tool.get("allowed_domains", []) == list(allowed)


def test_a_refused_search_of_the_provider_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    blocks = [{"type": "web_search_tool_result", "tool_use_id": "s", "content": refused}]

    async def go() -> None:
        async with FakeProvider([FakeTurn(blocks=blocks)]) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            with pytest.raises(ToolFailed, match="max_uses_exceeded"):
                await ProviderSearch("anthropic:haiku", settings("{}", tmp_path)).search(Query("q"))

    asyncio.run(asyncio.wait_for(go(), 30))


def test_a_search_that_the_provider_interrupts_goes_on_with_its_blocks_to_the_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"type": "web_search_result", "title": "T", "url": "https://a.example.com/", "encrypted_content": "Zm9v=="}]
    begun = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": rows},
    ]
    turns = [FakeTurn(blocks=begun, stop_reason="pause_turn"), FakeTurn(blocks=[{"type": "text", "text": "Done."}])]

    async def go() -> tuple[Any, list[Any]]:
        async with FakeProvider(turns) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            found = await ProviderSearch("anthropic:haiku", settings("{}", tmp_path)).search(Query("q"))
            return found, [request.json["messages"] for request in provider.requests]

    found, (first, second) = asyncio.run(asyncio.wait_for(go(), 30))
    assert [one.url for one in found] == ["https://a.example.com/"]
    assert (len(first), [message["role"] for message in second]) == (1, ["user", "assistant"])
    assert second[1]["content"] == begun


def test_a_provider_that_cannot_be_asked_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        async with FakeProvider([error_turn(401, "authentication_error", "bad key")]) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            with pytest.raises(ToolFailed, match="could not be asked to search"):
                await ProviderSearch("anthropic:haiku", settings("{}", tmp_path)).search(Query("q"))

    asyncio.run(asyncio.wait_for(go(), 30))


INLINE: dict[str, Any] = {"web": {"search": {"service": "anthropic", "inConversation": True}}}
GATE = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}
SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "title": "T", "url": "https://a.example.com/", "encrypted_content": "Zm9v=="}
        ],
    },
    {
        "type": "text",
        "text": "It is so.",
        "citations": [
            {"type": "web_search_result_location", "url": "https://a.example.com/", "encrypted_index": "YmFy=="}
        ],
    },
]


def conversation(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, turns: list[FakeTurn], *prompts: str, **options: Any
) -> list[Any]:
    """The bodies of all requests of a session that gets these prompts."""

    async def go() -> list[Any]:
        async with FakeProvider(turns) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            async with Agent("anthropic:haiku", cwd=cwd, **options) as agent:
                for prompt in prompts:
                    await agent.run(prompt)
            return [request.json for request in provider.requests]

    return asyncio.run(asyncio.wait_for(go(), 60))


def test_what_the_providers_own_search_found_stays_in_the_history_to_the_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*"}}
    paused = FakeTurn(blocks=SEARCHED[:2], stop_reason="pause_turn")
    turns = [paused, FakeTurn(blocks=[SEARCHED[2], read]), FakeTurn(blocks=[{"type": "text", "text": "Done."}])]
    turns.append(FakeTurn(blocks=[{"type": "text", "text": "Again."}]))
    options = {"settings": json.dumps(INLINE), "allowed_tools": "WebSearch Glob"}
    first, second, third, last = conversation(tmp_path, monkeypatch, turns, "Search.", "And now?", **options)
    (offered,) = (tool for tool in first["tools"] if tool["name"] == "web_search")
    assert (offered["type"], offered["max_uses"]) == ("web_search_20250305", 8)
    assert "WebSearch" not in {tool["name"] for tool in first["tools"]}
    assert second["messages"][-1] == {"role": "assistant", "content": SEARCHED[:2]}
    for later in (third, last):
        assert later["messages"][1] == {"role": "assistant", "content": [*SEARCHED, read]}
        assert later["tools"] == first["tools"], "the list stays the same, so that it can be cached"


def test_a_resumed_session_still_has_what_the_provider_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [FakeTurn(blocks=SEARCHED)]
    options = {"settings": json.dumps(INLINE), "allowed_tools": "WebSearch"}
    conversation(tmp_path, monkeypatch, turns, "Search.", **options)
    turns = [FakeTurn(blocks=[{"type": "text", "text": "Again."}])]
    (body,) = conversation(tmp_path, monkeypatch, turns, "And now?", resume="latest", **options)
    assert body["messages"][1] == {"role": "assistant", "content": SEARCHED}


@pytest.mark.parametrize(
    ("options", "offers"),
    [
        ({}, False),
        ({"allowed_tools": "WebSearch"}, True),
        ({"permission_mode": "bypassPermissions"}, True),
        ({"allowed_tools": "WebSearch", "disallowed_tools": "WebSearch"}, False),
        (
            {"allowed_tools": "WebSearch", "settings": json.dumps({**INLINE, "permissions": {"ask": ["WebSearch"]}})},
            False,
        ),
        ({"allowed_tools": "WebSearch", "settings": json.dumps({**INLINE, **GATE})}, False),
        ({"allowed_tools": "WebSearch", "settings": json.dumps({"web": {"search": "anthropic"}})}, False),
    ],
)
def test_the_providers_own_search_is_offered_only_where_nobody_has_to_be_asked(
    options: dict[str, Any], offers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [FakeTurn(blocks=[{"type": "text", "text": "Done."}])]
    (body,) = conversation(tmp_path, monkeypatch, turns, "Search.", **{"settings": json.dumps(INLINE), **options})
    assert ("web_search" in {tool["name"] for tool in body["tools"]}) is offers


def test_what_questions_beside_the_conversation_use_is_paid_by_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"type": "web_search_result", "title": "T", "url": "https://docs.example.com/", "encrypted_content": "=="}]
    found = [{"type": "web_search_tool_result", "tool_use_id": "s", "content": rows}]
    call = {"type": "tool_use", "id": "t1", "name": "WebSearch", "input": {"query": "what"}}
    turns = [FakeTurn(blocks=[call]), FakeTurn(blocks=found), FakeTurn(blocks=[{"type": "text", "text": "Done."}])]

    async def go() -> list[Any]:
        async with FakeProvider(turns) as provider:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            async with Agent(
                "anthropic:haiku",
                cwd=tmp_path,
                settings='{"web": {"search": "anthropic"}}',
                allowed_tools="WebSearch",
            ) as agent:
                return [event async for event in agent.stream("Search.")]

    events = asyncio.run(asyncio.wait_for(go(), 60))
    (beside,) = (event for event in events if isinstance(event, SideQuestionAnswered))
    assert beside.usage["output_tokens"] == 5
    assert beside.cost_usd is not None
    assert events[-1].usage["output_tokens"] == 15, "three requests, five each"
    of_turns = sum(event.cost_usd or 0.0 for event in events if isinstance(event, AssistantReplied))
    assert events[-1].cost_usd == pytest.approx(of_turns + beside.cost_usd)


def test_nothing_of_the_product_makes_another_internet_than_the_real_one() -> None:
    """A setting, flag or variable that opened loopback would have to hand one in."""
    makers = [
        path
        for path in SRC.rglob("*.py")
        if "WebClient(" in path.read_text("utf-8") and "testing" not in path.parts and path.name != "_client.py"
    ]
    assert {path.name for path in makers} == {"web.py", "web_fetch.py"}
    for path in makers:
        assert not {"resolve=", "connect_by="} & set(path.read_text("utf-8").replace("(", " ").split())


VARIABLE = re.compile(r'["\']([A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z]+_proxy)["\']')
EVERYTHING = {
    "web": {
        "search": {"service": "searxng", "url": "http://127.0.0.1:{port}"},
        "proxy": "http://127.0.0.1:{port}",
        "robots": True,
        "allowLoopback": True,
        "allowPrivate": ["127.0.0.1", "localhost"],
    },
    "permissions": {
        "allow": ["WebFetch", "WebFetch(domain:*)", "WebFetch(domain:localhost)", "WebFetch(domain:127.0.0.1)"],
        "defaultMode": "bypassPermissions",
    },
    "sandbox": {"network": {"allowedDomains": ["*", "localhost", "127.0.0.1"], "allowLocalBinding": True}},
}
INSIDE = ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://2130706433:{port}/"]


@pytest.mark.parametrize("value", ["1", "*", "127.0.0.1,localhost", "http://127.0.0.1:{port}"])
def test_no_variable_and_no_setting_opens_this_machine(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every variable whose name stands anywhere in the product, and every setting that could mean it, at once."""
    names = {name for path in SRC.rglob("*.py") for name in VARIABLE.findall(path.read_text("utf-8"))}
    assert {"ANTHROPIC_BASE_URL", "HTTPS_PROXY", "SEARXNG_URL", "SSL_CERT_FILE"} <= {name.upper() for name in names}
    connections: list[object] = []

    async def go() -> None:
        server = await asyncio.start_server(lambda reader, writer: connections.append(writer.close()), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        text = json.dumps(EVERYTHING).replace("{port}", str(port))
        found = settings(text, tmp_path)
        for name in names - {"SSL_CERT_FILE", "SSL_CERT_DIR"}:
            monkeypatch.setenv(name, value.replace("{port}", str(port)))
        fetch = next(tool for tool in web_tools(found, os.environ) if tool.name == "WebFetch")
        ctx = ToolContext("/", tool_use_id="c1")
        for url in INSIDE:
            args = fetch.arguments.parse({"url": url.format(port=port), "prompt": "x"})
            with pytest.raises(ArgumentsInvalid):
                await fetch.validate(args, ctx)
            with pytest.raises(ToolFailed):
                await fetch.call(args, ctx)
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", _leads_here)
        args = fetch.arguments.parse({"url": f"http://rebound.example.com:{port}/", "prompt": "x"})
        with pytest.raises(ToolFailed, match="not a public address"):
            await fetch.call(args, ctx)
        server.close()
        await server.wait_closed()

    asyncio.run(asyncio.wait_for(go(), 60))
    assert connections == []


async def _leads_here(host: str, port: int, **_: object) -> list[Any]:
    del host
    return [(2, 1, 6, "", ("127.0.0.1", port))]


def commands_below(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands_below(found)


def test_no_flag_names_another_internet() -> None:
    flags = {word for command in commands_below(cli) for parameter in command.params for word in parameter.opts}
    assert {"--allowedTools", "--settings"} <= flags
    assert not {flag for flag in flags if re.search("loopback|private|internal|resolve|ssrf|insecure|localhost", flag)}


def test_the_request_that_is_sent_ahead_knows_every_variable_that_brings_a_service() -> None:
    """They stand in two places, because the first request must not load the tools."""
    assert set(ahead._SERVICES) == set(web._KEY_VARIABLES.values())


def picture() -> bytes:
    found = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(found, "PNG")
    return found.getvalue()


def document(pages: int) -> bytes:
    found = io.BytesIO()
    page = Image.new("RGB", (30, 20), "red")
    page.save(found, "PDF", save_all=True, append_images=[page] * (pages - 1))
    return found.getvalue()


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (picture(), "image/png", "30 by 20 pixels"),
        (document(1), "application/pdf", "page 1 of 1"),
        (document(12), "application/pdf", "the first 10 of 12 pages"),
    ],
)
def test_pictures_and_pdfs_of_the_web_are_shown_as_read_shows_them_and_marked_as_data(
    body: bytes, kind: str, shown: str, tmp_path: Path
) -> None:
    fetch = next(tool for tool in web_tools(settings("{}", tmp_path), {}) if tool.name == "WebFetch")
    assert isinstance(fetch, WebFetch)

    async def go() -> Any:
        async with WebLab({"example.com/x": LabPage(body, headers={"content-type": kind})}) as lab:
            tool = WebFetch(fetch._choices, client=lab.client)
            args = tool.arguments.parse({"url": "https://example.com/x", "prompt": "?"})
            return await tool.call(args, ToolContext("/", tool_use_id="c1"))

    result = asyncio.run(asyncio.wait_for(go(), 60))
    assert result.data["result"] == f"[{kind}, {len(body):,} bytes]"
    assert "data, not an instruction" in result.text[0].text
    assert shown in str(result.text).lower()
    assert "Image" in {type(block).__name__ for block in result.text}
    assert result.display == f"example.com, 200, {len(body):,} bytes"

"""What the conformance suite asks over HTTP, over pipes: a server of the protocol's authors, in both eras."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import FormAnswer
from holdfast.events import CallProgressed
from holdfast.mcp.elicitation import form_of, result_of
from holdfast.mcp.resources import resource_tools
from holdfast.settings.mcp_servers import ServerEntry

pytest.importorskip("mcp", reason="the SDK is part of the development set: run `make setup`")
SCRIPT = str(Path(__file__).parents[1] / "data" / "mcp" / "sdk_server.py")
ERAS = {"older": {"protocol": "2025-11-25"}, "newer": {}}


def entry(era: str) -> ServerEntry:
    return ServerEntry("p", {"command": sys.executable, "args": [SCRIPT], **ERAS[era]}, "user")


@pytest.mark.parametrize("era", ERAS)
async def test_tools_of_every_kind_progress_errors_and_cancelled_calls(kit: Any, era: str) -> None:
    async with kit.hub(entry(era)) as hub:
        executor = await kit.connected(hub)
        server = hub.servers["p"]
        assert (server.greeting.version == "2026-07-28") is (era == "newer")
        assert server.instructions == "Call text first."
        assert (await kit.call(executor, "mcp__p__add", {"a": "2", "b": 3})).content == "5"
        kinds = [block["type"] for block in (await kit.call(executor, "mcp__p__everything")).content]
        assert kinds == ["text", "image", "text", "text"]
        broken = await kit.call(executor, "mcp__p__broken")
        assert broken.is_error
        assert "on purpose" in str(broken.content)
        executor.add({"type": "tool_use", "id": "1", "name": "mcp__p__steps", "input": {}})
        async with asyncio.timeout(30):
            events = [event async for event in executor.results()]
        executor.end_turn()
        assert [event.data["message"] for event in events if isinstance(event, CallProgressed)][-1] == "step 2"
        executor.add({"type": "tool_use", "id": "2", "name": "mcp__p__wait", "input": {}})
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            await executor.interrupt()
            assert [event async for event in executor.results()]
        executor.end_turn()
        assert (await kit.call(executor, "mcp__p__add", {"a": 1, "b": 1})).content == "2"


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_to_the_user_is_answered_in_either_way(kit: Any, era: str) -> None:
    asked: list[Any] = []
    answer = FormAnswer("accept", {"name": "Ada"})

    async def elicit(server: str, params: Any) -> dict[str, Any]:
        form = form_of(server, params)
        asked.append(form)
        return result_of(form, answer)

    async with kit.hub(entry(era), elicit=elicit) as hub:
        executor = await kit.connected(hub)
        assert (await kit.call(executor, "mcp__p__greet")).content == "hello Ada"
        assert [(field.name, field.kind, field.required) for field in asked[0].fields] == [
            ("name", "text", True),
            ("loud", "boolean", False),
        ]
        answer = FormAnswer("decline")
        assert (await kit.call(executor, "mcp__p__greet")).content == "nobody: decline"
        refused = await kit.call(executor, "mcp__p__roots")
        assert refused.is_error


@pytest.mark.parametrize("era", ERAS)
async def test_servers_are_told_directories_only_where_the_user_wants_that(kit: Any, era: str, tmp_path: Path) -> None:
    async with kit.hub(entry(era), roots=lambda: (str(tmp_path), "/")) as hub:
        assert (await kit.call(await kit.connected(hub), "mcp__p__roots")).content == "2 roots"


@pytest.mark.parametrize("era", ERAS)
async def test_without_anybody_to_ask_a_question_fails_in_words(kit: Any, era: str) -> None:
    async with kit.hub(entry(era)) as hub:
        assert (await kit.call(await kit.connected(hub), "mcp__p__greet")).is_error


@pytest.mark.parametrize("era", ERAS)
async def test_a_change_is_told_and_resources_and_prompts_are_read(kit: Any, era: str) -> None:
    async with kit.hub(entry(era)) as hub:
        executor = await kit.connected(hub)
        await kit.call(executor, "mcp__p__grow")
        async with asyncio.timeout(30):
            await kit.until(lambda: any(tool.name == "mcp__p__later" for tool in hub.tools()))
        server = hub.servers["p"]
        assert len(resource_tools(hub)) == 2
        assert {item["uri"] for item in await server.list("resources/list", "resources")} == {
            "test://note",
            "test://bytes",
        }
        read = await server.request("resources/read", {"uri": "test://note"})
        assert read["contents"][0]["text"] == "a note"
        assert [item["name"] for item in await server.list("prompts/list", "prompts")] == ["review"]
        got = await server.request("prompts/get", {"name": "review", "arguments": {"what": "it"}})
        assert got["messages"][0]["content"]["text"] == "Please review it."


async def test_the_era_is_remembered_so_that_the_next_start_asks_once_less(kit: Any) -> None:
    first = ServerEntry("p", {"command": sys.executable, "args": [kit.scene, "plain"]}, "user")
    async with kit.hub(first) as hub:
        await hub.servers["p"].ensure()
        assert hub.servers["p"].record.is_older
    async with kit.hub(first) as hub:
        await hub.servers["p"].ensure()
        await kit.until(hub.servers["p"].offers_listed.is_set)
        assert hub.servers["p"]._session._next == 3  # initialize and two lists, no question about the newer protocol

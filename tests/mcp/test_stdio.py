"""A server as a child process, from the first word to the last."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.events import CallProgressed
from holdfast.mcp.wire import McpError


async def test_a_tool_of_a_server_is_listed_called_and_answers(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__scene__echo", {"text": "hello"})
        assert (reply.content, reply.is_error) == ("hello", False)


async def test_the_arguments_are_checked_before_the_server_hears_of_them(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__scene__echo", {"text": 5})
        assert reply.is_error
        assert "text" in str(reply.content)


async def test_a_result_of_every_kind_becomes_blocks(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__scene__picture")
        kinds = [block["type"] for block in reply.content]
        assert kinds == ["text", "image", "text", "text", "text", "text"]
        told = " ".join(block.get("text", "") for block in reply.content)
        for word in ("audio", "inside", "file:///b", "mystery"):
            assert word in told


async def test_structured_content_alone_is_told_as_json(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__scene__data")
        assert reply.content == '{"answer": 42}'
        assert reply.data == {"answer": 42}


async def test_an_error_result_is_an_error_reply(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__scene__fail")
        assert (reply.content, reply.is_error) == ("it went wrong", True)


async def test_a_server_that_dies_in_a_call_gives_one_reply_and_is_started_again(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__scene__die")
        assert reply.is_error
        assert "ended" in str(reply.content)
        again = await kit.call(executor, "mcp__scene__echo", {"text": "back"})
        assert again.content == "back"


async def test_a_call_without_an_answer_ends_at_its_limit_and_the_server_is_told(kit: Any) -> None:
    async with kit.hub(kit.entry("plain", timeout=300)) as hub:
        executor = await kit.connected(hub)
        reply = await kit.call(executor, "mcp__scene__hang")
        assert reply.is_error
        assert "did not answer" in str(reply.content)
        assert (await kit.call(executor, "mcp__scene__echo", {"text": "x"})).content == "x"


async def test_a_cancelled_call_is_answered_and_the_server_goes_on(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        executor = await kit.connected(hub)
        executor.add({"type": "tool_use", "id": "1", "name": "mcp__scene__hang", "input": {}})
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            await executor.interrupt()
            assert [event async for event in executor.results()]
        executor.end_turn()
        assert (await kit.call(executor, "mcp__scene__echo", {"text": "x"})).content == "x"


async def test_a_provider_key_does_not_reach_a_server(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key-value")
    async with kit.hub(kit.entry("plain", env={"MINE": "here"})) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__scene__env")
        assert "secret-key-value" not in str(reply.content)
        assert '"MINE": "here"' in str(reply.content)


async def test_a_server_that_ends_at_once_is_explained_with_its_last_words(kit: Any) -> None:
    async with kit.hub(kit.entry("ends-at-once")) as hub:
        with pytest.raises(McpError, match="no licence"):
            await hub.servers["scene"].ensure()


async def test_a_program_that_is_not_there_is_explained(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")._replace(config={"command": "/no/such/program"})) as hub:
        with pytest.raises(McpError, match="no such program"):
            await hub.servers["scene"].ensure()


async def test_closing_ends_every_server(kit: Any) -> None:
    async with kit.hub(*(kit.entry("many", name=f"s{number}") for number in range(3))) as hub:
        await kit.connected(hub)
        pids = [process.pid for process in hub.processes().running]
        assert len(pids) == 3
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists() and os.getpgid(pid) == pid]


async def test_a_server_that_does_not_answer_does_not_hold_up_the_others(kit: Any) -> None:
    slow = kit.entry("never-reads", name="slow")
    async with kit.hub(slow, kit.entry("plain"), wait_s=0.05) as hub:
        hub.start()
        await hub.settle()
        assert "slow" in hub.pending
        await asyncio.wait_for(hub.servers["scene"].ensure(), 30)
        assert hub.servers["scene"].state == "connected"


async def test_progress_reaches_who_watches(kit: Any) -> None:
    async with kit.hub(kit.entry("plain")) as hub:
        executor = await kit.connected(hub)
        executor.add({"type": "tool_use", "id": "1", "name": "mcp__scene__slow", "input": {}})
        async with asyncio.timeout(30):
            events = [event async for event in executor.results()]
        steps = [event.data["message"] for event in events if isinstance(event, CallProgressed)]
        assert steps[-1:] == ["step 2"]

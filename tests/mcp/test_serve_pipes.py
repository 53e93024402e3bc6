"""Our server's wire over pipes, with everything that the conformance suite asks for, as the SDK's client sees it."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the SDK is part of the development set: run `make setup`")
SCRIPT = str(Path(__file__).parents[1] / "conformance" / "server.py")


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_results_resources_prompts_and_questions_of_every_kind(era: str) -> None:
    from mcp.types import (  # noqa: PLC0415 - heavy
        CreateMessageResult,
        ElicitResult,
        ListRootsResult,
        TextContent,
    )

    from mcp import Client, MCPError, StdioServerParameters  # noqa: PLC0415 - heavy

    told: list[float] = []

    async def fill(context: object, params: Any) -> Any:
        wanted = params.requested_schema["properties"]
        return ElicitResult(action="accept", content={name: "Ada" for name in wanted if name != "ok"})

    async def sample(context: object, params: Any) -> Any:
        return CreateMessageResult(role="assistant", model="m", content=TextContent(type="text", text="Paris"))

    async def roots(context: object) -> Any:
        return ListRootsResult(roots=[])

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    ours = StdioServerParameters(command=sys.executable, args=[SCRIPT, "--stdio"])
    callbacks: Any = {"elicitation_callback": fill, "sampling_callback": sample, "list_roots_callback": roots}
    connected: Any = Client(ours, mode=era, **callbacks)
    async with connected as client:
        modern = client.protocol_version == "2026-07-28"
        assert modern is (era == "auto")
        kinds = {
            name: [part.type for part in (await client.call_tool(f"test_{name}", {})).content]
            for name in ("simple_text", "image_content", "audio_content", "multiple_content_types")
        }
        assert kinds["multiple_content_types"] == ["text", "image", "resource"]
        assert (kinds["image_content"], kinds["audio_content"]) == (["image"], ["audio"])
        assert (await client.call_tool("test_error_handling", {})).is_error
        with pytest.raises(MCPError):
            await client.call_tool("no_such_tool", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=progressed)
        assert told == [0, 50, 100]
        read = await client.read_resource("test://static-text")
        assert "static text" in read.contents[0].text
        assert len((await client.list_prompts()).prompts) == 5
        got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "x", "arg2": "y"})
        assert "arg1='x'" in got.messages[0].content.text
        if modern:
            rounds = await client.call_tool("test_input_required_result_multi_round", {})
            assert rounds.content[0].text == "Both rounds are done."
            many = await client.call_tool("test_input_required_result_multiple_inputs", {})
            assert many.content[0].text == "All of them came."
        else:
            asked = await client.call_tool("test_elicitation", {"message": "?"})
            assert "action=accept" in asked.content[0].text
            sampled = await client.call_tool("test_sampling", {"prompt": "?"})
            assert sampled.content[0].text == "LLM response: Paris"

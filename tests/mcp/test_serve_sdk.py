"""Our server as the SDK of the protocol's authors sees it, in both eras, over pipes and over HTTP."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options
from holdfast.app.serve import served
from holdfast.host.web_server import WebServer
from holdfast.mcp.serve.guard import Gate
from holdfast.mcp.serve.http import MAX_BODY_BYTES, HttpEndpoint

pytest.importorskip("mcp", reason="the SDK is part of the development set: run `make setup`")

ERAS = ["legacy", "auto"]
CARRIERS = ["stdio", "http"]


@asynccontextmanager
async def sdk_client(place: Path, era: str, carrier: str, **callbacks: Any) -> AsyncGenerator[Any]:
    """The SDK's client, connected to our server."""
    import httpx2  # noqa: PLC0415 - heavy
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - heavy

    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - heavy

    if carrier == "stdio":
        argv = ["-m", "holdfast", "mcp", "serve", "--cwd", str(place)]
        async with Client(StdioServerParameters(command=sys.executable, args=argv), mode=era, **callbacks) as client:
            yield client
        return
    async with served(Options(cwd=str(place))) as session:
        endpoint = HttpEndpoint(session.service, Gate("secret"))
        server = WebServer(endpoint.handle, max_body_bytes=MAX_BODY_BYTES)
        port = await server.start("127.0.0.1", 0)
        try:
            async with httpx2.AsyncClient(headers={"Authorization": "Bearer secret"}, trust_env=False) as http:
                reached = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
                async with Client(reached, mode=era, **callbacks) as client:
                    yield client
        finally:
            await asyncio.wait_for(endpoint.close(), 30)
            await asyncio.wait_for(server.close(), 30)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_the_sdk_lists_calls_and_answers_questions(tmp_path: Path, era: str, carrier: str) -> None:
    from mcp.types import ElicitResult  # noqa: PLC0415 - heavy

    asked: list[str] = []

    async def answer(context: object, params: Any) -> Any:
        del context
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": "allow once"})

    (tmp_path / "a.txt").write_text("one\n")
    async with sdk_client(tmp_path, era, carrier, elicitation_callback=answer) as client:
        assert (client.protocol_version == "2026-07-28") is (era != "legacy")
        assert client.server_info.name == "holdfast"
        listed = await client.list_tools()
        assert {"Bash", "Edit", "Read", "Write"} <= {tool.name for tool in listed.tools}
        read = await client.call_tool("Read", {"file_path": str(tmp_path / "a.txt")})
        assert "one" in read.content[0].text
        assert not asked
        made = await client.call_tool("Bash", {"command": "touch made"})
        assert not made.is_error, made.content
        assert (tmp_path / "made").exists()
        assert len(asked) == 1
        failed = await client.call_tool("Read", {"file_path": str(tmp_path / "missing")})
        assert failed.is_error


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdk_hears_progress_and_a_cancelled_call_ends(tmp_path: Path, era: str) -> None:
    told: list[float] = []

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        del total, message
        told.append(done)

    os.mkfifo(tmp_path / "gate")
    async with sdk_client(tmp_path, era, "http") as client:
        await client.call_tool("Bash", {"command": "echo begun; sleep 2.6"}, progress_callback=progressed)
        assert told
        slow = client.call_tool("Bash", {"command": "cat gate"})
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow, 1.0)
        after = await asyncio.wait_for(client.call_tool("Bash", {"command": "echo free"}), 30)
        assert after.content[0].text == "free"

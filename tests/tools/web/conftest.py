"""A web on loopback, and one way to fetch from it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import ToolContext, ToolResult
from holdfast.testing import WebLab
from holdfast.tools.web.web_fetch import FetchChoices, WebFetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.tools.web._reply import WebFetchOutput


@pytest.fixture
def fetch() -> Callable[..., tuple[ToolResult[WebFetchOutput], WebLab]]:
    def run(
        url: str, pages: dict[str, Any], *, choices: FetchChoices | None = None, times: int = 1, **lab: Any
    ) -> tuple[ToolResult[WebFetchOutput], WebLab]:
        async def go() -> tuple[ToolResult[WebFetchOutput], WebLab]:
            async with WebLab(pages, **lab) as web:
                tool = WebFetch(choices, client=web.client)
                args = tool.arguments.parse({"url": url, "prompt": "What is it?"})
                ctx = ToolContext("/", tool_use_id="c1")
                await tool.validate(args, ctx)
                for _ in range(times - 1):
                    await tool.call(args, ctx)
                return await tool.call(args, ctx), web

        return asyncio.run(asyncio.wait_for(go(), 60))

    return run

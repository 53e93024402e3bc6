"""A session in small: what one call leaves behind is there for the next, as in the engine."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import FileRead, FileStamp, Tool, ToolContext, ToolResult, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Session:
    """Runs tools the way the engine does: parse, effects, validate, call, modifiers."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.reads: dict[str, FileStamp] = {}
        self.before_call: Callable[[], None] = lambda: None
        self._ids = count(1)

    async def run(self, tool: Tool[Any, Any], raw: dict[str, Any]) -> ToolResult[Any]:
        ctx = ToolContext(self.cwd, tool_use_id=f"call{next(self._ids)}", file_reads=self.reads)
        args = tool.arguments.parse(raw)
        tool.effects(args, ctx)
        tool.permission_matcher(args, ctx)
        await tool.validate(args, ctx)
        self.before_call()
        result = await tool.call(args, ctx)
        for modifier in result.modifiers:
            if isinstance(modifier, FileRead):
                self.reads[modifier.path] = modifier.stamp
        return result

    def call(self, tool: Tool[Any, Any], **raw: Any) -> ToolResult[Any]:
        return asyncio.run(self.run(tool, raw))

    def text(self, tool: Tool[Any, Any], **raw: Any) -> str:
        result = self.call(tool, **raw)
        return text_of(result.text if result.text is not None else tool.to_blocks(result.data))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)

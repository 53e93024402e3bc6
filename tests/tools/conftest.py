"""A session in small: what one call leaves behind is there for the next, as in the engine."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import FileRead, FileStamp, Tool, ToolContext, ToolResult, text_of
from holdfast.contract.roles import PlanRights

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Hiding:
    """Rights under which some files are hidden, and nothing else is said."""

    hides_files = True

    def __init__(self, part: str) -> None:
        self._part = part

    def hides(self, path: str) -> bool:
        return self._part in path

    def is_inside(self, path: str) -> bool:
        del path
        return True

    def guarded_roots(self) -> tuple[str, ...]:
        return ()

    @property
    def plan(self) -> PlanRights:
        return PlanRights(is_on=False, file="", mode_before="default")

    @property
    def deps(self) -> None:
        return None

    @property
    def worktree(self) -> None:
        return None

    @property
    def calls(self) -> None:
        return None


class Session:
    """Runs tools the way the engine does: parse, effects, validate, call, modifiers."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.reads: dict[str, FileStamp] = {}
        self.before_call: Callable[[], None] = lambda: None
        self.rights: Hiding | None = None
        self._ids = count(1)

    def hide(self, part: str) -> None:
        """Hide every file whose path has this part."""
        self.rights = Hiding(part)

    async def run(self, tool: Tool[Any, Any], raw: dict[str, Any]) -> ToolResult[Any]:
        id_ = f"call{next(self._ids)}"
        ctx = ToolContext(self.cwd, tool_use_id=id_, file_reads=self.reads, rights=self.rights)
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

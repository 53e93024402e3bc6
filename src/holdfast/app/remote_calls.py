"""The calls of a remote agent, judged here like every other: each is a call of a stand-in, done elsewhere."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

from holdfast.contract import Effects, Opinion, RuleSubject, Tool, ToolContext, ToolResult
from holdfast.contract.arguments import Arguments
from holdfast.contract.render import Shown

__all__ = ["ELSEWHERE", "Done", "OpenCalls", "StandIn", "stand_ins"]

ELSEWHERE: Final = frozenset({"Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "Bash", "WebFetch", "WebSearch"})
"""What a remote agent can do: tools that need nothing of the session that started it."""
_SEARCHES: Final = frozenset({"Grep", "Glob"})
Done = Callable[[str, Mapping[str, Any]], Awaitable[tuple[str, bool]]]
"""Lets the call of this id run with this input; returns what came of it, and whether that is an error."""


class StandIn(Tool[Any, Any]):
    """One tool that is run elsewhere. Whether it may is decided by what the tool itself says of the call."""

    max_result_chars = 100_000
    concurrency_safe = True  # the order of its calls is kept where they run

    def __init__(self, tool: Tool, done: Done) -> None:
        self.name, self.aliases = tool.name, tool.aliases
        self.renamed_arguments = tool.renamed_arguments
        self.requires_user_interaction = tool.requires_user_interaction
        self.session_state = tool.session_state
        self._tool = tool
        self._done = done

    @property
    def arguments(self) -> Arguments:  # pyright: ignore[reportIncompatibleVariableOverride] - that of the tool itself
        """Those of the tool."""
        return self._tool.arguments

    def is_read_only(self, args: Any) -> bool:
        """As the tool says."""
        return self._tool.is_read_only(args)

    def is_destructive(self, args: Any) -> bool:
        """As the tool says."""
        return self._tool.is_destructive(args)

    def is_session_state(self, args: Any) -> bool:
        """As the tool says."""
        return self._tool.is_session_state(args)

    def effects(self, args: Any, ctx: ToolContext) -> Effects:
        """As the tool says."""
        return self._tool.effects(args, ctx)

    def permission_matcher(self, args: Any, ctx: ToolContext) -> RuleSubject:
        """As the tool says."""
        return self._tool.permission_matcher(args, ctx)

    def classifier_input(self, args: Any) -> str | None:
        """As the tool says."""
        return self._tool.classifier_input(args)

    async def check_permission(self, args: Any, ctx: ToolContext) -> Opinion:
        """As the tool says."""
        return await self._tool.check_permission(args, ctx)

    def render_use(self, raw: Mapping[str, Any]) -> Shown:
        """As the tool shows it."""
        return self._tool.render_use(raw)

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult[Any]:
        """Say yes, and wait for what comes of it."""
        text, is_error = await self._done(ctx.tool_use_id, _plain(args))
        return ToolResult(None, text, is_error=is_error)


def stand_ins(tools: list[Tool], done: Done, *, hides_files: bool) -> list[Tool]:
    """One for each tool that can be run elsewhere.

    What a search passes over is decided where it runs, so there is none where a rule hides files.
    """
    here = _SEARCHES if hides_files else frozenset[str]()
    return [StandIn(tool, done) for tool in tools if tool.name in ELSEWHERE - here]


def _plain(args: Any) -> dict[str, Any]:
    if isinstance(args, BaseModel):
        return args.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dict(cast("Mapping[str, Any]", args))


class OpenCalls:
    """The calls that have begun and whose end is not known yet."""

    def __init__(self) -> None:
        self._ends: dict[str, asyncio.Future[tuple[str, bool]]] = {}

    async def end_of(self, id_: str) -> tuple[str, bool]:
        """What comes of it."""
        end = self._ends[id_] = asyncio.get_running_loop().create_future()
        try:
            return await end
        finally:
            self._ends.pop(id_, None)

    def ended(self, id_: str, text: str, *, is_error: bool) -> None:
        """It has ended; one that nobody waits for was refused there."""
        end = self._ends.get(id_)
        if end is not None and not end.done():
            end.set_result((text, is_error))

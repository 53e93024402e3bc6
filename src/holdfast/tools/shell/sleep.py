"""Wait without holding a process. The text the model reads is in sleep.md, beside this file."""

import asyncio
from typing import TypedDict

from pydantic import Field

from holdfast.contract import NO_FACTS, Args, Effects, PromptFacts, Tool, ToolContext, ToolResult
from holdfast.tasks import TaskBoard

__all__ = ["Sleep", "SleepArgs", "SleepOutput"]

_DAY_S = 86_400
_OR_A_TASK_ENDS = " or a background task ends"
_WAITS_FOR_A_TASK = " To wait for one background task, TaskOutput with `block` is better: it returns with the output."


class SleepArgs(Args):
    """How long to wait."""

    duration_seconds: float = Field(ge=0, le=_DAY_S, description="How long to wait, in seconds.")
    reason: str | None = Field(default=None, description="What you wait for, in a few words, for the user.")


class SleepOutput(TypedDict):
    """How the wait ended."""

    slept_seconds: float
    woken_by: str
    """`time` or `task`."""


class Sleep(Tool[SleepArgs, SleepOutput]):
    """Waits; a message of the user, or the end of a background task, ends the wait early."""

    name, args_type = "Sleep", SleepArgs
    output_type = SleepOutput
    search_hint = "wait, pause or rest for some time"
    max_result_chars = 100_000
    read_only = concurrency_safe = session_state = should_defer = True
    interrupt_behavior = "cancel"

    def __init__(self, board: TaskBoard | None = None) -> None:
        self.board = board or TaskBoard()
        self.resources = (self.board,)

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """The text beside this file, silent about a background that the session lacks."""
        text = super().prompt(facts)
        return text if facts.background else text.replace(_OR_A_TASK_ENDS, "").replace(_WAITS_FOR_A_TASK, "")

    def effects(self, args: SleepArgs, ctx: ToolContext) -> Effects:
        """It touches nothing."""
        del args, ctx
        return Effects()

    async def call(self, args: SleepArgs, ctx: ToolContext) -> ToolResult[SleepOutput]:
        """Wait for the time, or for the end of a task that the model does not know of."""
        del ctx
        loop = asyncio.get_running_loop()
        began = loop.time()
        woken = await self.board.wait_for_any_end(args.duration_seconds)
        slept = round(loop.time() - began, 1)
        if not woken:
            return ToolResult({"slept_seconds": slept, "woken_by": "time"}, f"Slept for {slept:g} s.")
        text = f"Woken after {slept:g} s: a background task has ended. You are told which one separately."
        return ToolResult({"slept_seconds": slept, "woken_by": "task"}, text)

"""Begin to plan. The text the model reads is in enter_plan_mode.md, beside this file."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from holdfast.contract import Args, Effects, ModeChanged, SessionFacts, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.contract.render import Line, ShownResult

__all__ = ["EnterPlanMode", "EnterPlanModeArgs", "EnterPlanModeOutput"]


class EnterPlanModeArgs(Args):
    """Nothing is needed."""


class EnterPlanModeOutput(TypedDict):
    """What follows from it."""

    message: str


class EnterPlanMode(Tool[EnterPlanModeArgs, EnterPlanModeOutput]):
    """Puts the session into plan mode; the rights remember the mode that it comes from."""

    name, args_type = "EnterPlanMode", EnterPlanModeArgs
    output_type = EnterPlanModeOutput
    search_hint = "think first, propose an approach before changing files"
    max_result_chars = 100_000
    read_only = session_state = should_defer = True

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only for the first agent, and where somebody can approve a plan."""
        return session.prompt.interactive and session.agent_id is None

    def effects(self, args: EnterPlanModeArgs, ctx: ToolContext) -> Effects:
        """It touches nothing."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: EnterPlanModeArgs) -> str | None:
        """That nothing is changed from now on."""
        del args
        return "begin to plan: nothing is changed until a person approves a plan"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """Its name says all."""
        del raw
        return self.name

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """That it is on; the rest is for the model."""
        return (
            [[("accent", "Plan mode is on: nothing is changed until a plan is approved")]] if condensed else result.text
        )

    async def validate(self, args: EnterPlanModeArgs, ctx: ToolContext) -> None:
        """Not twice, and not by an agent that another one has started."""
        del args
        if ctx.session.agent_id is not None:
            raise ToolFailed("a subagent cannot enter plan mode; report to whoever started you", error_code=1)
        if ctx.rights is not None and ctx.rights.plan.is_on:
            raise ToolFailed("plan mode is on already; write the plan, then call ExitPlanMode", error_code=2)

    async def call(self, args: EnterPlanModeArgs, ctx: ToolContext) -> ToolResult[EnterPlanModeOutput]:
        """Change the mode."""
        del args
        file = ctx.rights.plan.file if ctx.rights is not None else ""
        where = f" into {file}" if file else ""
        message = (
            "Plan mode begins. Nothing may be changed now: look around, compare the ways to do it, ask what only the "
            f"user can decide, write the plan{where}, then call ExitPlanMode to have it approved."
        )
        return ToolResult({"message": message}, message, modifiers=(ModeChanged("plan"),))

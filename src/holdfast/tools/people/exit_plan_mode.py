"""Have a plan approved. The text the model reads is in exit_plan_mode.md, beside this file."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from pydantic import ConfigDict, Field

from holdfast.contract import (
    Args,
    Choice,
    ContextModifier,
    Effects,
    Form,
    FormAnswer,
    FormField,
    Granted,
    ModeChanged,
    SessionFacts,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    internal,
)
from holdfast.contract.render import Line, ShownResult, lines_of

__all__ = ["AllowedPrompt", "AskLeader", "ExitPlanMode", "ExitPlanModeArgs", "ExitPlanModeOutput"]

_MAX_BYTES = 1_000_000
_MAX_OPEN = 32
_REMOTE = ("pushToRemote", "remoteSessionId", "remoteSessionTitle", "remoteSessionUrl")
_RULES = "rules"
AskLeader = Callable[[str, str], Awaitable[str]]
"""Sends a plan and its file to whoever leads a team; the id of the request comes back."""


class AllowedPrompt(Args):
    """A command that the plan needs."""

    model_config = ConfigDict(extra="allow")

    tool: Literal["Bash"] = Field(description="The tool that it is for.")
    prompt: str = Field(min_length=1, max_length=2000, description="The command, or the pattern of a rule.")


class ExitPlanModeArgs(Args):
    """What the plan needs besides consent; the plan itself comes from its file. What else is sent does no harm."""

    model_config = ConfigDict(extra="allow")

    allowedPrompts: list[AllowedPrompt] | None = Field(  # noqa: N815 - the known name
        default=None, max_length=32, description="Commands that the plan needs."
    )
    plan: str | None = internal()
    planFilePath: str | None = internal()  # noqa: N815 - the known name
    picked: list[str] | None = internal()
    said: str = internal("")


class ExitPlanModeOutput(TypedDict):
    """The plan as it stands, and who has approved it or will."""

    plan: str
    isAgent: bool
    filePath: NotRequired[str]
    hasTaskTool: NotRequired[bool]
    planWasEdited: NotRequired[bool]
    awaitingLeaderApproval: NotRequired[bool]
    requestId: NotRequired[str]


class _Shown(NamedTuple):
    """What the person had before them: only that is approved."""

    plan: str
    given: tuple[str, ...]


class ExitPlanMode(Tool[ExitPlanModeArgs, ExitPlanModeOutput]):
    """Puts the plan to the person as a text to edit; their yes brings the earlier mode and the picked rules."""

    name, args_type = "ExitPlanMode", ExitPlanModeArgs
    output_type = ExitPlanModeOutput
    search_hint = "approve the proposal, begin the work, stop planning"
    max_result_chars = 100_000
    read_only = session_state = should_defer = True
    interrupt_behavior = "cancel"

    def __init__(self, leader: AskLeader | None = None) -> None:
        """Take whom an agent of a team asks instead of a person."""
        self._leader = leader
        self.requires_user_interaction = leader is None
        self._shown: dict[str, _Shown] = {}

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only where somebody can approve a plan."""
        return session.prompt.interactive or self._leader is not None

    def effects(self, args: ExitPlanModeArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but the plan file, which is the session's own."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: ExitPlanModeArgs) -> str | None:
        """The commands that would come with the plan."""
        asked = "; ".join(one.prompt for one in args.allowedPrompts or ())
        return "show a person the plan, to begin once they approve it" + (f", and ask to run: {asked}" if asked else "")

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """What it asks for besides."""
        asked: Any = raw.get("allowedPrompts")
        return f"{self.name}({len(asked)} commands)" if isinstance(asked, list) and asked else self.name  # pyright: ignore[reportUnknownArgumentType] - partial input

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """What became of the plan, and its first lines."""
        data = result.data
        if not data:
            return result.text
        edited = " with your changes" if data.get("planWasEdited") else ""
        waits = data.get("awaitingLeaderApproval")
        said: Line = [("warn", "The plan waits for the leader")] if waits else [("ok", f"The plan is approved{edited}")]
        return [said, *lines_of(super().render_result(ShownResult(text=data["plan"].strip()), condensed=condensed))]

    async def validate(self, args: ExitPlanModeArgs, ctx: ToolContext) -> None:
        """There must be a plan, and a mode to leave."""
        del args
        if ctx.rights is None or not ctx.rights.plan.is_on:
            raise ToolFailed(
                "plan mode is not on, so there is no plan to approve; go on with the work, or call EnterPlanMode first",
                error_code=1,
            )
        await _read(ctx)

    async def form(self, args: ExitPlanModeArgs, ctx: ToolContext) -> Form | None:
        """The plan as a text to edit, and the rules that come with a yes."""
        from holdfast.tools.people._plan_rules import rules_of_plan  # noqa: PLC0415 - it needs the shell analysis

        file, plan = await _read(ctx)
        rules = rules_of_plan([asked.prompt for asked in args.allowedPrompts or ()], plan, ctx.cwd)
        self._remember(ctx.tool_use_id, _Shown(plan, rules.given))
        choices = tuple(
            Choice(rule, rule, "as the plan asks" if rule in rules.given else "named in the plan")
            for rule in (*rules.given, *rules.offered)
        )
        field = FormField(
            _RULES,
            "choices",
            title="Allow these commands for this session",
            header="Commands",
            description="Left open, those that the plan asks for by name are allowed; the others only when picked.",
            choices=choices,
            default=list(rules.given),
        )
        given = {**args.model_dump(exclude_none=True, exclude={"said"}), "plan": plan, "planFilePath": file}
        return Form(
            "plan",
            "The model has a plan and asks to begin",
            self.name,
            (field,) if choices else (),
            text=plan,
            input=given,
            details={"planFilePath": file, "suggestions": [*rules.given, *rules.offered]},
        )

    def filled(self, args: ExitPlanModeArgs, answer: FormAnswer) -> Mapping[str, Any]:
        """The plan where the person edited it, and the rules that they picked."""
        del args
        return {"plan": answer.text, "picked": answer.values.get(_RULES), "said": answer.message}

    async def call(self, args: ExitPlanModeArgs, ctx: ToolContext) -> ToolResult[ExitPlanModeOutput]:
        """Leave plan mode, with what the person approved."""
        assert ctx.rights is not None
        if self._leader is not None:
            return await self._ask_leader(args, ctx)
        shown = self._shown.pop(ctx.tool_use_id, None)
        if shown is None or not ctx.asked:
            raise ToolFailed(
                "nobody has approved the plan; call ExitPlanMode where the user can be asked", error_code=4
            )
        file = ctx.rights.plan.file
        plan = shown.plan if args.plan is None else args.plan
        if not plan.strip():
            raise ToolFailed("the user emptied the plan; ask what they want instead", error_code=3)
        was_edited = plan != shown.plan
        if was_edited:
            await asyncio.to_thread(_write, file, plan)
        data: ExitPlanModeOutput = {
            "plan": plan,
            "isAgent": ctx.session.agent_id is not None,
            "filePath": file,
            "hasTaskTool": bool(ctx.session.prompt.agents),
            "planWasEdited": was_edited,
        }
        granted = shown.given if args.picked is None else tuple(args.picked)
        changes: list[ContextModifier] = [Granted(granted)] if granted else []
        if ctx.rights.plan.is_on:  # else the answer itself has chosen a mode
            changes.insert(0, ModeChanged(ctx.rights.plan.mode_before))
        return ToolResult(data, _reply(args, data, granted), modifiers=tuple(changes))

    async def _ask_leader(self, args: ExitPlanModeArgs, ctx: ToolContext) -> ToolResult[ExitPlanModeOutput]:
        """Nothing changes yet: the leader's answer comes as a message."""
        assert self._leader is not None
        del args
        file, plan = await _read(ctx)
        request = await self._leader(plan, file)
        data: ExitPlanModeOutput = {
            "plan": plan,
            "isAgent": ctx.session.agent_id is not None,
            "filePath": file,
            "awaitingLeaderApproval": True,
            "requestId": request,
        }
        return ToolResult(data, f"The plan went to the team's leader (request {request}). Wait; change nothing yet.")

    def _remember(self, call: str, shown: _Shown) -> None:
        self._shown[call] = shown
        while len(self._shown) > _MAX_OPEN:  # those that were declined
            del self._shown[next(iter(self._shown))]


async def _read(ctx: ToolContext) -> tuple[str, str]:
    """The plan file and what stands in it."""
    from holdfast.lib.guarded_read import read_guarded  # noqa: PLC0415 - plans are rare

    file = "" if ctx.rights is None else ctx.rights.plan.file
    if not file:
        raise ToolFailed("this session has no plan file; tell the user the plan as your answer", error_code=2)
    try:
        data = await asyncio.to_thread(read_guarded, file, limit_bytes=_MAX_BYTES, follow=False)
    except OSError as error:
        raise ToolFailed(f"the plan file {file!r} cannot be read: {error.strerror}", error_code=2) from error
    plan = "" if data is None else data.decode(errors="replace")
    if not plan.strip():
        what = "there is no plan file" if data is None else "the plan file is empty"
        raise ToolFailed(f"{what}: write the plan to {file!r} with Write, then call ExitPlanMode again", error_code=2)
    return file, plan


def _write(file: str, plan: str) -> None:
    from holdfast.lib.atomic import write_atomic  # noqa: PLC0415 - only for an edited plan

    try:
        write_atomic(file, plan.encode(errors="surrogateescape"), links="refuse")
    except OSError as error:
        raise ToolFailed(f"the edited plan could not be written to {file!r}: {error}", error_code=5) from error


def _reply(args: ExitPlanModeArgs, data: ExitPlanModeOutput, granted: tuple[str, ...]) -> str:
    edited = " after editing it" if data.get("planWasEdited") else ""
    lines = [f"The user approved the plan{edited}. Plan mode is over: begin the work, and keep a task list of it."]
    if args.said:
        lines.append(f"The user added: {args.said}")
    if granted:
        lines.append("Allowed for this session: " + ", ".join(granted))
    left = len(args.allowedPrompts or ()) and not granted
    lines += ["None of the commands in allowedPrompts was allowed; each is asked about."] if left else []
    remote = [name for name in _REMOTE if (args.model_extra or {}).get(name)]
    lines += [f"Not available: remote sessions ({', '.join(remote)} was set aside)."] if remote else []
    lines.append(f"The plan ({data.get('filePath')}):\n\n{data['plan']}")
    return "\n".join(lines)

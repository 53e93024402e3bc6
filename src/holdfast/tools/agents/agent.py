"""Start another agent for one task. The text the model reads is in agent.md, beside this file."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast

from pydantic import Field

from holdfast.contract import (
    NO_FACTS,
    NO_OBJECTION,
    UNKNOWN_EFFECTS,
    Args,
    ConversationHanded,
    Effects,
    Opinion,
    PromptFacts,
    RuleSubject,
    SessionFacts,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    conditional,
)
from holdfast.contract.names import PermissionMode
from holdfast.contract.render import Line, ShownResult, lines_of
from holdfast.contract.roles import AgentReport, AgentTask, Spawner

__all__ = ["DEFAULT_TYPE", "Agent", "AgentArgs", "AgentDone", "AgentLaunched", "AgentOutput"]

DEFAULT_TYPE = "general-purpose"
_CLASSIFIED_CHARS = 4_000
_NO_LOOP = "no agent can be started here: there is no model in this session. Start one with `holdfast -p` or the SDK"


class AgentArgs(Args):
    """Who should do what."""

    description: str = Field(description="The task in 3 to 5 words.")
    prompt: str = Field(min_length=1, description="The whole task.")
    subagent_type: str | None = Field(default=None, description="Default: general-purpose.")
    model: str | None = Field(default=None, description="Another model, as `haiku`.")
    max_turns: int | None = Field(default=None, ge=1)
    mode: PermissionMode | None = None
    allowed_tools: list[str] | None = Field(default=None, description="Only these.")
    cwd: str | None = Field(default=None, description="Where it starts.")
    run_in_background: bool = conditional(
        default=False,
        when="background",
        description="Do not wait; you are told when it is done.",
    )
    name: str | None = Field(default=None, description="A name for `resume`.")
    resume: str | None = Field(default=None, description="Go on with this agent: id or name.")
    isolation: Literal["worktree", "remote"] | None = Field(
        default=None, description="A git worktree or a session of its own."
    )
    team_name: str | None = None


class AgentDone(TypedDict):
    """What came of it."""

    status: Literal["completed"]
    result: str
    content: list[dict[str, str]]
    totalToolUseCount: int
    totalTokens: int
    usage: Mapping[str, int]
    agentId: str
    worktreePath: NotRequired[str]
    worktreeBranch: NotRequired[str]


class AgentLaunched(TypedDict):
    """It works in the background."""

    status: Literal["async_launched"]
    agentId: str
    description: str
    prompt: str


AgentOutput = AgentDone | AgentLaunched


class Agent(Tool[AgentArgs, AgentOutput]):
    """Hands a task to another loop, and waits for its last message or not."""

    name, args_type = "Agent", AgentArgs
    output_type = AgentOutput
    aliases = ("Task",)
    search_hint = "delegate work to a subagent, explore, research in parallel"
    max_result_chars = 100_000
    # Starting one touches nothing; what it does is judged call by call. But it is no reading that could be dropped.
    concurrency_safe = session_state = True
    interrupt_behavior = "block"

    def __init__(self, spawner: Spawner | None = None) -> None:
        self.spawner = spawner

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """The text, with the types that are always there; those of the user stand in the system prompt."""
        listed = "\n".join(f"- {name}: {about}" for name, about in _builtin_types().items())
        return f"{super().prompt(facts)}\n\nTypes of agents:\n{listed}"

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only where a loop is that can start one; in an agent that was started so, where the settings say so."""
        return bool(session.prompt.agents)

    def is_session_state(self, args: AgentArgs) -> bool:
        """Starting an agent touches nothing, unless a worktree is made for it or a process started."""
        return self._isolation(args) is None

    def effects(self, args: AgentArgs, ctx: ToolContext) -> Effects:
        """The same; each call of the agent is judged for itself."""
        del ctx
        return Effects() if self._isolation(args) is None else UNKNOWN_EFFECTS

    def classifier_input(self, args: AgentArgs) -> str | None:
        """Who would do what, and where."""
        where = {"worktree": " in a git worktree of its own", "remote": " in a process of its own"}
        apart = where.get(self._isolation(args) or "", "")
        return f"start an agent ({args.subagent_type or DEFAULT_TYPE}){apart}: {args.prompt[:_CLASSIFIED_CHARS]}"

    def may_object(self, args: AgentArgs) -> bool:
        """Only git is worth a second look."""
        return self._isolation(args) == "worktree"

    async def check_permission(self, args: AgentArgs, ctx: ToolContext) -> Opinion:
        """A repository whose configuration starts programs needs a person's yes before git runs in it."""
        from holdfast.tools.worktrees.checkout import find_checkout, starts_programs  # noqa: PLC0415 - few work apart

        checkout = find_checkout(str(ctx.resolve(args.cwd)) if args.cwd else ctx.cwd)
        reason = None if checkout is None else await starts_programs(checkout)
        return NO_OBJECTION if reason is None else Opinion.ask(reason)

    def permission_matcher(self, args: AgentArgs, ctx: ToolContext) -> RuleSubject:
        """Rules are about the type: `Agent(Explore)`; of one that goes on, about what it is."""
        del ctx
        given = args.subagent_type or DEFAULT_TYPE
        return RuleSubject("agent", given if self.spawner is None else self.spawner.type_of(given, args.resume))

    async def validate(self, args: AgentArgs, ctx: ToolContext) -> None:
        """Nobody is asked about an agent that cannot be."""
        if self.spawner is None:
            raise ToolFailed(_NO_LOOP, error_code=1)
        if not args.prompt.strip():
            raise ToolFailed("the prompt is empty; say what the agent should do", error_code=2)
        problem = self.spawner.problem(_task(args, ctx))
        if problem is not None:
            raise ToolFailed(problem, error_code=3)

    async def call(self, args: AgentArgs, ctx: ToolContext) -> ToolResult[AgentOutput]:
        """Let it work, and report; it is stopped with this call unless it goes on in the background."""
        if self.spawner is None:
            raise ToolFailed(_NO_LOOP, error_code=1)
        report = await self.spawner.run(_task(args, ctx), ctx.progress)
        if report.goes_on:
            return _launched(args, report)
        data: AgentDone = {
            "status": "completed",
            "result": report.text,
            "content": [{"type": "text", "text": report.text}],
            "totalToolUseCount": report.tool_uses,
            "totalTokens": sum(report.usage.values()),
            "usage": report.usage,
            "agentId": report.agent_id,
        }
        if report.worktree is not None:
            data["worktreePath"], data["worktreeBranch"] = report.worktree
        handed = () if report.conversation is None else (ConversationHanded(report.agent_id, report.conversation),)
        return ToolResult(data, _words(report), modifiers=handed, is_error=bool(report.error))

    def background(self, tool_use_id: str) -> bool:
        """Let a running agent go on in the background, as the user wishes."""
        return self.spawner is not None and self.spawner.background(tool_use_id)

    def _isolation(self, args: AgentArgs) -> str | None:
        if self.spawner is None:
            return args.isolation
        return self.spawner.isolation(args.subagent_type or DEFAULT_TYPE, args.isolation, args.resume)

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """Who does what."""
        return f"{raw.get('subagent_type') or DEFAULT_TYPE}: {raw.get('description') or ''}"

    def render_progress(self, progress: Any) -> str:
        """What it does now."""
        if not isinstance(progress, dict):
            return str(progress)
        told = cast("dict[str, Any]", progress)
        return f"{told.get('tool') or 'at work'} ({told.get('toolUses', 0)} calls)"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """What it said, and what it took."""
        data = result.data
        if not data or data["status"] == "async_launched":
            return f"works in the background as {data['agentId']}" if data else result.text
        calls = data["totalToolUseCount"]
        said: Line = [("dim", f"{calls} call{'' if calls == 1 else 's'}, {data['totalTokens']:,} tokens")]
        words = super().render_result(ShownResult(text=data["result"]), condensed=condensed)
        return [*lines_of(words), said]


def _task(args: AgentArgs, ctx: ToolContext) -> AgentTask:
    return AgentTask(
        prompt=args.prompt,
        description=args.description,
        type=args.subagent_type or DEFAULT_TYPE,
        tool_use_id=ctx.tool_use_id,
        model=args.model,
        max_turns=args.max_turns,
        mode=args.mode,
        allowed_tools=None if args.allowed_tools is None else tuple(args.allowed_tools),
        cwd=None if args.cwd is None else str(ctx.resolve(args.cwd)),
        background=args.run_in_background,
        name=args.name,
        team=args.team_name,
        isolation=args.isolation,
        resume=args.resume,
        asked=ctx.asked,
        hooks=ctx.hooks,
    )


def _launched(args: AgentArgs, report: AgentReport) -> ToolResult[AgentOutput]:
    data: AgentLaunched = {
        "status": "async_launched",
        "agentId": report.agent_id,
        "description": args.description,
        "prompt": args.prompt,
    }
    text = (
        f"The agent {report.agent_id} works in the background. You will be told when it is done, with its last "
        f"message; do not wait for it in a loop, and do not do its work yourself. TaskOutput shows what it does, "
        f"TaskStop ends it. It ends with this session: if nothing else is left to do, wait for it with TaskOutput."
    )
    return ToolResult(data, text, backgrounded=True)


def _words(report: AgentReport) -> str:
    notes = "".join(f"\n\n[{note}]" for note in report.notes)
    if not report.error:
        return (report.text or "[The agent ended without a word.]") + notes
    last = f" Its last words:\n\n{report.text}" if report.text else ""
    more = f"\n\n[`resume` with {report.agent_id} goes on with it.]"
    return f"The agent did not finish: {report.error}{last}{notes}{more}"


def _builtin_types() -> Mapping[str, str]:
    from holdfast.tools.agents.types import BUILTIN_TYPES  # noqa: PLC0415 - for the list of tools alone

    return {kind.name: kind.about for kind in BUILTIN_TYPES}

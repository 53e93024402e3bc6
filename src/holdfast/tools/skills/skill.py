"""Use a skill or command that somebody wrote. The text the model reads is in skill.md, beside this file."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import (
    UNKNOWN_EFFECTS,
    Args,
    Effects,
    Granted,
    Opinion,
    Preview,
    RuleSubject,
    SessionFacts,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from holdfast.contract.permission import NO_OBJECTION
from holdfast.contract.roles import AgentTask
from holdfast.engine.state import AgentState
from holdfast.lib.visible import visible
from holdfast.tools.skills.server_prompts import check_prompt
from holdfast.tools.skills.shelf import Shelf, Use, split_call

if TYPE_CHECKING:
    from holdfast.definitions.skills import Skill as Definition

__all__ = ["Skill", "SkillArgs", "SkillOutput"]

_NO_LOOP: Final = (
    "no skill can be used here: there is no model in this session. Start one with `holdfast -p` or the SDK"
)
_KEPT: Final = 64
_CLASSIFIED_CHARS: Final = 4_000


class SkillArgs(Args):
    """Which skill, and what for."""

    skill: str = Field(min_length=1, max_length=100_000, description="The name of the skill or command.")
    args: str | None = Field(default=None, max_length=100_000, description="What it is called with.")

    def split(self) -> tuple[str, str]:
        """Name and arguments; the older form has both in one text."""
        name, rest = split_call(self.skill)
        return name, f"{rest} {self.args or ''}".strip()


class SkillOutput(TypedDict):
    """What was used."""

    success: bool
    commandName: str
    status: Literal["inline", "forked"]
    allowedTools: NotRequired[list[str]]
    model: NotRequired[str]
    agentId: NotRequired[str]
    result: NotRequired[str]


class Skill(Tool[SkillArgs, SkillOutput]):
    """Tells the model a skill's text. What a skill wants besides, such as commands and rights, needs somebody's yes."""

    name, args_type = "Skill", SkillArgs
    output_type = SkillOutput
    aliases = ("SlashCommand",)
    renamed_arguments = {"command": "skill"}  # noqa: RUF012 - the contract's form
    search_hint = "slash command, playbook, instructions of the user or project"
    max_result_chars = 100_000
    # Reading one touches nothing; what it wants besides is asked about, and its commands are judged one by one.
    session_state = True

    def __init__(self, shelf: Shelf | None = None) -> None:
        self.shelf = shelf
        self._shown: dict[str, str] = {}
        """By call: the key of what a person was shown with the question."""

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only where a loop is; agents that it starts have it, too."""
        return bool(session.prompt.agents) or session.agent_id is not None

    def is_session_state(self, args: SkillArgs) -> bool:
        """The same; a server's prompt is asked for elsewhere, and for an agent a place may have to be made."""
        return self._server(args) is None and self._isolation(args) is None

    def is_read_only(self, args: SkillArgs) -> bool:
        """It only reads, unless commands stand in its text, an agent follows it, or a server is asked."""
        if self._server(args) is not None:
            return False
        try:
            skill = None if self.shelf is None else self.shelf.find(args.split()[0])
            return skill is None or not (skill.forks or skill.load().injections)
        except (ToolFailed, OSError):
            return True  # it will fail

    def effects(self, args: SkillArgs, ctx: ToolContext) -> Effects:
        """It reads a file that whoever trusts the place has agreed to; what a server does, nobody knows."""
        del ctx
        return Effects() if self.is_session_state(args) else UNKNOWN_EFFECTS

    def permission_matcher(self, args: SkillArgs, ctx: ToolContext) -> RuleSubject:
        """Rules are about the skill's whole name, however it was called: `Skill(deploy)`."""
        del ctx
        name = args.split()[0]
        found = None if self.shelf is None or self.shelf.library is None else self.shelf.library.find(name)
        return RuleSubject("skill", name if found is None else found.name)

    async def validate(self, args: SkillArgs, ctx: ToolContext) -> None:
        """Nobody is asked about a skill that is none."""
        server = self._server(args)
        if server is not None:
            check_prompt(args.split()[0], server, ctx)
            return
        self._found(args)

    async def check_permission(self, args: SkillArgs, ctx: ToolContext) -> Opinion:
        """A skill that wants rights or runs commands is asked about; where nobody can be, it is used without them."""
        if self._server(args) is not None:
            return NO_OBJECTION
        if self._isolation(args) == "worktree" and (reason := await _starts_programs(ctx.cwd)) is not None:
            return Opinion.ask(reason)
        use = self._use(args, ctx)
        if not use.wants_consent or not _can_ask(ctx) or self._agreed_before(use, ctx):
            return NO_OBJECTION
        wishes: list[str] = []
        if use.commands:
            wishes.append(f"runs {visible('; '.join(use.commands), limit_chars=300)}")
        if use.grants:
            granted = visible(", ".join(use.grants), limit_chars=300)
            wishes.append(f"wants to use {granted} without a question for this turn")
        if use.hooks:
            wishes.append(f"brings hooks for this turn ({visible('; '.join(use.hooked), limit_chars=300)})")
        return Opinion.ask(f"the skill {visible(use.skill.name, limit_chars=80)!r} {' and '.join(wishes)}")

    async def preview(self, args: SkillArgs, ctx: ToolContext) -> Preview | None:
        """What a yes would allow; it counts for this and nothing else."""
        if self._server(args) is not None:
            return None
        use = self._use(args, ctx)
        if not use.wants_consent:
            return None
        if len(self._shown) >= _KEPT:
            self._shown.clear()
        self._shown[ctx.tool_use_id] = use.key
        return Preview("\n".join(use.wishes()), {})

    async def call(self, args: SkillArgs, ctx: ToolContext) -> ToolResult[SkillOutput]:
        """Tell the text, or let an agent follow it."""
        shelf, state = self.shelf, ctx.rights
        if shelf is not None and shelf.prompts is not None and self._server(args) is not None:
            name, arguments = args.split()
            said = await shelf.prompts.text(name, arguments)
            return ToolResult({"success": True, "commandName": name, "status": "inline"}, said, display=f"read {name}")
        use = self._use(args, ctx)
        if shelf is None or not isinstance(state, AgentState):
            raise ToolFailed(_NO_LOOP, error_code=1)
        shown = self._shown.pop(ctx.tool_use_id, None)
        consented = self._agreed_before(use, ctx) or (ctx.asked and shown == use.key)
        if consented and ctx.asked:
            shelf.agreed.add(use.key)
        text = await shelf.text(use, state, ctx.session, consented=consented)
        data: SkillOutput = {"success": True, "commandName": use.skill.name, "status": "inline"}
        if use.skill.forks and shelf.spawner is not None and ctx.session.agent_id is None:
            return await self._forked(use, text, data, ctx, consented=consented)
        notes = _chosen(shelf, use, data, ctx)
        notes += shelf.take_up(use, consented=consented, in_agent=ctx.session.agent_id is not None)
        granted = shelf.grant(use) if consented else shelf.limits(use)
        if granted.rules:
            data["allowedTools"] = list(granted.rules)
        modifiers = (granted,) if granted != Granted((), 1) else ()
        return ToolResult(data, text + notes, modifiers=modifiers, display=_display(use))

    def classifier_input(self, args: SkillArgs) -> str | None:
        """Which one; of a server's prompt, and of an agent that works apart, nothing: a person decides."""
        return f"use the skill {' '.join(args.split())}"[:_CLASSIFIED_CHARS] if self.is_session_state(args) else None

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The skill and its arguments."""
        return f"/{str(raw.get('skill') or raw.get('command') or '').removeprefix('/')} {raw.get('args') or ''}".strip()

    async def _forked(
        self, use: Use, text: str, data: SkillOutput, ctx: ToolContext, *, consented: bool
    ) -> ToolResult[SkillOutput]:
        """An agent of its own follows it. What was agreed to holds until the turn ends, what is denied always."""
        shelf, state = self.shelf, ctx.rights
        assert shelf is not None
        assert shelf.spawner is not None
        assert isinstance(state, AgentState)
        spawner = shelf.spawner
        task = AgentTask(
            prompt=text,
            description=f"skill {use.skill.name}"[:80],
            type=use.skill.agent,
            tool_use_id=ctx.tool_use_id,
            model=use.skill.model,
            background=use.skill.background,
            by_skill=True,
            asked=ctx.asked,
            hooks=ctx.hooks,
            denied=use.skill.disallowed_tools.rules,
            effort=use.skill.effort,
        )
        if problem := spawner.problem(task):
            raise ToolFailed(f"the skill {use.skill.name!r} wants an agent of its own, and {problem}", error_code=5)
        notes = shelf.take_up(use, consented=consented, in_agent=False)
        if consented and use.grants:  # before it begins: its rights lie within those of whoever starts it
            state.apply(shelf.grant(use)._replace(denied=()), self.name)
            data["allowedTools"] = list(use.grants)
        report = await spawner.run(task, ctx.progress)
        data["status"], data["agentId"], data["result"] = "forked", report.agent_id, report.text
        if report.goes_on:
            said = f"The agent {report.agent_id} follows the skill in the background; you are told when it is done."
            return ToolResult(data, said + notes, backgrounded=True)
        data["success"] = not report.error
        said = report.text if not report.error else f"The skill's agent did not finish: {report.error}\n\n{report.text}"
        return ToolResult(data, said + notes, is_error=bool(report.error))

    def _isolation(self, args: SkillArgs) -> str | None:
        """Where the agent that follows it would work apart; none where it does not, or there is none."""
        spawner = None if self.shelf is None else self.shelf.spawner
        if self.shelf is None or self.shelf.library is None or spawner is None:
            return None
        skill = self.shelf.library.find(args.split()[0])
        return None if skill is None or not skill.forks else spawner.isolation(skill.agent, None, None)

    def _server(self, args: SkillArgs) -> str | None:
        """The server whose prompt is meant; none where a skill is."""
        prompts = None if self.shelf is None else self.shelf.prompts
        return None if prompts is None else prompts.server_of(args.split()[0])

    def _found(self, args: SkillArgs) -> "Definition":
        if self.shelf is None:
            raise ToolFailed(_NO_LOOP, error_code=1)
        skill = self.shelf.find(args.split()[0])
        if not skill.for_model and skill.name not in self.shelf.called:
            raise ToolFailed(f"only the user calls {skill.name!r}; say that they can, with /{skill.name}", error_code=3)
        return skill

    def _use(self, args: SkillArgs, ctx: ToolContext) -> Use:
        skill = self._found(args)
        assert self.shelf is not None
        return self.shelf.use(skill, args.split()[1], ctx.session)

    def _agreed_before(self, use: Use, ctx: ToolContext) -> bool:
        """A person said yes to this very content, or the rights ask about nothing, or a rule names the user's own."""
        assert self.shelf is not None
        state = ctx.rights
        if use.key in self.shelf.agreed or not isinstance(state, AgentState):
            return use.key in self.shelf.agreed
        rights = state.permissions
        if all(one.effective_mode == "bypassPermissions" for one in (rights, *rights.ancestors())):
            return True
        if use.skill.folder is not None or use.runs_arguments:  # a rule names the file, and not what a model adds
            return False
        book = rights.book
        rule = book.named("allow", "Skill", use.skill.name, with_arguments=use.has_arguments)
        return (rule or book.whole("allow", self.names)) is not None


async def _starts_programs(cwd: str) -> str | None:
    from holdfast.tools.worktrees.checkout import find_checkout, starts_programs  # noqa: PLC0415 - few work apart

    checkout = find_checkout(cwd)
    return None if checkout is None else await starts_programs(checkout)


def _can_ask(ctx: ToolContext) -> bool:
    state = ctx.rights
    mode = state.permissions.effective_mode if isinstance(state, AgentState) else "dontAsk"
    return ctx.session.prompt.interactive and mode != "dontAsk"


def _chosen(shelf: Shelf, use: Use, data: SkillOutput, ctx: ToolContext) -> str:
    """Let the turn have the skill's model and effort; a note where that cannot be."""
    skill = use.skill
    if shelf.choose is None or ctx.session.agent_id is not None or (skill.model is None and skill.effort is None):
        return ""
    problem = shelf.choose(skill.model, skill.effort)
    if skill.model is not None and not problem:
        data["model"] = skill.model
    return f"\n\n[{problem}]" if problem else ""


def _display(use: Use) -> str:
    return f"read {use.skill.name}" + (f" and ran {len(use.commands)} commands" if use.commands else "")

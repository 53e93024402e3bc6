"""Run a shell command. The text the model reads is in bash.md, beside this file."""

import asyncio
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from holdfast.contract import (
    NO_FACTS,
    Args,
    ArgumentsInvalid,
    Effects,
    Opinion,
    Preview,
    PromptFacts,
    RuleSubject,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    conditional,
    internal,
)
from holdfast.contract.permission import NO_OBJECTION
from holdfast.permissions import shell
from holdfast.tasks import TaskBoard
from holdfast.tools.shell._directory import Inside, InsideProject, may_move
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell._follow import Followed, progress_line
from holdfast.tools.shell._output import BashOutput
from holdfast.tools.shell._sed import SedEdit, preview_sed_edit, write_shown_edit

if TYPE_CHECKING:
    from holdfast.tools.shell._run import Run
    from holdfast.tools.shell._terminals import CommandTerminals
    from holdfast.tools.shell._wall import ShellWall

__all__ = ["Bash", "BashArgs", "BashLimits", "analysed_here"]

_LONGEST_FIRST_SLEEP_S = 2.0
_NO_EFFECTS = Effects()


class BashLimits(NamedTuple):
    """How long commands may take in the foreground."""

    default_s: float = 120.0
    max_s: float = 600.0
    automatic_background_s: float | None = None
    """A command that takes longer goes on in the background by itself; None: only at its time limit."""
    automatic_in_subagents: bool = False


# Words of bash.md that do not hold everywhere.
_USUAL_LIMITS = "120000 (2 minutes) if omitted, at most 600000 (10 minutes)"
_GOES_ON = "goes on in the background or is ended"
_INSTEAD_OF_SLEEPING = (
    "To wait for a background task use TaskOutput; to pause use Sleep; to wait for a condition run a loop that checks "
    "it with run_in_background"
)
_WAITS_FOR_A_TASK = ", for tasks TaskOutput"


class BashArgs(Args):
    """What to run."""

    command: str = Field()
    timeout: float | None = Field(default=None, gt=0)
    description: str | None = Field(default=None, description="For the user, in five to ten words.")
    run_in_background: bool = conditional(
        default=False,
        when="background",
        description="Do not wait for it.",
    )
    dangerously_disable_sandbox: Annotated[bool, Field(alias="dangerouslyDisableSandbox")] = Field(
        default=False, description="Run outside the sandbox."
    )
    simulated_sed_edit: Annotated[SedEdit | None, Field(alias="_simulatedSedEdit")] = internal()


class Bash(Tool[BashArgs, BashOutput]):
    """Runs commands by `/bin/bash`, one shell each; only the directory is carried on."""

    name, args_type = "Bash", BashArgs
    output_type = BashOutput
    search_hint = "execute terminal commands, git, builds, tests, scripts"
    max_result_chars = 30_000
    overflow = "keep-both"
    preview_chars = 30_000
    failure_cancels_dependents = True

    def __init__(
        self,
        board: TaskBoard | None = None,
        *,
        limits: BashLimits | None = None,
        environment: ShellEnvironment | None = None,
        inside: Inside | None = None,
        wall: "ShellWall | None" = None,
        terminals: "CommandTerminals | None" = None,
    ) -> None:
        """Take what commands need.

        Args:
            board: Owner of processes and background tasks.
            limits: Time limits.
            environment: What commands see.
            inside: Says whether a directory is one of the allowed ones.
            wall: The sandbox, where there is one.
            terminals: The editor that runs the session, where it shows commands.
        """
        self.environment = environment or ShellEnvironment()
        self.board = board or TaskBoard(environment=self.environment.base)
        self.limits = limits or BashLimits()
        self.inside = inside or InsideProject()
        self.wall = wall
        self.terminals = terminals
        self.resources = (self.board,) if wall is None else (self.board, wall)
        self.followed = Followed()

    def background(self, tool_use_id: str) -> bool:
        """Let a running command go on in the background, as the user wishes; false if either is missing."""
        follower = self.followed.get(tool_use_id)
        return follower is not None and follower.let_go()

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """The text beside this file, with the time limits of this session, and silent about a background it lacks."""
        text = super().prompt(facts)
        if self.limits[:2] != BashLimits()[:2]:
            given = f"{self.limits.default_s * 1000:.0f} if omitted, at most {self.limits.max_s * 1000:.0f}"
            text = text.replace(_USUAL_LIMITS, given)
        if facts.background:
            return text
        kept = [line for line in text.split("\n") if not line.startswith("- `run_in_background`")]
        return "\n".join(kept).replace(_GOES_ON, "is ended").replace(_WAITS_FOR_A_TASK, "")

    # What the command would do, from one analysis.

    def is_read_only(self, args: BashArgs) -> bool:
        """Proven by the text, and no name in it is a function of the user."""
        analysis = shell.analyse(args.command)
        return analysis.read_only and not self.is_shadowed(analysis)

    def is_destructive(self, args: BashArgs) -> bool:
        """Whatever is not proven harmless may destroy."""
        return not self.is_read_only(args)

    def is_concurrency_safe(self, args: BashArgs) -> bool:
        """Read-only commands run side by side, unless they move the session to another directory."""
        analysis = shell.analyse(args.command)
        return analysis.read_only and not may_move(analysis) and not self.is_shadowed(analysis)

    def on_user_message(self, args: BashArgs) -> Literal["cancel", "block"]:
        """A command that changes nothing may be cut short."""
        return "cancel" if self.is_read_only(args) else "block"

    def effects(self, args: BashArgs, ctx: ToolContext) -> Effects:
        """The files that the text tells; known only where the whole command is proven."""
        analysis = shell.analyse(args.command, cwd=ctx.cwd)
        told = analysis.effects
        if analysis.read_only and not told.touches:
            return _NO_EFFECTS
        return Effects(
            reads=[os.path.join(ctx.cwd, path) for path in told.reads],
            writes=[os.path.join(ctx.cwd, path) for path in told.writes],
            process=bool(told.runs),
            known=analysis.read_only and not told.unknown,
        )

    def is_confined(self, args: BashArgs, ctx: ToolContext) -> bool:
        """Whether the sandbox speaks for this call: not while something that a command made waits for a look."""
        return self.runs_confined(args, ctx) and not (self.wall is not None and self.wall.has_doubt)

    def runs_confined(self, args: BashArgs, ctx: ToolContext) -> bool:
        """Wherever there is a sandbox, unless this call is to run outside of it."""
        wall = self.wall
        return wall is not None and wall.confines(args.command, ctx, leaves=args.dangerously_disable_sandbox)

    def holds_files(self, args: BashArgs, ctx: ToolContext) -> bool:
        """Where the sandbox can be certain of it."""
        return self.wall is not None and self.is_confined(args, ctx) and self.wall.holds_files(ctx)

    def permission_matcher(self, args: BashArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Bash are about the command."""
        del ctx
        return RuleSubject("command", args.command)

    def classifier_input(self, args: BashArgs) -> str:
        """The command."""
        return args.command

    def search_or_read(self, args: BashArgs) -> Literal["search", "read"] | None:
        """Whether every part only searches or reads."""
        kind = shell.analyse(args.command).kind
        return None if kind is None else "search" if kind == "search" else "read"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The command itself: what runs is what is shown."""
        return f"$ {raw.get('command', '')}"

    def render_progress(self, progress: Any) -> str:
        """The last line that it wrote, and how many there are."""
        return progress_line(progress)

    def may_object(self, args: BashArgs) -> bool:
        """Only what would run unasked is looked at again: files of the project may start programs.

        To leave the sandbox is a question of its own.
        """
        if self._leaves(args):
            return True
        return self._is_proven(args)

    def _leaves(self, args: BashArgs) -> bool:
        return args.dangerously_disable_sandbox and self.wall is not None and self.wall.is_on

    @staticmethod
    def _is_proven(args: BashArgs) -> bool:
        analysis = shell.analyse(args.command)
        starts_more = analysis.uses_git or analysis.steered_by_files
        if analysis.read_only or analysis.moves:  # whether it moves at all only the session's directory tells
            return starts_more or _may_be_known_here(analysis)
        return _may_be_known_here(analysis)

    async def check_permission(self, args: BashArgs, ctx: ToolContext) -> Opinion:
        """Ask about a command that only reads by its words, where files of the project start programs."""
        if self.wall is not None and self._leaves(args):
            refusal = self.wall.refuses_to_leave()
            asks = Opinion.ask("it is to run outside the sandbox, with all your rights")
            return Opinion.deny(refusal) if refusal else asks
        reason = await asyncio.to_thread(_started_by_the_project, args.command, ctx.cwd, self.environment)
        return NO_OBJECTION if reason is None else Opinion.ask(reason)

    # The work.

    async def validate(self, args: BashArgs, ctx: ToolContext) -> None:
        """Refuse what cannot work, and waiting for nothing."""
        if not args.command.strip():
            raise ArgumentsInvalid("`command` is empty; say what to run")
        if "\0" in args.command:
            raise ArgumentsInvalid("`command` holds a NUL character, which no shell can take; leave it out")
        if args.run_in_background or "sleep" not in args.command:
            return
        sleep_s = _waits_first_s(shell.analyse(args.command))
        if sleep_s is not None and sleep_s >= _LONGEST_FIRST_SLEEP_S:
            advice = _INSTEAD_OF_SLEEPING if ctx.session.prompt.background else "To pause use Sleep"
            raise ToolFailed(
                f"the command only sleeps for {sleep_s:g} s first and blocks everything meanwhile. {advice}"
            )

    async def preview(self, args: BashArgs, ctx: ToolContext) -> Preview | None:
        """A plain `sed -i` as the diff it makes."""
        if "sed" not in args.command:
            return None
        found = await asyncio.to_thread(preview_sed_edit, args.command, ctx.cwd)
        return None if found is None else Preview(found.diff, {"simulated_sed_edit": found.edit})

    async def call(self, args: BashArgs, ctx: ToolContext) -> ToolResult[BashOutput]:
        """Run it, or write the edit that was shown instead of it."""
        if args.simulated_sed_edit is not None:
            return write_shown_edit(args.simulated_sed_edit, ctx)
        return await _run_type()(self, args, ctx, analysed_here(args.command, ctx.cwd)).result()

    def is_shadowed(self, analysis: "shell.Analysis") -> bool:
        """Whether a name in the command is a function or alias of the user."""
        return self.environment.has_functions and not self.environment.shadowed.isdisjoint(analysis.names)


@cache
def _run_type() -> "type[Run]":
    from holdfast.tools.shell._run import Run  # noqa: PLC0415 - a session that runs no command does not need it

    return Run


def _waits_first_s(analysis: "shell.Analysis") -> float | None:
    """How long the shell itself waits before anything else; a `sleep` that it leaves behind with `&` is no wait."""
    sleep_s = analysis.first_sleep_s
    if sleep_s is None:
        return None
    behind = analysis.command.partition(analysis.parts[0].source)[2].lstrip(" \t")
    return None if behind.startswith("&") and not behind.startswith("&&") else sleep_s


def analysed_here(command: str, cwd: str) -> "shell.Analysis":
    """The analysis by which the call is judged."""
    analysis = shell.analyse(command, cwd=cwd)
    if analysis.read_only:
        return analysis
    from holdfast.permissions.shell.reach.known_here import with_facts  # noqa: PLC0415 - loaded by the judgement

    return with_facts(analysis, cwd)


def _may_be_known_here(analysis: "shell.Analysis") -> bool:
    from holdfast.permissions.shell.reach.known_here import may_be_known_here  # noqa: PLC0415 - loaded by the judgement

    return may_be_known_here(analysis)


def _started_by_the_project(command: str, cwd: str, environment: ShellEnvironment) -> str | None:
    from holdfast.permissions.shell.reach.git_config import git_config_refusal, git_variables_refusal  # noqa: PLC0415 - loaded by the analysis
    from holdfast.permissions.shell.reach.known_here import toolchain_refusal  # noqa: PLC0415 - loaded by the analysis

    analysis = analysed_here(command, cwd)
    if not analysis.read_only:
        return None  # it is asked about, or somebody allowed it
    reason = toolchain_refusal(analysis, cwd)
    # Some versions of go ask git for the state of the work tree, and git runs its filters then.
    lists = any(part.name == "go" and "list" in part.texts[1:2] for part in analysis.parts)
    if reason is None and (lists or "git" in analysis.names):
        reason = git_variables_refusal(environment.names) or git_config_refusal(cwd)
    return reason

"""Go to a worktree. The text the model reads is in enter_worktree.md, beside this file."""

import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import (
    NO_OBJECTION,
    Args,
    ArgumentsInvalid,
    Opinion,
    SessionFacts,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    WorktreeChanged,
)
from holdfast.contract.render import Line, ShownResult
from holdfast.host.processes import Processes
from holdfast.settings.layout import main_checkout
from holdfast.tools.worktrees.checkout import Git, GitFailed, Tree, find_checkout, starts_programs, trees_of

if TYPE_CHECKING:
    from holdfast.tools.worktrees.making import Maker

__all__ = ["EnterWorktree", "EnterWorktreeArgs", "EnterWorktreeOutput"]

_MAX_NAME: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
_NOT_GITS: Final = re.compile(r"\.\.|\.lock(?:/|\Z)|\.\Z|(?:\A|/)\.(?:/|\Z)|\A\.git\Z")


class EnterWorktreeArgs(Args):
    """Which worktree."""

    name: str | None = Field(default=None, description="Name of the new worktree; random when left out.")
    path: str | None = Field(default=None, description="A worktree of this repository that exists already.")


class EnterWorktreeOutput(TypedDict):
    """Where the session works now."""

    worktreePath: str
    worktreeBranch: NotRequired[str]
    message: str


class EnterWorktree(Tool[EnterWorktreeArgs, EnterWorktreeOutput]):
    """Makes a worktree of the main checkout, or lets a hook make one, and moves the session there."""

    name, args_type = "EnterWorktree", EnterWorktreeArgs
    output_type = EnterWorktreeOutput
    search_hint = "isolated copy of the repository, separate branch, parallel checkout"
    max_result_chars = 100_000
    should_defer = True

    def __init__(self, processes: Callable[[], Processes]) -> None:
        """Take where git is started."""
        self._processes = processes

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only for the first agent: others are started in a worktree where they should work in one."""
        return session.agent_id is None

    def classifier_input(self, args: EnterWorktreeArgs) -> str | None:
        """All of it."""
        return f"make a git worktree {args.name or ''} and work there" if args.path is None else f"enter {args.path}"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """Which one."""
        return f"{self.name}({raw.get('name') or raw.get('path') or ''})"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """Where the session is, and on which branch."""
        if not result.data or not condensed:
            return result.text
        branch = result.data.get("worktreeBranch")
        return [[("accent", result.data["worktreePath"]), ("dim", f" on {branch}" if branch else "")]]

    async def validate(self, args: EnterWorktreeArgs, ctx: ToolContext) -> None:
        """Not from one into another, and only where there is a repository or a hook that makes worktrees."""
        if args.name is not None and args.path is not None:
            raise ArgumentsInvalid("give either a name for a new worktree or the path of one that exists", error_code=1)
        if args.name is not None:
            _check_name(args.name)
        if ctx.rights is None or ctx.session.agent_id is not None:
            raise ToolFailed("only a session can go to a worktree; work where you are", error_code=2)
        if (now := ctx.rights.worktree) is not None:
            raise ToolFailed(f"the session is in the worktree {now.path!r}; call ExitWorktree first", error_code=3)
        if not (_is_hooked(args, ctx) or find_checkout(ctx.cwd)):
            raise ToolFailed(
                f"{ctx.cwd!r} is in no git repository, so there is nothing to make a worktree of; work where you are",
                error_code=4,
            )

    async def check_permission(self, args: EnterWorktreeArgs, ctx: ToolContext) -> Opinion:
        """A repository whose configuration starts programs needs a person's yes."""
        checkout = None if _is_hooked(args, ctx) else find_checkout(ctx.cwd)
        reason = None if checkout is None else await starts_programs(checkout)
        return NO_OBJECTION if reason is None else Opinion.ask(reason)

    async def call(self, args: EnterWorktreeArgs, ctx: ToolContext) -> ToolResult[EnterWorktreeOutput]:
        """Make it, and move."""
        from holdfast.tools.worktrees.making import Maker  # noqa: PLC0415 - with the first worktree

        maker = Maker(self._processes, ctx.hooks, is_asked=ctx.asked)
        try:
            if args.path is not None:
                moved = await self._entered(args.path, maker, ctx)
            else:
                moved = await maker.make(args.name or secrets.token_hex(4), ctx.cwd, ctx.session.project_root)
        except GitFailed as error:
            raise ToolFailed(f"the session stays where it is: {error}", error_code=5) from error
        return _entered(moved)

    async def _entered(self, path: str, maker: "Maker", ctx: ToolContext) -> WorktreeChanged:
        """One that is there already."""
        from holdfast.tools.worktrees.making import moved_to  # noqa: PLC0415 - as above

        checkout = find_checkout(ctx.cwd)
        if checkout is None:
            raise GitFailed("the repository is gone")
        tree = await _known(maker.git(checkout), os.path.realpath(ctx.resolve(path)))
        return moved_to(tree, checkout, "", ctx.cwd, ctx.session.project_root)


def _is_hooked(args: EnterWorktreeArgs, ctx: ToolContext) -> bool:
    return args.path is None and ctx.hooks is not None and ctx.hooks.hears_of("WorktreeCreate")


def _check_name(name: str) -> None:
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name) or _NOT_GITS.search(name):
        raise ArgumentsInvalid(
            f"{name[:100]!r} is not a name for a worktree; use letters, digits, '.', '_' and '-' between '/', "
            f"at most {_MAX_NAME} characters, no part '.' or '..'",
            error_code=1,
        )


async def _known(git: Git, path: str) -> Tree:
    main, *others = await trees_of(git)
    for tree in others:
        if os.path.realpath(tree.path) == path and os.path.isdir(path):
            # A repository may list any directory: it becomes the session's own only where it says so itself.
            if main_checkout(path) != os.path.realpath(git.checkout):
                raise GitFailed(f"{path!r} does not say itself that it is a worktree of {git.checkout!r}")
            return tree._replace(path=path)
    if os.path.realpath(main.path) == path:
        raise GitFailed(f"{path!r} is the main checkout, not a worktree")
    raise GitFailed(f"{path!r} is not a worktree of {git.checkout!r}; `git worktree list` names them")


def _entered(moved: WorktreeChanged) -> ToolResult[EnterWorktreeOutput]:
    on = f" on the branch {moved.branch}" if moved.branch else ""
    message = (
        f"The session works in the worktree {moved.path}{on} now; the working directory is {moved.cwd}. "
        f"{moved.root} is left as it is: use paths in the worktree. ExitWorktree leads back."
    )
    data: EnterWorktreeOutput = {"worktreePath": moved.path, "message": message}
    if moved.branch:
        data["worktreeBranch"] = moved.branch
    return ToolResult(data, message, modifiers=(moved,))

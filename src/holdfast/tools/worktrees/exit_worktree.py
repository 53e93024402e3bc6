"""Leave a worktree. The text the model reads is in exit_worktree.md, beside this file."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import (
    NO_OBJECTION,
    UNKNOWN_EFFECTS,
    Args,
    Effects,
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
from holdfast.tasks import TaskBoard
from holdfast.tools.worktrees.checkout import (
    Git,
    GitFailed,
    Tree,
    Work,
    amount_of,
    look_at,
    remove_tree,
    starts_programs,
)
from holdfast.tools.worktrees.tmux import TmuxSession, end_session, find_session

__all__ = ["ExitWorktree", "ExitWorktreeArgs", "ExitWorktreeOutput"]

_NOTHING_SEEN = Work(0, (), 0, "")


class ExitWorktreeArgs(Args):
    """What becomes of the worktree."""

    action: Literal["keep", "remove"] = Field(description="Leave it on the disk, or delete it and its branch.")
    discard_changes: bool = Field(
        default=False, description="With remove: throw away the work in it, as the user wants."
    )


class ExitWorktreeOutput(TypedDict):
    """Where the session works again, and what became of the worktree."""

    action: Literal["keep", "remove"]
    originalCwd: str
    worktreePath: str
    worktreeBranch: NotRequired[str]
    tmuxSessionName: NotRequired[str]
    discardedFiles: NotRequired[int]
    discardedCommits: NotRequired[int]
    message: str


class ExitWorktree(Tool[ExitWorktreeArgs, ExitWorktreeOutput]):
    """Moves the session back, and removes the worktree only where nothing is lost that nobody gave up."""

    name, args_type = "ExitWorktree", ExitWorktreeArgs
    output_type = ExitWorktreeOutput
    search_hint = "return to the main checkout, clean up the isolated copy"
    max_result_chars = 100_000
    should_defer = True

    def __init__(self, board: TaskBoard) -> None:
        """Take where git is started, and what may still work in a worktree."""
        self._board = board

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only for the first agent, as EnterWorktree."""
        return session.agent_id is None

    def is_read_only(self, args: ExitWorktreeArgs) -> bool:
        """Going back changes nothing on the disk."""
        return args.action == "keep"

    def effects(self, args: ExitWorktreeArgs, ctx: ToolContext) -> Effects:
        """The same; what is removed is more than a path."""
        del ctx
        return Effects() if args.action == "keep" else UNKNOWN_EFFECTS

    def is_destructive(self, args: ExitWorktreeArgs) -> bool:
        """Removing is."""
        return args.action == "remove"

    def classifier_input(self, args: ExitWorktreeArgs) -> str | None:
        """All of it."""
        return f"{args.action} the worktree{', discarding its changes' if args.discard_changes else ''}"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """What becomes of it."""
        return f"{self.name}({raw.get('action', '')}{', discarding changes' if raw.get('discard_changes') else ''})"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """Where the session is again, and what became of the worktree."""
        data = result.data
        if not data or not condensed:
            return result.text
        lost = data.get("discardedFiles") or data.get("discardedCommits")
        became = "is removed, with work in it" if lost else "is removed" if data["action"] == "remove" else "stays"
        return [[("", f"back in {data['originalCwd']}"), ("warn" if lost else "dim", f"; the worktree {became}")]]

    async def validate(self, args: ExitWorktreeArgs, ctx: ToolContext) -> None:
        """There must be one of this session, and no work in it that would be lost."""
        tree = _current(ctx)
        if args.action == "keep":
            return
        if not tree.made_by:
            raise ToolFailed(
                f"{tree.path!r} was there before this session, so it is not removed; use action 'keep'", error_code=2
            )
        if tree.made_by == "hook" and not (ctx.hooks is not None and ctx.hooks.hears_of("WorktreeRemove")):
            raise ToolFailed(
                "a hook made this worktree, and no WorktreeRemove hook says how it goes; use action 'keep'",
                error_code=2,
            )
        if not args.discard_changes:
            self._check_tasks(tree, await find_session(self._processes, tree))
        if not args.discard_changes and await starts_programs(tree.path) is None:
            await self._work(tree, ctx)

    async def check_permission(self, args: ExitWorktreeArgs, ctx: ToolContext) -> Opinion:
        """A repository whose configuration starts programs needs a person's yes."""
        reason = None if args.action == "keep" else await starts_programs(_current(ctx).path)
        return NO_OBJECTION if reason is None else Opinion.ask(reason)

    async def call(self, args: ExitWorktreeArgs, ctx: ToolContext) -> ToolResult[ExitWorktreeOutput]:
        """Go back, and remove it where that is wanted."""
        tree = _current(ctx)
        back = tree.original_cwd if os.path.isdir(tree.original_cwd) else tree.root
        data: ExitWorktreeOutput = {
            "action": args.action,
            "originalCwd": back,
            "worktreePath": tree.path,
            "message": "",
        }
        if tree.branch:
            data["worktreeBranch"] = tree.branch
        terminal = await find_session(self._processes, tree)
        if terminal is not None:
            data["tmuxSessionName"] = terminal.name
        said = f"The session works in {back} again."
        if args.action == "keep":
            where = f" Its branch is {tree.branch}." if tree.branch else ""
            where += "" if terminal is None else f" Its tmux session {terminal.name} goes on."
            data["message"] = f"{said} The worktree stays in {tree.path}.{where}"
        else:
            seen = await self._removable(args, tree, ctx, terminal)
            stays = await self._remove(args, tree, _NOTHING_SEEN if seen is None else seen, ctx)
            if terminal is not None:
                await end_session(self._processes, tree, terminal)
            if seen is not None:
                data["discardedFiles"], data["discardedCommits"] = seen.files + seen.ignored, seen.commits
            lost = f" Thrown away: {amount_of(seen)}." if seen else ""
            lost = " What was in it git could not tell." if seen is None else lost
            data["message"] = " ".join(f"{said} The worktree {tree.path} is removed.{lost} {stays}".split())
        return ToolResult(data, data["message"], modifiers=(WorktreeChanged(back),))

    async def _removable(
        self, args: ExitWorktreeArgs, tree: WorktreeChanged, ctx: ToolContext, terminal: TmuxSession | None
    ) -> Work | None:
        """What goes with it; None where it goes whatever is in it, and nobody can say how much that is."""
        if not args.discard_changes:
            self._check_tasks(tree, terminal)
            return await self._work(tree, ctx)
        for record in self._board.at_work_in(tree.path):
            await self._board.stop(record.id)
        try:
            return await look_at(self._git(tree, ctx), _tree(tree))
        except GitFailed:
            return None

    def _check_tasks(self, tree: WorktreeChanged, terminal: TmuxSession | None) -> None:
        """Whoever works there in the background has work that git does not know yet."""
        working = [record.id for record in self._board.at_work_in(tree.path)]
        if terminal is not None:
            working += [f"{program} (in the tmux session {terminal.name})" for program in terminal.busy]
        if working:
            raise ToolFailed(
                f"{', '.join(working)} still works in the worktree {tree.path!r}, so it is not removed; wait for the "
                "end or use TaskStop, use action 'keep', or discard_changes: true if the user wants it gone with what "
                "works there",
                error_code=6,
            )

    async def _work(self, tree: WorktreeChanged, ctx: ToolContext) -> Work:
        """What git says of it, which must be nothing."""
        try:
            work = await look_at(self._git(tree, ctx), _tree(tree))
        except GitFailed as error:
            raise ToolFailed(
                f"it cannot be told whether there is work in {tree.path!r} ({error}), so it is not removed; use action "
                "'keep', or discard_changes: true if the user wants it gone whatever is in it",
                error_code=3,
            ) from error
        if work:
            more = ", …" if work.files + work.ignored > len(work.names) else ""
            shown = f" ({', '.join(name.strip() for name in work.names)}{more})"
            raise ToolFailed(
                f"the worktree {tree.path!r} has {amount_of(work)}{shown if work.names else ''}, which would be lost. "
                "Commit and merge, use action 'keep', or ask the user and call it again with discard_changes: true",
                error_code=4,
            )
        return work

    async def _remove(self, args: ExitWorktreeArgs, tree: WorktreeChanged, seen: Work, ctx: ToolContext) -> str:
        if tree.made_by == "hook":
            return await _by_hook(tree, ctx)
        try:
            stays = await remove_tree(self._git(tree, ctx), _tree(tree), seen, discard=args.discard_changes)
        except GitFailed as error:
            raise ToolFailed(
                f"the worktree {tree.path!r} was not removed: {error}. The session is still in it; what was committed "
                f"is on the branch {tree.branch}",
                error_code=5,
            ) from error
        if ctx.hooks is not None:
            await ctx.hooks.tell("WorktreeRemove", worktree_path=tree.path)
        return stays

    def _processes(self) -> Processes:
        return self._board.processes

    def _git(self, tree: WorktreeChanged, ctx: ToolContext) -> Git:
        checkout = tree.path if tree.made_by == "hook" else tree.root
        return Git(self._processes, checkout, is_asked=ctx.asked)


async def _by_hook(tree: WorktreeChanged, ctx: ToolContext) -> str:
    if ctx.hooks is None:
        raise ToolFailed("the hook that removes worktrees is gone; use action 'keep'", error_code=2)
    await ctx.hooks.tell("WorktreeRemove", worktree_path=tree.path)
    return f"The hook has left {tree.path} on the disk." if os.path.lexists(tree.path) else ""


def _current(ctx: ToolContext) -> WorktreeChanged:
    tree = None if ctx.rights is None else ctx.rights.worktree
    if tree is None:
        raise ToolFailed(
            "this session has entered no worktree with EnterWorktree, and no other worktree is touched; go on where "
            "you are",
            error_code=1,
        )
    return tree


def _tree(tree: WorktreeChanged) -> Tree:
    return Tree(tree.path, tree.branch, tree.head)

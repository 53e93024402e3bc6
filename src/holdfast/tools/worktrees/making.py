"""Worktrees for those who work apart: made by git or by the user's hook, and gone again where nothing is lost."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from holdfast.contract import WorktreeChanged
from holdfast.contract.roles import EventHooks
from holdfast.host.processes import Processes
from holdfast.tools.worktrees.checkout import (
    Git,
    GitFailed,
    Tree,
    Work,
    amount_of,
    find_checkout,
    look_at,
    make_tree,
    remove_tree,
    starts_programs,
)

__all__ = ["Maker", "Settled", "makes_by_hook", "moved_to"]


class Settled(NamedTuple):
    """What became of a worktree after the work in it."""

    stays: bool
    note: str
    """In words, for whoever started the work; empty where there is nothing to say."""


class Maker:
    """Makes and settles worktrees for one caller."""

    def __init__(
        self, processes: Callable[[], Processes], hooks: EventHooks | None = None, *, is_asked: bool = False
    ) -> None:
        """Take where git is started.

        Args:
            processes: Where git is started.
            hooks: The user's hooks, which may make the worktree instead.
            is_asked: A person has agreed, so that the repository's own hooks and filters run.
        """
        self._processes = processes
        self._hooks = hooks
        self._is_asked = is_asked

    def git(self, checkout: str) -> Git:
        """Git in this checkout."""
        return Git(self._processes, checkout, is_asked=self._is_asked)

    async def make(self, name: str, cwd: str, root: str) -> WorktreeChanged:
        """Make one for work that begins in `cwd` of the project `root`.

        Raises:
            GitFailed: It cannot be made; what was begun is gone again.
        """
        checkout = find_checkout(cwd)
        if makes_by_hook(self._hooks):
            return moved_to(await self._by_hook(name), checkout or root, "hook", cwd, root)
        if checkout is None:
            raise GitFailed("there is no repository here")
        return moved_to(await make_tree(self.git(checkout), name), checkout, "git", cwd, root)

    async def settle(self, made: WorktreeChanged) -> Settled:
        """The work in it has ended: without anything that would be lost it goes, else it stays and that is said."""
        where = f"the worktree {made.path}" + (f", branch {made.branch}" if made.branch else "")
        try:
            seen = await self._seen(made)
            if seen:
                return Settled(
                    stays=True, note=f"It left {amount_of(seen)} in {where}. Your own checkout has none of it."
                )
            await self._remove(made, seen)
        except GitFailed as error:
            return Settled(stays=True, note=f"Nobody can tell what it left, so it stays: {where} ({error}).")
        return Settled(stays=False, note="")

    async def _seen(self, made: WorktreeChanged) -> Work:
        reason = None if self._is_asked else await starts_programs(made.path)
        if reason is not None:
            raise GitFailed(reason)
        if made.made_by == "hook" and not (self._hooks is not None and self._hooks.hears_of("WorktreeRemove")):
            raise GitFailed("a hook made it, and no WorktreeRemove hook says how it goes")
        checkout = made.path if made.made_by == "hook" else made.root
        return await look_at(self.git(checkout), Tree(made.path, made.branch, made.head))

    async def _remove(self, made: WorktreeChanged, seen: Work) -> None:
        if made.made_by != "hook":
            await remove_tree(self.git(made.root), Tree(made.path, made.branch, made.head), seen, discard=False)
        if self._hooks is not None:
            await self._hooks.tell("WorktreeRemove", worktree_path=made.path)

    async def _by_hook(self, name: str) -> Tree:
        assert self._hooks is not None
        word = await self._hooks.tell("WorktreeCreate", name=name)
        if word.is_blocked:
            raise GitFailed(f"a WorktreeCreate hook refused: {word.reason}")
        given = word.more.get("worktreePath")
        if not isinstance(given, str) or not os.path.isabs(given) or not os.path.isdir(given):
            raise GitFailed(f"the WorktreeCreate hook named no directory ({given!r}); it must print an absolute path")
        path = os.path.realpath(given)
        head = ""
        with suppress(GitFailed):  # whatever the hook has made, it may be no git; then nobody can tell what is in it
            head = (await Git(self._processes, path)("rev-parse", "--verify", "HEAD^{commit}")).strip()
        return Tree(path, "", head)


def makes_by_hook(hooks: EventHooks | None) -> bool:
    """The user's hook makes worktrees here."""
    return hooks is not None and hooks.hears_of("WorktreeCreate")


def moved_to(tree: Tree, checkout: str, made_by: str, cwd: str, root: str) -> WorktreeChanged:
    """The same place of the project, in the worktree."""
    inner = os.path.relpath(cwd, root) if root and (cwd + os.sep).startswith(root + os.sep) else "."
    there = os.path.normpath(os.path.join(tree.path, inner))
    now = there if os.path.isdir(there) else tree.path
    return WorktreeChanged(now, tree.path, checkout, tree.branch, tree.head, made_by, cwd, root)

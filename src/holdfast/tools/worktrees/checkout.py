"""Git worktrees: make one, see what would be lost with it, remove it. What git does not say counts as not known.

Nothing here removes work by itself. Without `discard` git is asked not to force, so that it looks once more, and a
branch goes only while it stands where it was looked at and every commit of it is reachable from elsewhere.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from holdfast.contract import WorktreeChanged
from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.host.programs import find_program
from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.visible import visible
from holdfast.permissions.rules import worktrees as worktree_rules
from holdfast.settings.directories import home_directory
from holdfast.settings.layout import find_layout, main_checkout

__all__ = [
    "FOLDER",
    "Git",
    "GitFailed",
    "Tree",
    "Work",
    "amount_of",
    "find_checkout",
    "is_still_there",
    "look_at",
    "make_tree",
    "remove_tree",
    "starts_programs",
    "trees_of",
]

FOLDER: Final = os.path.join(*worktree_rules.FOLDER.split("/"))
_LOOK_S: Final = 60.0
_WRITE_S: Final = 600.0
_KEPT_BYTES: Final = 64 << 10
_LISTED_BYTES: Final = 16 << 20
_MAX_NAMES: Final = 10
_OLD: Final = re.compile(rb"(?!0+ )([0-9a-f]{40}|[0-9a-f]{64}) ")
_SAID_CHARS: Final = 500
_CACHES: Final = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv", "venv"}
    | {"node_modules", ".npm", ".gradle", ".cache", ".parcel-cache", ".turbo", ".DS_Store", "Thumbs.db"}
)
"""What programs make again by themselves: nobody's work."""
_CACHE_ENDINGS: Final = (".pyc", ".pyo", ".egg-info", ".tsbuildinfo")


class GitFailed(Exception):
    """Git could not be run, or did not do it; the text says why."""


class Tree(NamedTuple):
    """One worktree."""

    path: str
    branch: str
    """Empty: none of its own."""
    head: str
    """The commit that it began with."""


class Work(NamedTuple):
    """What would be lost with a worktree."""

    files: int
    """Changed and new files that are not committed."""
    names: tuple[str, ...]
    """Some of them."""
    commits: int
    """Commits since its beginning that no other branch, tag or remote branch has."""
    tip: str
    """Where its branch stands; empty: it has none."""
    ignored: int = 0
    """Files and directories that git ignores and that are no cache; a new worktree has none."""

    def __bool__(self) -> bool:
        return bool(self.files or self.commits or self.ignored)


class Git:
    """Runs git in one repository. Nobody can answer it, and no variable of ours leads it to another repository."""

    def __init__(self, processes: Callable[[], Processes], checkout: str, *, is_asked: bool = False) -> None:
        """Take where to run.

        Args:
            processes: Where git is started.
            checkout: The main checkout.
            is_asked: A person has agreed, so that the repository's hooks and filters run as in their own terminal.
        """
        self.checkout = checkout
        self._processes = processes
        self._is_asked = is_asked

    async def __call__(self, *words: str, cwd: str | None = None, limit_s: float = _LOOK_S) -> str:
        """What git writes.

        Raises:
            GitFailed: It did not end well, or not in time.
        """
        return (await self._run(words, cwd, limit_s))[0]

    async def lines(self, *words: str, cwd: str | None = None) -> tuple[int, tuple[str, ...]]:
        """How many lines git writes, and the first of them."""
        text, count = await self.all(*words, cwd=cwd)
        return count, tuple(visible(line, limit_chars=200) for line in text.splitlines()[:_MAX_NAMES])

    async def all(self, *words: str, cwd: str | None = None, kept_bytes: int = _KEPT_BYTES) -> tuple[str, int]:
        """What git writes, as far as it is kept, and how many lines that would be."""
        return await self._run(words, cwd, _LOOK_S, kept_bytes)

    async def _run(
        self, words: Sequence[str], cwd: str | None, limit_s: float, kept_bytes: int = _KEPT_BYTES
    ) -> tuple[str, int]:
        binary = find_program("git", outside=(self.checkout, cwd or self.checkout))
        if binary is None:
            raise GitFailed("git is not installed outside of this project")
        command = Command(
            argv=[binary, *words],
            cwd=cwd or self.checkout,
            env=self._variables(),
            kept_bytes=kept_bytes,
            timeout_s=limit_s,
            label="git worktree",
        )
        shown = f"git {' '.join(words[:2])}"
        try:
            finished = await self._processes().run(command)
        except StartError as error:
            raise GitFailed(f"{shown} could not be started: {error}") from error
        if finished.exit.timed_out:
            raise GitFailed(f"{shown} gave no answer within {limit_s:g} s")
        if finished.exit.code != 0:
            said = visible(finished.output.stderr.head.decode("utf-8", "replace").strip(), limit_chars=_SAID_CHARS)
            raise GitFailed(f"{shown} ended with {finished.exit.shell_code}{': ' + said if said else ''}")
        out = finished.output.stdout
        return os.fsdecode(out.head), out.line_count

    def _variables(self) -> Mapping[str, str | None]:
        from holdfast.permissions.shell.reach.git_config import (  # noqa: PLC0415 - with the first worktree
            unasked_environment,
        )

        own = {name: None for name in os.environ if name.startswith("GIT_")}
        quiet: dict[str, str | None] = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "LC_ALL": "C"}
        if self._is_asked:
            return {**own, **quiet}
        return {**own, **unasked_environment(()), **quiet}


async def starts_programs(checkout: str) -> str | None:
    """Why git should not run in this repository unasked; none when it may."""
    from holdfast.permissions.shell.reach.git_config import git_config_refusal  # noqa: PLC0415 - as above

    return await asyncio.to_thread(git_config_refusal, checkout)


def find_checkout(cwd: str) -> str | None:
    """The main checkout of the repository around a directory; none where there is none that vouches for it."""
    layout = find_layout(cwd, home=home_directory())
    if os.path.isdir(os.path.join(layout.root, ".git")):
        return layout.root
    return layout.main_checkout


def is_still_there(tree: WorktreeChanged) -> bool:
    """Whether this is the worktree that it was: no link, nothing put in its place, and of the same checkout."""
    if not os.path.isdir(tree.path) or os.path.realpath(tree.path) != tree.path:
        return False
    return tree.made_by == "hook" or main_checkout(tree.path) == os.path.realpath(tree.root)


async def make_tree(git: Git, name: str) -> Tree:
    """Make a worktree of the main checkout's commit, with a branch of its own.

    Raises:
        GitFailed: It could not be made; what was begun is gone again.
    """
    flat = name.replace("/", "+")
    branch, path = f"worktree-{flat}", os.path.join(git.checkout, FOLDER, flat)
    _make_folder(git.checkout)
    if os.path.lexists(path):
        raise GitFailed(f"{path!r} is there already; choose another name, or enter it by its path")
    try:
        head = (await git("rev-parse", "--verify", "HEAD^{commit}")).strip()
    except GitFailed as error:
        raise GitFailed(f"there is no commit to begin with ({error})") from error
    if await _stands_at(git, branch):
        raise GitFailed(f"there is a branch {branch!r} already; choose another name")
    tree = Tree(path, branch, head)
    try:
        await git("worktree", "add", "-b", branch, path, head, limit_s=_WRITE_S)
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_take_back(git, tree)))
        raise
    return tree


async def look_at(git: Git, tree: Tree) -> Work:
    """What would be lost with a worktree.

    Raises:
        GitFailed: It cannot be told.
    """
    # Without its own `.git` git would look at the repository around it, in which everything here is ignored.
    top, _, head = (await git("rev-parse", "--show-toplevel", "HEAD", cwd=tree.path)).rstrip("\n").rpartition("\n")
    if os.path.realpath(top) != os.path.realpath(tree.path):
        raise GitFailed(f"git takes {visible(top)!r} for the top of it")
    files, names = await git.lines(
        *("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none", "--no-renames"), cwd=tree.path
    )
    unseen = await _unseen(git, tree)
    own = [f"--exclude={tree.branch}"] if tree.branch else []
    tip = await _stands_at(git, tree.branch) if tree.branch else ""
    known = [*([tree.head] if tree.head else []), *own, "--branches", "--tags", "--remotes"]
    ours = ["HEAD", *([tip] if tip else [])]
    commits = await _count(git, tree, *ours, "--not", *known)
    if left := await _left_behind(git, tree):
        commits += await _count(git, tree, "--ignore-missing", *left, "--not", *ours, *known)
    for commit in () if commits else {head, tip} - {tree.head, ""}:
        if not await _is_elsewhere(git, tree, commit):
            raise GitFailed("git says that no commit is left, and then that no other branch has the last one")
    ignored, more = await _ignored(git, tree)
    return Work(files + len(unseen), (*names, *unseen, *more)[:_MAX_NAMES], commits, tip, ignored)


async def _count(git: Git, tree: Tree, *words: str) -> int:
    counted = (await git("rev-list", "--count", *words, cwd=tree.path)).strip()
    if not counted.isdigit():
        raise GitFailed(f"git rev-list answered {visible(counted, limit_chars=80)!r}")
    return int(counted)


async def _left_behind(git: Git, tree: Tree) -> list[str]:
    """Where it stood before it went to another branch: only its own record knows commits that are on none."""
    log = (await git("rev-parse", "--git-path", "logs/HEAD", cwd=tree.path)).rstrip("\n")
    try:
        data = await asyncio.to_thread(read_guarded, os.path.join(tree.path, log), limit_bytes=_LISTED_BYTES)
    except OSError as error:
        raise GitFailed(f"its record of commits cannot be read: {error.strerror or error}") from error
    moves = (line for line in (data or b"").splitlines() if b"\tcheckout: " in line)
    return sorted({found[1].decode() for line in moves if (found := _OLD.match(line))})


async def _unseen(git: Git, tree: Tree) -> list[str]:
    """Files that are there and that git was told not to look at: whether they were changed it does not say."""
    text, count = await git.all("ls-files", "-v", cwd=tree.path, kept_bytes=_LISTED_BYTES)
    listed = text.splitlines()
    if count > len(listed):
        raise GitFailed("it has too many files to be sure")
    flagged = [line[2:] for line in listed if line[:1].islower() or line[:1] == "S"]
    # A quoted name cannot be looked up as it is; a sparse checkout leaves files out that are nobody's work.
    there = [name for name in flagged if name.startswith('"') or os.path.lexists(os.path.join(tree.path, name))]
    return [f"{visible(name, limit_chars=200)} (git does not look at it)" for name in there]


async def _ignored(git: Git, tree: Tree) -> tuple[int, tuple[str, ...]]:
    """What git ignores and removes without a word; of whole directories only their own names."""
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory")
    text, count = await git.all(*words, cwd=tree.path)
    listed = text.splitlines()
    work = [line for line in listed if not _is_cache(line)]
    names = tuple(visible(line, limit_chars=200) for line in work[:_MAX_NAMES])
    return len(work) + max(0, count - len(listed)), names


def _is_cache(listed: str) -> bool:
    name = os.path.basename(listed.strip('"').rstrip("/"))
    return name in _CACHES or name.endswith(_CACHE_ENDINGS)


async def remove_tree(git: Git, tree: Tree, seen: Work, *, discard: bool) -> str:
    """Remove a worktree and its branch; returns what stayed, in words.

    Raises:
        GitFailed: The worktree is still there, perhaps not whole; what was committed is.
    """
    if seen and not discard:
        raise GitFailed("there is work in it that would be lost")
    try:
        await git("worktree", "remove", *(["--force"] if discard else []), tree.path, limit_s=_WRITE_S)
    except GitFailed:
        if os.path.lexists(tree.path):
            raise
    if os.path.lexists(tree.path):
        raise GitFailed("git worktree remove ended well, but the directory is still there")
    if not tree.branch or not seen.tip:
        return ""
    try:
        return await _remove_branch(git, tree, seen, discard=discard)
    except GitFailed as error:
        return f"The branch {tree.branch} stays: {error}."


def amount_of(work: Work) -> str:
    """How much work that is."""
    kinds = (
        (work.files, "uncommitted file", "uncommitted files"),
        (work.ignored, "file or directory that git ignores", "files or directories that git ignores"),
        (work.commits, "unmerged commit", "unmerged commits"),
    )
    return " and ".join(f"{count} {one if count == 1 else many}" for count, one, many in kinds if count)


async def trees_of(git: Git) -> list[Tree]:
    """The worktrees that the repository knows, the main checkout first."""
    found: list[Tree] = []
    for block in (await git("worktree", "list", "--porcelain")).split("\n\n"):
        facts: dict[str, str] = {}
        for line in block.splitlines():
            key, _, value = line.partition(" ")
            facts[key] = value
        if "worktree" in facts:
            branch = facts.get("branch", "").removeprefix("refs/heads/")
            found.append(Tree(facts["worktree"], branch, facts.get("HEAD", "")))
    return found


async def _remove_branch(git: Git, tree: Tree, seen: Work, *, discard: bool) -> str:
    if any(other.branch == tree.branch for other in await trees_of(git)):
        return f"The branch {tree.branch} stays: another worktree is on it."
    if not discard and not await _is_elsewhere(git, tree, seen.tip):
        return f"The branch {tree.branch} stays: it has commits that no other branch has."
    # Only from where it was looked at: a commit that came since keeps it.
    await git("update-ref", "-d", f"refs/heads/{tree.branch}", seen.tip)
    return ""


async def _is_elsewhere(git: Git, tree: Tree, tip: str) -> bool:
    """Another branch or tag has this commit, too. Asked in another way than before: git may have answered wrong."""
    words = ("for-each-ref", "--format=%(refname)", f"--contains={tip}", "refs/heads", "refs/tags", "refs/remotes")
    refs = set((await git(*words)).split()) - {f"refs/heads/{tree.branch}"}
    return bool(refs) or (await git("merge-base", tip, "HEAD")).strip() == tip


async def _stands_at(git: Git, branch: str) -> str:
    return (await git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")).strip()


async def _take_back(git: Git, tree: Tree) -> None:
    """Nobody has worked there yet, so nothing is lost."""
    with suppress(GitFailed):
        await git("worktree", "remove", "--force", tree.path)
    with suppress(GitFailed):
        await git("worktree", "prune")
    with suppress(GitFailed):
        await git("update-ref", "-d", f"refs/heads/{tree.branch}", tree.head)


def _make_folder(checkout: str) -> None:
    """Our folder for worktrees, which git does not see; no link leads it elsewhere."""
    path = checkout
    try:
        for name in FOLDER.split(os.sep):
            path = os.path.join(path, name)
            with suppress(FileExistsError):
                os.mkdir(path)
            if os.path.islink(path) or not os.path.isdir(path):
                raise GitFailed(f"{path!r} is not a directory; move it away")
        ignoring = os.path.join(path, ".gitignore")
        with suppress(FileExistsError), open(ignoring, "x", encoding="ascii") as file:
            # Only what stands here itself: a search inside a worktree reads this file, too, and must find everything.
            file.write("/*\n")
    except OSError as error:
        raise GitFailed(f"{path!r} cannot be made: {error.strerror}") from error

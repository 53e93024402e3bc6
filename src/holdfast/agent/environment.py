"""Where the agent works: directories, repository, machine, date, model. A snapshot, taken once per session.

It stands in the cached part of the prompt, so it never changes during a session; what does change is told by reminders.
git is run only in a trusted folder whose configuration starts no programs, hardened, for two seconds at most. Otherwise
the branch is read from a file, and nothing is run.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.host.programs import find_program
from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.visible import visible
from holdfast.settings.directories import home_directory
from holdfast.settings.layout import find_layout

__all__ = ["Environment", "GitState", "Today", "describe_environment"]

GIT_LIMIT_S: Final = 2.0
_GIT_KEPT_BYTES: Final = 4 << 10
_STATUS_LINES: Final = 40
_COMMITS: Final = 5
_LINE_CHARS: Final = 160
_HEAD_BYTES: Final = 4_096
_STATUS: Final = ("status", "--short", "--untracked-files=normal", "--ignore-submodules=dirty")
_LOG: Final = ("log", "--no-decorate", "--no-show-signature", "--no-color", f"-n{_COMMITS}", "--format=%h %s")


class Today:
    """The day that the model knows, and news of it when the clock says another one."""

    def __init__(self, begun: datetime, clock: Callable[[], datetime]) -> None:
        """Begin with the day that the prompt tells."""
        self._clock = clock
        self._first = self._told = _day(begun)

    def news(self) -> str | None:
        """The day, if it is not the one that was told last; it counts as told now."""
        day = _day(self._clock())
        if day == self._told:
            return None
        self._told = day
        return day

    def tell_again(self) -> None:
        """The words that were told along the way are gone; what the prompt says is not."""
        self._told = self._first


def _day(now: datetime) -> str:
    return f"{now:%Y-%m-%d} ({now:%A})"


class GitState(msgspec.Struct, frozen=True):
    """A repository as it was when the session began. All texts are safe to show."""

    branch: str
    """The branch, or `detached at …`, or empty when it is not known."""
    main_branch: str = ""
    """The remote's default branch, where new work usually goes to."""
    status: tuple[str, ...] | None = None
    """Lines of `git status --short`; None when git was not asked or did not answer in time."""
    more_changes: int = 0
    """How many further lines there were."""
    commits: tuple[str, ...] = ()
    """The last commits, newest first."""
    unknown: str = ""
    """Why status and commits are missing."""


class Environment(msgspec.Struct, frozen=True):
    """The surroundings of a session."""

    cwd: str
    root: str
    """The project's root."""
    platform: str
    os_version: str
    shell: str
    """The user's login shell; commands always run by bash."""
    date: str
    """The day the session began, `2026-11-16 (Monday)`."""
    model: str
    git: GitState | None = None
    """None outside of a repository."""
    directories: tuple[str, ...] = ()
    """Additional working directories."""

    @property
    def text(self) -> str:
        """The block of the prompt: the same bytes for the same facts."""
        lines = ["# Environment", "", f"- Working directory: {visible(self.cwd)}"]
        if self.root != self.cwd:
            lines.append(f"- Project root: {visible(self.root)}")
        lines += [f"- Additional working directory: {visible(name)}" for name in self.directories]
        lines.append(f"- Git repository: {'no' if self.git is None else 'yes'}")
        own = f"; the user's own shell is {visible(self.shell)}" if self.shell not in {"", "bash"} else ""
        lines += [
            f"- Platform: {self.platform} ({visible(self.os_version)})",
            f"- Shell of commands: bash{own}",
            f"- Date at the start of the session: {self.date}",
            f"- Model: {visible(self.model)}",
        ]
        return "\n".join([*lines, *_git_lines(self.git)])


def _git_lines(git: GitState | None) -> list[str]:
    if git is None:
        return []
    lines = ["", "The repository when the session began (a snapshot that is not kept up to date; names and messages in"]
    lines += ["it are data from the repository):", f"- Branch: {git.branch or 'unknown'}"]
    if git.main_branch:
        lines.append(f"- Main branch: {git.main_branch}")
    if git.status is None:
        lines.append(f"- Status: unknown ({git.unknown})")
    elif not git.status:
        lines.append("- Status: clean")
    else:
        more = [f"    … and {git.more_changes} more"] if git.more_changes else []
        lines += ["- Status:", *(f"    {line}" for line in git.status), *more]
    if git.commits:
        lines += ["- Last commits:", *(f"    {line}" for line in git.commits)]
    return lines


async def describe_environment(
    cwd: str,
    *,
    now: datetime,
    model: str,
    trusted: bool,
    processes: Processes | None = None,
    additional_directories: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Environment:
    """Take the snapshot. Start it early and await it late: it mostly waits for git.

    Args:
        cwd: The working directory.
        now: The clock's time, for the date.
        model: The model's name.
        trusted: Whether the user trusts the folder; only then git runs in it.
        processes: Where git is started; without it git is not run.
        additional_directories: Further directories the agent may work in.
        environ: Our environment; the process's own when omitted.
    """
    env = os.environ if environ is None else environ
    layout = find_layout(cwd, home=home_directory(env))
    system = os.uname() if hasattr(os, "uname") else None
    directories = tuple(os.path.normpath(os.path.join(layout.cwd, name)) for name in additional_directories)
    git = await _look_at_git(
        layout.cwd,
        layout.root,
        processes if trusted else None,
        env,
        trusted=trusted,
        outside=(layout.root, layout.cwd, *directories),
    )
    return Environment(
        cwd=layout.cwd,
        root=layout.root,
        platform=sys.platform,
        os_version=f"{system.sysname} {system.release}" if system else sys.platform,
        shell=os.path.basename(env.get("SHELL", "")),
        date=_day(now),
        model=model,
        git=git,
        directories=directories,
    )


# -- git


async def _look_at_git(
    cwd: str,
    root: str,
    processes: Processes | None,
    environ: Mapping[str, str],
    *,
    trusted: bool,
    outside: Sequence[str],
) -> GitState | None:
    dot_git = os.path.join(root, ".git")
    if not os.path.lexists(dot_git):
        return None
    branch, main_branch = _read_branches(root, dot_git)
    state = GitState(branch, main_branch)
    if processes is None:
        reason = "git was not asked" if trusted else "git is not run in a folder that is not trusted"
        return msgspec.structs.replace(state, unknown=reason)
    binary = find_program("git", outside=outside, path=environ.get("PATH", os.defpath))
    if binary is None:
        return msgspec.structs.replace(state, unknown="git is not installed")
    reason, variables = await asyncio.to_thread(_hardening, cwd, root, environ)
    if reason is not None:
        return msgspec.structs.replace(state, unknown=visible(reason, limit_chars=200))
    status, log = await asyncio.gather(
        *(_run_git(processes, [binary, *words], cwd, variables) for words in (_STATUS, _LOG))
    )
    commits = () if log is None else log[0]
    if status is None:
        return msgspec.structs.replace(state, commits=commits, unknown=f"git gave no answer within {GIT_LIMIT_S:g} s")
    return msgspec.structs.replace(state, status=status[0], more_changes=status[1], commits=commits)


def _hardening(cwd: str, root: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str | None]]:
    """Return why git must not run here, and the variables it runs with. Reads files, so it belongs in a thread."""
    from holdfast.permissions.shell.reach.git_config import (  # noqa: PLC0415 - the analysis loads in this thread
        UNASKED_ENVIRONMENT,
        git_config_refusal,
    )

    # What was checked must be what git looks at: no variable of ours may lead it to another repository.
    variables: dict[str, str | None] = {name: None for name in environ if name.startswith("GIT_")}
    variables |= UNASKED_ENVIRONMENT
    variables |= {"GIT_CEILING_DIRECTORIES": os.path.dirname(root), "LC_ALL": "C"}
    return git_config_refusal(cwd), variables


async def _run_git(
    processes: Processes, argv: Sequence[str], cwd: str, variables: Mapping[str, str | None]
) -> tuple[tuple[str, ...], int] | None:
    """Return the first lines of an answer and how many more there were; None when there is none."""
    command = Command(
        argv=argv,
        cwd=cwd,
        env=variables,
        kept_bytes=_GIT_KEPT_BYTES,
        timeout_s=GIT_LIMIT_S,
        kill_grace_s=0.1,
        label="git snapshot",
    )
    try:
        finished = await processes.run(command)
    except StartError:
        return None
    if finished.exit.code != 0:
        return None
    out = finished.output.stdout
    lines = out.head.decode("utf-8", "replace").split("\n")[:-1]
    shown = tuple(visible(line, limit_chars=_LINE_CHARS) for line in lines[:_STATUS_LINES])
    return shown, max(0, out.line_count - len(shown))


def _read_branches(root: str, dot_git: str) -> tuple[str, str]:
    """Return the branch and the remote's default branch from git's own files."""
    private = dot_git
    if not os.path.isdir(dot_git):
        link = _line(dot_git)
        if not link.startswith("gitdir:"):
            return "", ""
        private = os.path.join(root, link.removeprefix("gitdir:").strip())
    shared = os.path.normpath(os.path.join(private, _line(os.path.join(private, "commondir")) or "."))
    head = _line(os.path.join(private, "HEAD"))
    remote = _line(os.path.join(shared, "refs", "remotes", "origin", "HEAD"))
    main = remote.removeprefix("ref: refs/remotes/origin/") if remote.startswith("ref: refs/remotes/origin/") else ""
    if head.startswith("ref: refs/heads/"):
        return visible(head.removeprefix("ref: refs/heads/"), limit_chars=_LINE_CHARS), visible(main, limit_chars=200)
    is_commit = len(head) in {40, 64} and all(char in "0123456789abcdef" for char in head)
    return f"detached at {head[:8]}" if is_commit else "", visible(main, limit_chars=200)


def _line(path: str) -> str:
    try:
        data = read_guarded(path, limit_bytes=_HEAD_BYTES)
    except OSError:
        return ""
    return os.fsdecode(data or b"").partition("\n")[0].strip()

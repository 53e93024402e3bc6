"""`holdfast sessions replay`: let a recorded session happen again, with its model's words and the tools of today."""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from holdfast.agent import notes
from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.cli.completers import complete_sessions
from holdfast.cli.counted import counted
from holdfast.cli.options import to_options
from holdfast.cli.progress import ProgressLines
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract import UsageError
from holdfast.events import CallFinished, RunEnded
from holdfast.lib.visible import visible
from holdfast.models.replay import ReplayModel
from holdfast.permissions.paths import is_inside
from holdfast.session import Transcript, user_store

__all__ = ["command"]

_MAX_FILES = 50_000
_MAX_BYTES = 1 << 30
_LEFT_OUT = frozenset({".venv", "node_modules", "__pycache__"})
_LOOPS_OWN = (*notes.OWN_WORDS, notes.CONTINUE, notes.EMPTY, notes.STREAM_CUT)

Content = str | list[dict[str, Any]]


class _Replayed(NamedTuple):
    prompts: int
    calls: int
    failed: int
    """Calls that ended in an error now."""
    divergences: tuple[str, ...]
    error: str
    """Why it ended early."""


@click.command("replay", short_help="Let a session happen again, tools run for real.")
@click.argument("session", shell_complete=complete_sessions)
@click.option("--keep", is_flag=True, help="Do not remove the copy at the end, and say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
@session_options
def command(session: str, *, keep: bool, as_json: bool, **given: Any) -> int:
    """Let SESSION happen again: its model's answers are played, and every call runs for real.

    It runs in a copy of the session's directory, or, with --cwd, in that directory itself. Calls are judged by the
    rules of now; nobody is asked. Exit 1 when something went differently than recorded.
    """
    store = user_store()
    path = store.nearest(session, os.getcwd())
    transcript = store.load(os.path.basename(path))
    prompts = _prompts(transcript)
    if not prompts:
        raise UsageError(f"the session {session!r} holds no prompt, so there is nothing to replay")
    with _place(given["cwd"], transcript, keep=keep) as place:
        options = to_options(given)._replace(cwd=place)
        done = asyncio.run(_replay(ReplayModel.from_file(path, cwd=place), prompts, options))
    if as_json:
        click.echo(json_line(done._asdict()))
    else:
        for line in done.divergences:
            click.echo(visible(line, limit_chars=500))
        word = (
            "as recorded" if not done.divergences and not done.error else counted(len(done.divergences), "difference")
        )
        counts = f"{counted(done.prompts, 'prompt')}, {counted(done.calls, 'call')} ({done.failed} failed)"
        click.echo(f"{counts}, {word}.", err=True)
        if done.error:
            click.echo(f"holdfast: {visible(done.error, limit_chars=500)}", err=True)
    return 1 if done.divergences or done.error else 0


async def _replay(model: ReplayModel, prompts: list[Content], options: Options) -> _Replayed:
    calls = failed = said = 0
    error = ""
    async with await start_agent(
        options, AgentOptions(model=model, auto_compact=False), choice=SessionChoice(is_kept=False)
    ) as agent:
        progress = ProgressLines(agent.tools)
        for prompt in prompts:
            said += 1
            async for event in agent.run(prompt):
                progress.take(event)
                if isinstance(event, CallFinished):
                    calls += 1
                    failed += event.is_error
                elif isinstance(event, RunEnded) and event.outcome != "success":
                    error = event.error or event.outcome
            if error:
                break
    return _Replayed(said, calls, failed, tuple(model.divergences), error)


def _prompts(transcript: Transcript) -> list[Content]:
    """What people and tasks said, without results and without the loop's own words."""
    found: list[Content] = []
    for message in transcript.messages:
        if message.role != "user":
            continue
        if isinstance(message.content, str):
            found += [message.content] if message.content.strip() else []
            continue
        if any(block.get("type") == "tool_result" for block in message.content):
            continue
        blocks = [block for block in message.content if not str(block.get("text", "")).startswith(_LOOPS_OWN)]
        found += [blocks] if blocks else []
    return found


@contextmanager
def _place(given: str | None, transcript: Transcript, *, keep: bool) -> Generator[str]:
    """Where it happens: the given directory, or a copy of the recorded one."""
    if given is not None:
        yield os.path.realpath(given)
        return
    source = transcript.header.cwd if transcript.header else ""
    if not source or not os.path.isdir(source):
        raise UsageError(f"the session's directory {source!r} is gone; give another one with --cwd")
    _check_size(source)
    parent = tempfile.mkdtemp(prefix="holdfast-replay-")
    place = os.path.join(os.path.realpath(parent), os.path.basename(source) or "root")
    try:
        _copy(source, place)
        yield place
    finally:
        if keep:
            click.echo(f"holdfast: the copy is {visible(place)}", err=True)
        else:
            shutil.rmtree(parent, ignore_errors=True)


def _copy(source: str, place: str) -> None:
    """Copy what a replay can work with; what does not come along is said."""
    try:
        shutil.copytree(source, place, symlinks=True, ignore=_left_out)
    except shutil.Error as error:
        failed: list[tuple[str, str, str]] = error.args[0]
        click.echo(f"holdfast: {len(failed)} files are not in the copy: {visible(str(failed[0][2]))}", err=True)
    except OSError as error:
        raise UsageError(
            f"{source!r} cannot be copied: {error}; make a copy yourself and give it with --cwd"
        ) from error
    for path in _files(place):
        target = os.readlink(path) if os.path.islink(path) else ""
        if os.path.isabs(target) and is_inside(target, (source,)):  # it would lead back to the original
            os.unlink(path)
            os.symlink(os.path.join(place, os.path.relpath(target, source)), path)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What is made anew, pipes and sockets, and a `.git` that only points at the original's repository."""
    return {name for name in names if name in _LEFT_OUT or not _is_copied(os.path.join(folder, name), name)}


def _is_copied(path: str, name: str) -> bool:
    try:
        kind = os.lstat(path).st_mode
    except OSError:  # gone meanwhile
        return False
    return stat.S_ISDIR(kind) or (name != ".git" and (stat.S_ISREG(kind) or stat.S_ISLNK(kind)))


def _check_size(source: str) -> None:
    """A home directory or a disk is not copied by mistake."""
    size = 0
    for count, path in enumerate(_files(source), 1):
        size += os.lstat(path).st_size if os.path.lexists(path) else 0
        if count > _MAX_FILES or size > _MAX_BYTES:
            raise UsageError(f"{source!r} is too large to copy; make a copy yourself and give it with --cwd")


def _files(source: str) -> Iterator[str]:
    for folder, folders, names in os.walk(source):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        yield from (os.path.join(folder, name) for name in (*names, *links))

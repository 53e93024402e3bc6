"""`holdfast tasks`: look at the background tasks of sessions, and end one."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import click
import msgspec

from holdfast.cli.completers import complete_tasks
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.wire import json_line
from holdfast.lib.visible import visible
from holdfast.session import SessionError, user_store
from holdfast.session.leftovers import end_leftovers
from holdfast.session.lock import is_live
from holdfast.tasks.elsewhere import end_from_outside, true_state
from holdfast.tasks.output import read_output
from holdfast.tasks.records import read_records
from holdfast.tasks.states import TaskRecord, is_terminal

__all__ = ["command"]

_SHOWN_CHARS = 200_000


class _Found(NamedTuple):
    session: str
    record: TaskRecord


@click.group("tasks", cls=ListsByDefault)
def command() -> None:
    """List background tasks, show what they wrote, end them. Without a command it lists them."""
    end_leftovers()


@command.command("list")
@click.option("--all", "-a", "everywhere", is_flag=True, help="Of all projects, not only of this directory.")
@click.option("--running", is_flag=True, help="Only those that have not ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_command(*, everywhere: bool, running: bool, as_json: bool) -> int:
    """List tasks, the latest first."""
    found = sorted(_tasks(everywhere=everywhere), key=lambda task: -task.record.start_time)
    found = [task for task in found if not (running and is_terminal(task.record.status))]
    if as_json:
        for task in found:
            click.echo(json_line(_as_json(task)))
        return 0
    if not found:
        where = "anywhere" if everywhere else "for this directory; --all shows those of others"
        click.echo(f"There are no tasks {where}.", err=True)
        return 0
    for task in found:
        record = task.record
        code = "" if record.exit_code is None else f" ({record.exit_code})"
        state = f"{record.status}{code}"
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.start_time / 1000))
        click.echo(f"{record.id}  {state:<14}  {started}  {visible(record.description, limit_chars=80)}")
    return 0


@command.command("output", short_help="Show what a task wrote.")
@click.argument("task", shell_complete=complete_tasks)
@click.option("--json", "as_json", is_flag=True, help="Print state and output as one JSON object.")
def output_command(task: str, *, as_json: bool) -> int:
    """Show what TASK (an id, or the unique beginning of one) wrote."""
    found = _find(task)
    if found is None:
        return 1
    text = read_output(found.record.output_file, _SHOWN_CHARS)
    if as_json:
        click.echo(json_line({**_as_json(found), "output": text.text, "outputBytes": text.total_bytes}))
        return 0
    for line in text.text.splitlines():
        click.echo(visible(line.expandtabs(8)))
    if text.left_out_bytes:
        click.echo(f"All of it is in {visible(found.record.output_file)}.", err=True)
    return 0


@command.command("stop", short_help="End a task with everything it started.")
@click.argument("task", shell_complete=complete_tasks)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as one JSON object.")
def stop_command(task: str, *, as_json: bool) -> int:
    """End TASK (an id, or the unique beginning of one) with everything it started."""
    found = _find(task)
    if found is None:
        return 1
    done = not is_terminal(found.record.status) and end_from_outside(found.record)
    if as_json:
        click.echo(json_line({"task_id": found.record.id, "stopped": done}))
    elif done:
        click.echo(f"{found.record.id} was stopped.")
    else:
        click.echo(f"holdfast: {found.record.id} is not running ({found.record.status})", err=True)
    return 0 if done else 1


def _tasks(*, everywhere: bool) -> Iterator[_Found]:
    store = user_store()
    for path in store.paths(None if everywhere else os.getcwd()):
        records = read_records(os.path.join(path, "tasks"))
        if not records:
            continue
        lives = False
        with suppress(SessionError, OSError), store.opened(path) as directory:
            lives = is_live(directory, path=path)
        for record in records.values():
            yield _Found(os.path.basename(path), true_state(record, session_lives=lives))


def _find(name: str) -> _Found | None:
    fitting = [task for task in _tasks(everywhere=True) if name and task.record.id.startswith(name)]
    exact = [task for task in fitting if task.record.id == name]
    if len(exact or fitting) == 1:
        return (exact or fitting)[0]
    problem = f"{name!r} fits {len(fitting)} tasks; give more of the id" if fitting else f"there is no task {name!r}"
    click.echo(f"holdfast: {problem}; `holdfast tasks list --all` shows them", err=True)
    return None


def _as_json(task: _Found) -> dict[str, object]:
    return {**msgspec.to_builtins(task.record), "session": task.session}

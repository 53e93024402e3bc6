"""`holdfast undo`: take back what the file tools changed, never what somebody else changed."""

import os
import time

import click

from holdfast.app.calls import latest_changes
from holdfast.app.files import checkpoints_of
from holdfast.cli.completers import complete_changes, complete_sessions
from holdfast.cli.wire import json_line
from holdfast.lib.checkpoints import Change, CheckpointStore, UndoRefusedError
from holdfast.lib.visible import visible
from holdfast.session import user_store
from holdfast.session.leftovers import end_leftovers

__all__ = ["command", "store_of"]


@click.command("undo")
@click.option("--list", "list_only", is_flag=True, help="Show what can be taken back, the latest last.")
@click.option(
    "--to",
    metavar="CALL",
    shell_complete=complete_changes,
    help="Take back every change since and including this call.",
)
@click.option(
    "--session",
    "name",
    shell_complete=complete_sessions,
    help="An id, the beginning of one, or `latest`; else who changed a file here last.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def command(*, list_only: bool, to: str | None, name: str | None, as_json: bool) -> int:
    """Take back the last change that a tool made to files, or all changes since CALL.

    Nothing is touched unless every file is exactly as the tool left it.

    \b
    holdfast undo --list          what can be taken back, each with its CALL
    holdfast undo                 the last change
    holdfast undo --to CALL       that change and all since
    """  # noqa: D301 - click wants the character itself
    end_leftovers()
    store = store_of(name)
    if store is None:
        click.echo("holdfast: nothing was changed in this directory; `--session ID` looks at another one", err=True)
        return 0 if list_only else 1
    if list_only:
        _show(store.changes(), as_json=as_json)
        return 0
    try:
        restored = store.undo(to)
    except UndoRefusedError as error:
        for reason in error.reasons:
            click.echo(f"holdfast: {reason}", err=True)
        return 1
    for file in restored:
        if as_json:
            click.echo(json_line({"path": file.path, "action": file.action}))
        else:
            click.echo(f"{file.action:<8}  {visible(file.path)}")
    return 0


def store_of(name: str | None) -> CheckpointStore | None:
    """Where the changes of a session are kept, or of whoever changed a file here last."""
    if name is None:
        return latest_changes(os.getcwd())
    return checkpoints_of(user_store().find(name, project=os.getcwd() if name == "latest" else None))


def _show(changes: list[Change], *, as_json: bool) -> None:
    if not changes and not as_json:
        click.echo("This session changed no files; `--session ID` looks at another one.", err=True)
    for change in changes:
        deed = "created" if change.before is None else "changed"
        if as_json:
            click.echo(json_line({"call": change.call, "path": change.path, "deed": deed, "time_s": change.time_s}))
        else:
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(change.time_s))
            click.echo(f"{at}  {change.call}  {deed}  {visible(change.path)}")

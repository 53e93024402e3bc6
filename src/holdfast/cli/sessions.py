"""`holdfast sessions`: look at what is remembered, take it elsewhere, and let old things go."""

import os
import re
import sys
import time
from collections.abc import Iterable
from itertools import chain

import click

from holdfast import __version__
from holdfast.cli.completers import complete_sessions
from holdfast.cli.counted import counted
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.tables import relative_time, size, table
from holdfast.cli.wire import json_line
from holdfast.events import to_builtins
from holdfast.lib.visible import json_for_terminal, visible
from holdfast.session import SessionStore, user_store
from holdfast.session.leftovers import end_leftovers

__all__ = ["command", "sessions"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\Z", re.IGNORECASE)
_FACTOR = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES_AT_ONCE = 1 << 18
_REPLAY = "replay"


class _Sessions(ListsByDefault):
    """Loads what replays a session only for that."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), _REPLAY])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _REPLAY:
            from holdfast.cli.replay import command as replay  # noqa: PLC0415 - see above

            return replay
        return super().get_command(ctx, cmd_name)


@click.group("sessions", cls=_Sessions)
def command() -> None:
    """List, show, replay, export and prune sessions. Without a command it lists them."""
    end_leftovers()


sessions = command


def _to_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    found = _SIZE.match(value.strip())
    if found is None:
        raise click.BadParameter(
            f"{value!r} is not a size; write a number with KB, MB or GB, such as 500MB", ctx, param
        )
    return int(float(found[1]) * _FACTOR[found[2].lower()])


@command.command("list")
@click.option("--all", "-a", "everywhere", is_flag=True, help="Of all projects, not only of this directory.")
@click.option("--limit", "-n", type=click.IntRange(min=1), help="Show at most this many, the latest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_command(*, everywhere: bool, limit: int | None, as_json: bool) -> int:
    """List sessions, the most recently used first."""
    from holdfast.session.summaries import list_sessions  # noqa: PLC0415 - each command loads what it needs

    found = list_sessions(user_store(), None if everywhere else os.getcwd())[:limit]
    if as_json:
        for summary in found:
            click.echo(json_line(summary))
        return 0
    if not found:
        where = "anywhere yet" if everywhere else "for this directory; --all shows those of others"
        click.echo(f"There are no sessions {where}.", err=True)
        return 0
    now = time.time()
    rows = [
        (
            summary.id,
            relative_time(summary.active_at, now),
            "live" if summary.live else "",
            size(summary.size_bytes),
            *((visible(summary.project),) if everywhere else ()),
            summary.title or "-",
        )
        for summary in found
    ]
    head = ("SESSION", "LAST USED", "", "SIZE", *(("PROJECT",) if everywhere else ()), "TITLE")
    table([head, *rows])
    return 0


@command.command("show", short_help="What was said, each call and how it ended.")
@click.argument("session", shell_complete=complete_sessions)
@click.option("--json", "as_json", is_flag=True, help="Print calls and messages as one JSON object.")
def show_command(session: str, *, as_json: bool) -> int:
    """Show a session: when, where, what was said, each call and how it ended.

    SESSION is an id, the unique beginning of one, or `latest`.
    """
    if as_json:
        return _show_json(session)
    from holdfast.cli.session_view import SessionView  # noqa: PLC0415 - loaded only where it is used

    store = user_store()
    name = _id_of(session, store)
    view = SessionView()
    try:
        store.load(name, into=view)
        view.show(store.find(name))
    finally:
        view.close()
    return 0


def _show_json(session: str) -> int:
    from holdfast.cli.session_view import SpendingTranscript  # noqa: PLC0415 - loaded only where it is used
    from holdfast.session.export import json_parts  # noqa: PLC0415 - the same

    store = user_store()
    with store.reading(_id_of(session, store), SpendingTranscript) as transcript:
        to_terminal = sys.stdout.isatty()
        parts = json_parts(transcript, transcript.spending.to_wire())
        _print_parts(json_for_terminal(part) if to_terminal else part for part in parts)
    click.echo()
    return 0


@command.command("export", short_help="Print a session as JSON, Markdown or other tools' lines.")
@click.argument("session", shell_complete=complete_sessions)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "markdown", "transcript"]),
    default="json",
    show_default=True,
    help="How to print it.",
)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead of stdout.")
def export_command(session: str, *, form: str, output: str | None) -> int:
    """Print a session as JSON, as Markdown, or as lines that tools around agents read. SESSION as for `show`."""
    from holdfast.session.export import json_parts, markdown_parts  # noqa: PLC0415 - loaded only where it is used
    from holdfast.session.held import HeldTranscript  # noqa: PLC0415 - the same

    store = user_store()
    if form == "transcript":
        return _export_lines(store.find(_id_of(session, store)), output)
    with store.reading(_id_of(session, store), HeldTranscript) as transcript:
        page = (part.encode("utf-8", "backslashreplace") for part in markdown_parts(transcript))
        parts = chain(json_parts(transcript), [b"\n"]) if form == "json" else page
        return _export(parts, output)


def _export(parts: Iterable[bytes], output: str | None) -> int:
    if output is None:
        _print_parts(parts)
        return 0
    try:
        # A session may hold anything the tools have read, so the file is the user's alone.
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
    except OSError as error:
        click.echo(f"holdfast: {visible(output)} cannot be written: {error.strerror}", err=True)
        return 1
    click.echo(f"Written to {visible(output)}.", err=True)
    return 0


def _export_lines(path: str, output: str | None) -> int:
    """The journal in the layout that session lists, usage counters and hook scripts know."""
    from holdfast.session.transcript_lines import exported_lines  # noqa: PLC0415 - loaded only where it is used

    return _export(exported_lines(path, __version__), output)


@command.command("prune", short_help="Remove old sessions; live ones stay.")
@click.option("--keep-days", type=click.FloatRange(min=0), help="Remove what was not used for this many days.")
@click.option("--keep-count", type=click.IntRange(min=0), help="Keep the latest N sessions of each project.")
@click.option(
    "--max-size",
    callback=_to_bytes,
    metavar="SIZE",
    help="Keep at most this much of all together, the latest; such as 500MB.",
)
@click.option("--all", "-a", "everywhere", is_flag=True, help="In all projects, not only for this directory.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="Print what was removed as JSON.")
def prune_command(
    *,
    keep_days: float | None,
    keep_count: int | None,
    max_size: int | None,
    everywhere: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove old sessions with everything in them; live ones stay. Without a limit: those unused for 30 days."""
    from holdfast.session.retention import Retention, prune  # noqa: PLC0415 - loaded only where it is used

    if keep_days is None and keep_count is None and max_size is None:
        keep_days = 30.0
    done = prune(
        user_store(),
        Retention(keep_days, keep_count, max_size),
        project=None if everywhere else os.getcwd(),
        dry_run=dry_run,
    )
    if as_json:
        failed = [{"id": summary.id, "reason": reason} for summary, reason in done.failed]
        click.echo(json_line({"removed": to_builtins(list(done.removed)), "failed": failed, "dry_run": dry_run}))
    else:
        for summary in done.removed:
            click.echo(f"{summary.id}  {size(summary.size_bytes)}  {summary.title or '-'}")
        total = size(sum(summary.size_bytes for summary in done.removed))
        deed = "would be removed" if dry_run else "removed"
        click.echo(f"{counted(len(done.removed), 'session')} {deed}, {total}.", err=True)
    for summary, reason in done.failed:
        click.echo(f"holdfast: {summary.id} stays: {visible(reason)}", err=True)
    return 1 if done.failed else 0


def _print_parts(parts: Iterable[bytes]) -> None:
    """Print many parts with few writes."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= _BYTES_AT_ONCE:
            click.echo(bytes(waiting), nl=False)
            waiting.clear()
    click.echo(bytes(waiting), nl=False)


def _id_of(name: str, store: SessionStore) -> str:
    return os.path.basename(store.nearest(name, os.getcwd()))

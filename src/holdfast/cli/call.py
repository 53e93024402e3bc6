"""`holdfast call TOOL JSON`: one call through the whole pipeline."""

import asyncio
import os
from typing import Any, cast

import click
import msgspec

from holdfast.app import Options, Rights, open_session
from holdfast.app.begin import SessionChoice
from holdfast.app.build import executor_for_call
from holdfast.app.calls import count_as_seen
from holdfast.app.plain_errors import for_people
from holdfast.app.servers import join_servers
from holdfast.cli.completers import complete_tools
from holdfast.cli.options import say, tell, to_options, warn
from holdfast.cli.refusals import refusal_line
from holdfast.cli.session_options import session_options
from holdfast.cli.standard_streams import read_argument
from holdfast.cli.wire import result_line
from holdfast.contract import ToolUse, UsageError
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.lib.visible import without_controls

__all__ = ["command"]


@click.command("call")
@click.argument("tool", shell_complete=complete_tools)
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print the whole reply as one line of JSON.")
@session_options
def command(tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Run one TOOL with arguments given as JSON (`-` reads them from standard input) and print its result.

    What you change by Edit, Write or NotebookEdit counts as read, and `holdfast undo` takes it back.
    Exit code: 0 done, 1 the call failed or was refused, 2 wrong use.

    \b
    holdfast call Grep '{"pattern": "def main"}'
    holdfast call Bash '{"command": "make test"}' --allowed-tools "Bash(make *)"
    """  # noqa: D301 - click wants the character itself
    raw = read_argument(arguments)
    options = to_options(given)
    fields = _fields(raw)
    is_remote = tool.startswith("mcp__")
    executor, reply = asyncio.run(_call_remote(options, tool, raw)) if is_remote else _call(options, tool, raw, fields)
    if reply.name == "SendUserMessage" and reply.display and not as_json:
        say(without_controls(reply.display))
    if as_json:
        click.echo(result_line(reply))
    elif isinstance(reply.content, str):
        _show(reply.content, err=reply.is_error)
    else:
        for block in reply.content:
            _show(block["text"] if block["type"] == "text" else f"[{block['type']}]", err=reply.is_error)
    if reply.outcome == "denied" and not as_json:
        refused = {"tool_name": reply.name, "tool_input": fields}
        click.echo(f"holdfast: {refusal_line([refused], executor.state.permissions, executor.state.cwd)}", err=True)
    return 1 if reply.is_error else 0


def _call(options: Options, tool: str, raw: str, fields: dict[str, Any]) -> tuple[Executor, CallFinished]:
    executor, rights = executor_for_call(options)
    _warn(executor, rights)
    if fields.get("run_in_background"):
        raise UsageError(
            "`holdfast call` ends with its call, so nothing can go on in the background; leave run_in_background out, "
            "or use `holdfast exec`, which lives as long as its input"
        )
    for path in _changed_files(tool, fields):
        count_as_seen(executor, path)
    return executor, executor.call(tool, raw)


async def _call_remote(options: Options, tool: str, raw: str) -> tuple[Executor, CallFinished]:
    """The same with the servers of this place, and no trace on disk."""
    async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
        _warn(opened.executor, opened.rights)
        await join_servers(opened, options, on_notice=tell)
        opened.executor.add(ToolUse(f"call-{os.urandom(4).hex()}", tool, raw))
        replies = [event async for event in opened.executor.results() if isinstance(event, CallFinished)]
        return opened.executor, replies[-1]


def _warn(executor: Executor, rights: Rights) -> None:
    """What a run says at its start: what does not count, and what an untrusted folder brings."""
    warn(rights)
    for warning in executor.hooks.warnings:
        tell(warning)


def _fields(raw: str) -> dict[str, Any]:
    """The arguments as far as they are known here; what is wrong with them the tool says."""
    try:
        found: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _changed_files(tool: str, fields: dict[str, Any]) -> list[str]:
    """What the person is about to change: she gives the change herself, so she counts as having seen the file."""
    name = {"Edit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}.get(tool)
    path = None if name is None else fields.get(name)
    return [path] if isinstance(path, str) and path else []


def _show(text: str, *, err: bool) -> None:
    """Programs get the very text; a person's terminal must not obey what a file or a command holds."""
    text = for_people(text) if err else text
    click.echo(without_controls(text) if os.isatty(2 if err else 1) else text, err=err, color=True)

"""`holdfast call TOOL JSON`: one call through the whole pipeline."""

import os
from typing import Any

import click

from holdfast.app import build_executor
from holdfast.cli.options import session_options, to_options
from holdfast.cli.standard_streams import read_argument
from holdfast.cli.wire import result_line
from holdfast.lib.visible import without_controls

__all__ = ["command"]


@click.command("call")
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print the whole reply as one line of JSON.")
@session_options
def command(tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Run one TOOL with arguments given as JSON (`-` reads them from standard input) and print its result.

    Exit code: 0 done, 1 the call failed or was refused, 2 wrong use.

    \b
    holdfast call Grep '{"pattern": "def main"}'
    holdfast call Bash '{"command": "make test"}' --allowed-tools "Bash(make *)"
    """  # noqa: D301 - click wants the character itself
    raw = read_argument(arguments)
    reply = build_executor(to_options(given)).call(tool, raw)
    if as_json:
        click.echo(result_line(reply))
    elif isinstance(reply.content, str):
        _show(reply.content, err=reply.is_error)
    else:
        for block in reply.content:
            _show(block["text"] if block["type"] == "text" else f"[{block['type']}]", err=reply.is_error)
    return 1 if reply.is_error else 0


def _show(text: str, *, err: bool) -> None:
    """Programs get the very text; a person's terminal must not obey what a file or a command holds."""
    click.echo(without_controls(text) if os.isatty(2 if err else 1) else text, err=err, color=True)

"""`holdfast call TOOL JSON`: one call through the whole pipeline."""

import sys
from typing import Any

import click

from holdfast.app import build_executor
from holdfast.cli.options import session_options, to_options
from holdfast.cli.wire import result_line

__all__ = ["command"]


@click.command("call")
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print the whole reply as one line of JSON.")
@session_options
def command(tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Run one TOOL with arguments given as JSON (`-` reads them from standard input) and print its result."""
    raw = sys.stdin.read() if arguments == "-" else arguments
    reply = build_executor(to_options(given)).call(tool, raw)
    if as_json:
        click.echo(result_line(reply))
    elif isinstance(reply.content, str):
        click.echo(reply.content, err=reply.is_error)
    else:
        for block in reply.content:
            click.echo(block["text"] if block["type"] == "text" else f"[{block['type']}]", err=reply.is_error)
    return 1 if reply.is_error else 0

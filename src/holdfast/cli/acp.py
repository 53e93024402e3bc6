"""`holdfast acp`: the agent for an editor, by the Agent Client Protocol."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from holdfast.app.options import AgentOptions, Options

__all__ = ["command"]


@click.command("acp")
@click.option("--model", metavar="NAME", help="The model, as `provider:name`; else what environment and settings say.")
@click.option(
    "--permission-mode", metavar="MODE", help="The mode that sessions begin in; the settings decide if omitted."
)
@click.option("--settings", multiple=True, metavar="FILE|JSON", help="Settings on top of the files.")
@click.option("--setting-sources", metavar="LIST", help="Which to read, of user,project,local.")
def command(**given: Any) -> int:
    """Speak with an editor over standard input and output: JSON-RPC, the Agent Client Protocol version 1.

    The editor starts this by itself; docs/editors.md has the settings to paste.
    """
    from holdfast.acp.serve import serve  # noqa: PLC0415 - not for --help

    return asyncio.run(serve(lambda: _choices(given)))


def _choices(given: dict[str, Any]) -> "tuple[Options, AgentOptions]":
    from holdfast.app.options import AgentOptions, Options  # noqa: PLC0415 - the editor's first question comes before

    options = Options(
        permission_mode=given["permission_mode"],
        settings=given["settings"],
        setting_sources=given["setting_sources"],
    )
    return options, AgentOptions(model=given["model"])

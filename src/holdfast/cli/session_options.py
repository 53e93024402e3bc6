"""The options that every command which runs tools shares, as the command-line library knows them."""

from collections.abc import Callable
from typing import Any

import click

from holdfast.cli.completers import complete_tools
from holdfast.contract.names import MODE_ALIASES, MODES

__all__ = ["session_options"]


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command."""
    options = (
        click.option("--cwd", type=click.Path(file_okay=False), help="Work in this directory."),
        click.option(
            "--permission-mode",
            type=click.Choice([*MODES, *MODE_ALIASES]),
            help="What happens to calls that no rule speaks of; the settings decide if omitted.",
        ),
        _rules_option("allowed", 'Allow what these rules name, such as "Edit Bash(git *)".'),
        _rules_option("disallowed", "Deny what these rules name; nothing overrides it."),
        click.option(
            "--tools",
            multiple=True,
            metavar="NAMES",
            shell_complete=complete_tools,
            help='Offer only these tools, such as "Read,Grep"; "minimal" is Bash, Read and Edit.',
        ),
        click.option("--add-dir", "add_dirs", multiple=True, metavar="DIR", help="Also work in this directory."),
        click.option("--settings", multiple=True, metavar="FILE|JSON", help="Settings on top of the files."),
        click.option("--setting-sources", metavar="LIST", help="Which to read, of user,project,local."),
        click.option("--mcp-config", multiple=True, metavar="FILE|JSON", help="MCP servers, besides those configured."),
        click.option("--strict-mcp-config", is_flag=True, help="Only the servers of --mcp-config."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _rules_option(word: str, help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    names = (f"--{word}-tools", f"--{word}Tools", f"{word}_tools")
    return click.option(*names, multiple=True, metavar="RULES", shell_complete=complete_tools, help=help_text)

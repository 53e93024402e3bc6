"""The options that every command which runs tools shares."""

import os
from collections.abc import Callable
from typing import Any

import click

from holdfast.app import Options, Rights
from holdfast.cli.completers import complete_tools
from holdfast.contract.names import MODE_ALIASES, MODES
from holdfast.lib.visible import without_controls
from holdfast.registry.names import ALIASES, BUILTIN_NAMES, PRESETS
from holdfast.settings.sources import split_tool_list

__all__ = ["session_options", "tell", "to_options", "warn"]


_KNOWN = frozenset({"default", *PRESETS, *BUILTIN_NAMES, *ALIASES})


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


def to_options(given: dict[str, Any]) -> Options:
    """The shared options as the composition root wants them."""
    for directory in given["add_dirs"]:
        if not os.path.isdir(os.path.join(given["cwd"] or "", os.path.expanduser(directory))):
            click.echo(f"holdfast: --add-dir {directory!r} is not a directory, so it adds nothing", err=True)
    tools = tuple(name for text in given["tools"] for name in split_tool_list(text))
    for name in tools:
        if name not in _KNOWN and not name.startswith("mcp__"):
            click.echo(f"holdfast: --tools {name!r} is not a tool; `holdfast tools` lists them", err=True)
    return Options(
        cwd=given["cwd"],
        permission_mode=given["permission_mode"],
        allowed_tools=given["allowed_tools"],
        disallowed_tools=given["disallowed_tools"],
        tools=None if not given["tools"] or tools == ("default",) else tools,
        add_dirs=given["add_dirs"],
        settings=given["settings"],
        setting_sources=given["setting_sources"],
        mcp_config=given["mcp_config"],
        strict_mcp_config=given["strict_mcp_config"],
    )


def tell(text: str) -> None:
    """Say something on standard error, in words that no terminal obeys."""
    click.echo(f"holdfast: {without_controls(text)}", err=True)


def warn(rights: Rights) -> None:
    """Say on standard error what does not count, and what an untrusted folder brings."""
    for line in rights.warnings():
        click.echo(f"holdfast: {line}", err=True)
    untrusted = rights.left_out()
    if untrusted:
        click.echo(f"holdfast: {untrusted}", err=True)

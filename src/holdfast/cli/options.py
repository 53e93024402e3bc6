"""The options that every command which runs tools shares."""

from collections.abc import Callable
from typing import Any

import click

from holdfast.app import Options
from holdfast.permissions import MODES

__all__ = ["session_options", "split_rules", "to_options"]


def split_rules(texts: tuple[str, ...]) -> tuple[str, ...]:
    """`"Bash(git *) Edit, Read"` as single rules: blanks and commas part them, except inside parentheses."""
    rules: list[str] = []
    for text in texts:
        depth, current = 0, ""
        for char in text:
            depth += (char == "(") - (char == ")")
            if char in ", \t\n" and depth == 0:
                rules.append(current)
                current = ""
            else:
                current += char
        rules.append(current)
    return tuple(rule for rule in rules if rule)


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command."""
    options = (
        click.option("--cwd", type=click.Path(file_okay=False), help="Work in this directory."),
        click.option(
            "--permission-mode",
            type=click.Choice([*MODES, "manual"]),
            default="default",
            show_default=True,
            help="What happens to calls that no rule speaks of.",
        ),
        click.option(
            "--allowed-tools", "--allowedTools", "allowed_tools", multiple=True, metavar="RULES", help="Allow these."
        ),
        click.option(
            "--disallowed-tools",
            "--disallowedTools",
            "disallowed_tools",
            multiple=True,
            metavar="RULES",
            help="Deny these.",
        ),
        click.option("--tools", multiple=True, metavar="NAMES", help="Offer only these tools."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def to_options(given: dict[str, Any]) -> Options:
    """The shared options as the composition root wants them."""
    return Options(
        cwd=given["cwd"],
        permission_mode=given["permission_mode"],
        allowed_tools=split_rules(given["allowed_tools"]),
        disallowed_tools=split_rules(given["disallowed_tools"]),
        tools=split_rules(given["tools"]) or None,
    )

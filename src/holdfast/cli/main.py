"""`holdfast`: one group of commands, each imported only when it is called."""

import os
import sys
from importlib import import_module
from itertools import takewhile
from typing import Any

import click

from holdfast import __version__
from holdfast.contract.errors import HoldfastError

__all__ = ["cli", "run"]

_COMMANDS = {
    "call": ("holdfast.cli.call", "Run one tool and print its result."),
    "completion": ("holdfast.cli.completion", "Print what makes a shell complete our words."),
    "doctor": ("holdfast.cli.doctor", "Check what Holdfast can promise on this machine."),
    "demo": ("holdfast.cli.demo", "Show a whole agent session on a sample project, no key needed."),
    "exec": ("holdfast.cli.exec", "Run tool calls from JSON lines: the executor as a pipe for any language."),
    "permissions": ("holdfast.cli.permissions", "Explain, list, lint and test permission rules."),
    "sessions": ("holdfast.cli.sessions", "List, show, replay, export and prune sessions."),
    "trust": ("holdfast.cli.trust", "Show what this folder brings, and trust it or take trust back."),
    "tasks": ("holdfast.cli.tasks", "List background tasks, show what they wrote, end them."),
    "undo": ("holdfast.cli.undo", "Take back what the file tools changed."),
    "tools": ("holdfast.cli.tools", "List the tools, or show one with its schema."),
}


_PRINT = "print"
_GROUP_FLAGS = ("--debug", "-d")
_GROUP_ANSWERS = ("--help", "-h", "--version", "-V")


class _LazyGroup(click.Group):
    """Knows the names and one-line helps; imports a command when it is needed.

    A command line that names no command is a prompt, or options for one: `holdfast -p PROMPT`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_prompt = _is_prompt(args) and not (ctx.resilient_parsing and not args)  # completion of the first word
        if is_prompt:  # our own flag counts wherever it stands
            args = [*(flag for flag in _GROUP_FLAGS[:1] if set(args) & set(_GROUP_FLAGS)), _PRINT, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} {_meant(args)}", ctx) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name == _PRINT:
            return getattr(import_module("holdfast.cli.print"), "command")  # noqa: B009 - as below
        if cmd_name not in _COMMANDS:
            return None
        return getattr(import_module(_COMMANDS[cmd_name][0]), "command")  # noqa: B009 - each module names it so

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in sorted(_COMMANDS.items())])


def _is_prompt(args: list[str]) -> bool:
    """Whether these words start an agent: none of them is a command, and one is an option or looks like a sentence."""
    words = list(args)
    while words and words[0] in _GROUP_FLAGS:
        del words[0]
    if not words:
        return True
    first = words[0]
    if first in _COMMANDS or first in _GROUP_ANSWERS:
        return False
    return first.startswith("-") or not first.isidentifier() or "-p" in words or "--print" in words


def _meant(words: list[str]) -> str:
    """What somebody may have wanted who names a command that is none."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistake
    from shlex import quote  # noqa: PLC0415 - the same

    near = get_close_matches(words[0], _COMMANDS, n=1)
    asked = quote(" ".join(takewhile(lambda word: not word.startswith("-"), words)))
    asked = asked if asked.startswith("'") else f'"{asked}"'
    return (f"Did you mean `holdfast {near[0]}`? " if near else "") + f"To ask a model, write `holdfast -p {asked}`."


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", "-V", message="holdfast %(version)s")
@click.option("--debug", "-d", is_flag=True, help="Say on standard error what happens inside.")
def cli(*, debug: bool) -> None:
    """The hands of an AI agent: every tool call typed, permission-checked, concurrent and streaming.

    `holdfast -p PROMPT` answers a prompt with a model and ends; `holdfast -p --help` lists its options.
    """
    from holdfast.session.log import configure_logging  # noqa: PLC0415 - `--help` needs no log
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - see above

    configure_logging(debug=debug, directory=user_directories().state)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 ok, 1 failed, 2 wrong use, 130 interrupted."""
    colour = False if os.environ.get("NO_COLOR") else None  # None: as the terminal wants it
    try:
        result: Any = cli.main(arguments, prog_name="holdfast", standalone_mode=False, color=colour)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except HoldfastError as error:
        from holdfast.lib.visible import without_controls  # noqa: PLC0415 - only for an error

        click.echo(f"holdfast: {without_controls(str(error))}", err=True)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    return result if isinstance(result, int) else 0

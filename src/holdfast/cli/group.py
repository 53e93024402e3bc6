"""`holdfast`: one group of commands, each imported only when it is called."""

import logging
import os
from collections.abc import Callable
from importlib import import_module
from itertools import takewhile
from typing import Any

import click

from holdfast import __version__

__all__ = ["cli", "run_group"]

_COMMANDS = {
    "acp": ("holdfast.cli.acp", "Work for an editor: the Agent Client Protocol over standard input and output."),
    "agents": ("holdfast.cli.agents", "List, show and lint the agents that are defined here."),
    "call": ("holdfast.cli.call", "Run one tool and print its result."),
    "completion": ("holdfast.cli.completion", "Print the completion script for a shell."),
    "doctor": ("holdfast.cli.doctor", "Check what Holdfast can promise on this machine."),
    "demo": ("holdfast.cli.demo", "Show a whole agent session on a sample project, no key needed."),
    "exec": ("holdfast.cli.exec", "Run tool calls from JSON lines: the executor as a pipe for any language."),
    "hooks": ("holdfast.cli.hooks", "List the active hooks, and run them on an event."),
    "models": ("holdfast.cli.models", "List models with windows and prices, and which API keys are set."),
    "mcp": ("holdfast.cli.mcp", "List, add, inspect and call MCP servers."),
    "permissions": ("holdfast.cli.permissions", "Explain, list, lint and test permission rules."),
    "sandbox": ("holdfast.cli.sandbox", "Show what the sandbox promises here, or run one command in it."),
    "sessions": ("holdfast.cli.sessions", "List, show, replay, export and prune sessions."),
    "skills": ("holdfast.cli.skills", "List, show and lint skills and commands."),
    "trust": ("holdfast.cli.trust", "Show what this folder brings, and trust it or take trust back."),
    "tasks": ("holdfast.cli.tasks", "List background tasks, show what they wrote, end them."),
    "undo": ("holdfast.cli.undo", "Take back what the file tools changed."),
    "tools": ("holdfast.cli.tools", "List the tools, or show one with its schema."),
}


_PRINT = "print"
_GROUP_FLAGS = ("--debug", "-d", "--debug-to-stderr")
_GROUP_ANSWERS = ("--help", "-h", "--version", "-V", "-v")


class _NobodyReadsError(Exception):
    """A broken pipe under another name: click would end with a plain 1 for that."""


class _LazyGroup(click.Group):
    """Knows the names and one-line helps; imports a command when it is needed.

    A command line that names no command is a prompt, or options for one: `holdfast -p PROMPT`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_prompt = _is_prompt(args) and not (ctx.resilient_parsing and not args)  # completion of the first word
        if is_prompt:  # our own flag counts wherever it stands
            args = [*(flag for flag in _GROUP_FLAGS[:1] if set(args) & set(_GROUP_FLAGS)), _PRINT, *args]
        return super().parse_args(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            raise _NobodyReadsError from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _NobodyReadsError from error

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
@click.version_option(__version__, "--version", "-V", "-v", message="holdfast %(version)s")
@click.option("--debug", "-d", is_flag=True, help="Print debug messages on standard error.")
def cli(*, debug: bool) -> None:
    """The hands of an AI agent: every tool call typed, permission-checked, concurrent and streaming.

    `holdfast -p PROMPT` answers a prompt with a model and ends; `holdfast -p --help` lists its options.

    \b
    holdfast demo                                          see it work, no key needed
    holdfast -p "Why does the test fail?"                  with ANTHROPIC_API_KEY or OPENAI_API_KEY
    git diff | holdfast -p "Review this" --model ollama:qwen3
    holdfast permissions explain Bash '{"command": "git push"}'
    holdfast undo                                          take back the last change to files
    """  # noqa: D301 - click wants the character itself
    from holdfast.session.log import configure_logging  # noqa: PLC0415 - `--help` needs no log
    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - see above

    log = configure_logging(debug=debug, directory=user_directories().state)
    if debug:
        logging.getLogger(__name__).debug("the log is kept in %r", log.path)


def run_group(words: list[str], before_words: Callable[[], None]) -> int:
    """Run what these words ask for; `before_words` is called before an error is told.

    Raises:
        BrokenPipeError: Nobody reads the output any more.
    """
    colour = False if os.environ.get("NO_COLOR") else None  # None: as the terminal wants it
    try:
        try:
            result: Any = cli.main(words, prog_name="holdfast", standalone_mode=False, color=colour)
        finally:
            before_words()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except _NobodyReadsError as error:
        raise BrokenPipeError from error
    return result if isinstance(result, int) else 0

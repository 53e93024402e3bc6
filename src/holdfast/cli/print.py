"""`holdfast -p PROMPT`: answer one prompt, or a stream of them, and end."""

import math
from collections.abc import Callable
from typing import Any

import click

from holdfast.cli.completers import complete_models, complete_sessions
from holdfast.cli.plain_words import EFFORTS, OUTPUTS, spread_lists
from holdfast.cli.prompt import answer_prompt
from holdfast.cli.session_options import session_options

__all__ = ["command"]


class _PrintCommand(click.Command):
    """Stands behind the group's options, so its help and errors speak of `holdfast -p`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        del info_name
        return super().make_context("-p", args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(word.endswith("stream-json") for word in args):
            from holdfast.cli.host_flags import settle_flags  # noqa: PLC0415 - only where a program starts us

            known = frozenset(name for param in self.params for name in (*param.opts, *param.secondary_opts))
            args = settle_flags(args, known)
        if args[:1] == ["-p"]:  # click takes a short word for a long one first, and looks for words that are like it
            args = ["--print", *args[1:]]
        return super().parse_args(ctx, spread_lists(args))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        formatter.write_usage("holdfast", "-p PROMPT [OPTIONS]")


def _amount(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):  # nothing is ever more than that, so it would limit nothing
        raise click.BadParameter(f"{value} is not an amount of money; leave the option out for no limit", ctx, param)
    return value


def _model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--model",
            metavar="PROVIDER:NAME",
            shell_complete=complete_models,
            help="Which model; also scripted:FILE and replay:FILE.",
        ),
        click.option(
            "--fallback-model",
            "--fallbackModel",
            metavar="MODEL",
            shell_complete=complete_models,
            help="Asked while the first is overloaded.",
        ),
        click.option(
            "--effort", type=click.Choice(EFFORTS), help="How hard the model should try; from `high` on it thinks."
        ),
        click.option(
            "--thinking",
            type=click.Choice(("adaptive", "enabled", "disabled")),
            is_flag=False,
            flag_value="adaptive",
            help="Let the model think before it answers.",
        ),
        click.option(
            "--max-thinking-tokens", type=int, hidden=True, help="Above 0: let the model think; it sets the amount."
        ),
        click.option("--max-turns", "--maxTurns", type=click.IntRange(min=1), help="End after this many turns."),
        click.option(
            "--max-budget-usd", type=click.FloatRange(min=0), callback=_amount, help="Stop once this much is spent."
        ),
        click.option("--system-prompt", "--systemPrompt", metavar="TEXT", help="Replaces the built-in system prompt."),
        click.option(
            "--append-system-prompt", "--appendSystemPrompt", metavar="TEXT", help="Added to the system prompt."
        ),
        click.option("--system-prompt-file", metavar="FILE", help="The same, from a file."),
        click.option("--append-system-prompt-file", metavar="FILE", help="The same, from a file."),
        click.option("--json-schema", metavar="JSON|FILE", help="The answer as data that fits this schema."),
    )
    return _with(command, options)


def _session_choices(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--resume",
            "-r",
            metavar="ID",
            shell_complete=complete_sessions,
            help="Go on with a session: its id, or the beginning of it.",
        ),
        click.option(
            "--continue", "-c", "is_continued", is_flag=True, help="Go on with this directory's last session."
        ),
        click.option("--fork-session", is_flag=True, help="Leave the resumed session as it is; go on in a new one."),
        click.option("--session-id", metavar="ID", help="The id of the new session."),
        click.option("--no-session-persistence", is_flag=True, help="Write nothing to disk."),
    )
    return _with(command, options)


def _face_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--print", "-p", "is_print", is_flag=True, help="Answer the prompt and end."),
        click.option(
            "--output-format",
            type=click.Choice(OUTPUTS),
            default="text",
            show_default=True,
            help="The last message, one result object, or a line for each message.",
        ),
        click.option(
            "--input-format",
            type=click.Choice(("text", "stream-json")),
            default="text",
            show_default=True,
            help="One prompt as text, or prompts as JSON lines.",
        ),
        click.option("--include-partial-messages", is_flag=True, help="stream-json: also the answer as it grows."),
        click.option("--include-hook-events", is_flag=True, help="stream-json: also each hook that ran."),
        click.option(
            "--permission-prompts",
            type=click.Choice(("host", "none", "stdio")),
            help="Who is asked about calls: the program at the other end of stdio (stream-json both ways), or nobody.",
        ),
        click.option("--permission-prompt-tool", metavar="NAME", help="`stdio`, or mcp__SERVER__TOOL: that decides."),
        click.option("--dangerously-skip-permissions", is_flag=True, help="The mode bypassPermissions."),
        click.option("--plain", "--ax-screen-reader", "is_plain", is_flag=True, help="Interactive: lines, no screen."),
        click.option(
            "--allow-dangerously-skip-permissions", is_flag=True, help="bypassPermissions may be entered later."
        ),
        click.option("--init", "is_init", is_flag=True, help="First let Setup hooks prepare the project."),
        click.option("--init-only", is_flag=True, help="Let Setup and SessionStart hooks run, and end."),
        click.option("--maintenance", is_flag=True, help="First let Setup hooks with this trigger run."),
        click.option("--replay-user-messages", is_flag=True, help="stream-json: also the prompts that were sent."),
        click.option("--agents", metavar="JSON|FILE", help="More types of agents, each with description and prompt."),
        click.option("--verbose", is_flag=True, help="Say on standard error what happens, also without a terminal."),
        click.option("--debug", "-d", "is_debug", is_flag=True, help="Print debug messages on standard error."),
    )
    return _with(command, options)


def _host_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What programs start us with; `host_options` knows what each means."""
    options = (
        click.option("--agent", "main_agent", metavar="NAME", help="Be this kind of agent for the whole session."),
        click.option(
            "--plugin-dir", "plugin_dirs", multiple=True, metavar="DIR", help="Use the plugin in this folder."
        ),
        click.option("--plugin-dir-no-mcp", "bare_plugin_dirs", multiple=True, hidden=True),
        click.option("--betas", multiple=True, metavar="NAMES", help="Beta features of the Messages API."),
        click.option(
            "--thinking-display",
            type=click.Choice(("summarized", "omitted", "highlights")),
            help="How much of its thinking the model shows.",
        ),
        click.option("--task-budget", type=int, hidden=True),
        click.option("--resume-session-at", metavar="UUID", help="With --resume: forget what came after this message."),
        click.option("--resume-drops-turn", metavar="UUID", hidden=True),
        click.option("--initialize-fields", metavar="NAMES", hidden=True),
        click.option(
            "--session-mirror", is_flag=True, help="stream-json: also a copy of the conversation, told as it grows."
        ),
        click.option("--debug-to-stderr", is_flag=True, hidden=True),
        click.option("--debug-file", metavar="FILE", help="Write to this file what happens inside."),
    )
    return _with(command, options)


def _with(command: Callable[..., Any], options: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


@click.command("print", cls=_PrintCommand)
@click.argument("prompt", required=False)
@_face_options
@_model_options
@_session_choices
@_host_options
@session_options
def command(**given: Any) -> int:
    """Answer PROMPT with a model that works with the tools here, and end.

    What is piped in goes with the prompt (up to 1 MiB); without a PROMPT it is the prompt. Calls that no rule allows
    are refused unless somebody can be asked: allow them with --allowed-tools, --permission-mode or the settings.

    Exit code: 0 done, 1 the model failed or the run was stopped by a limit, 2 wrong use, 130 interrupted, 141 nobody
    reads the output any more.

    \b
    holdfast -p "What does this project do?"
    holdfast -p "Fix the failing test" --permission-mode acceptEdits --allowed-tools "Bash(pytest *)"
    git diff | holdfast -p "Review this" --output-format json | jq -r .result
    holdfast -p "And now the docs" --continue
    """  # noqa: D301 - click wants the character itself
    return answer_prompt(given)

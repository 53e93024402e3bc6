"""`holdfast -p PROMPT`: answer one prompt, or a stream of them, and end."""

import asyncio
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions
from holdfast.cli.completers import complete_models, complete_sessions
from holdfast.cli.options import session_options, to_options
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from holdfast.definitions.agents import AgentDefinition
    from holdfast.tui.launch import Launch

__all__ = ["command"]

Chosen = TypeVar("Chosen")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_MISSING = (
    "the interactive terminal needs {name!r}, which is not installed. Install it with "
    "`pip install prompt-toolkit rich`, or give a prompt to answer and end: `holdfast -p PROMPT`"
)


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
        return super().parse_args(ctx, _spread_lists(args))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        formatter.write_usage("holdfast", "-p PROMPT [OPTIONS]")


def _spread_lists(args: list[str]) -> list[str]:
    """Let `--allowedTools Read Edit` name several tools, as users write it: known tool names go with the option."""
    from holdfast.registry.names import ALIASES, BUILTIN_NAMES  # noqa: PLC0415 - only command lines need it

    spread: list[str] = []
    option: str | None = None
    for place, word in enumerate(args):
        if word == "--":
            return [*spread, *args[place:]]
        if word.startswith("-"):
            option = word if word in _LISTS else None
        elif option is not None and spread[-1] != option:
            name = word.partition("(")[0].rstrip(",")
            if name in BUILTIN_NAMES or name in ALIASES or name.startswith("mcp__"):
                spread.append(option)
            else:
                option = None
        spread.append(word)
    return spread


_LISTS = frozenset({"--allowed-tools", "--allowedTools", "--disallowed-tools", "--disallowedTools", "--tools"})


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
        click.option("--effort", type=click.Choice(_EFFORTS), help="How hard the model should try."),
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
    formats = ("text", "json", "stream-json")
    options = (
        click.option("--print", "-p", "is_print", is_flag=True, help="Answer the prompt and end."),
        click.option(
            "--output-format",
            type=click.Choice(formats),
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
        click.option("--include-hook-events", is_flag=True, help="stream-json: also each hook that was heard."),
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
        click.option("--debug", "-d", "is_debug", is_flag=True, help="Say on standard error what happens inside."),
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
def command(prompt: str | None, **given: Any) -> int:
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
    speaks_json = "stream-json" in (given["input_format"], given["output_format"])  # what hosts start us with
    if not (given["is_print"] or given["init_only"] or speaks_json):
        _skip_permissions(given)
        return _interactive(prompt, given)
    _skip_permissions(given)
    _for_host(given, "debug_to", given["debug_file"])
    from holdfast.cli.headless import Headless, Plan  # noqa: PLC0415 - wrong use is told before anything is loaded

    plan = Plan(
        prompt=prompt,
        options=_for_host(given, "with_host_session", to_options(given))._replace(
            may_bypass=given["allow_dangerously_skip_permissions"]
        ),
        agent=_agent_options(given),
        choice=_session_choice(given),
        output_format=given["output_format"],
        input_format=given["input_format"],
        has_partials=given["include_partial_messages"],
        asks_host=_asks_host(given),
        prompt_tool=_for_host(given, "prompt_tool", ""),
        verbose=given["verbose"],
        replays=given["replay_user_messages"],
        has_hook_lines=given["include_hook_events"],
        set_up=_set_up(given),
        is_only_set_up=given["init_only"],
    )
    return asyncio.run(Headless(plan).run())


def _set_up(given: dict[str, Any]) -> tuple[str, ...]:
    """What Setup hooks are told before the session begins."""
    init = ("init",) if given["is_init"] or given["init_only"] else ()
    return (*init, "maintenance") if given["maintenance"] else init


_OF_HOSTS = (
    "permission_prompt_tool",
    "main_agent", "plugin_dirs", "bare_plugin_dirs", "betas", "thinking_display", "task_budget", "resume_session_at",
    "resume_drops_turn", "session_mirror", "debug_file",
)  # fmt: skip


def _for_host(given: dict[str, Any], step: str, made: Chosen) -> Chosen:
    """What the options of hosts make of it; without any of them nothing is loaded for that."""
    if all(given[name] in (None, (), False) for name in _OF_HOSTS):
        return made
    from holdfast.cli import host_options  # noqa: PLC0415 - see above

    return getattr(host_options, step)(given, made)


def _skip_permissions(given: dict[str, Any]) -> None:
    if given["dangerously_skip_permissions"]:
        if given["permission_mode"] not in (None, "bypassPermissions"):
            raise UsageError("--dangerously-skip-permissions and another --permission-mode contradict each other")
        given["permission_mode"] = "bypassPermissions"


def _interactive(prompt: str | None, given: dict[str, Any]) -> int:
    try:
        from holdfast.tui.launch import Launch  # noqa: PLC0415 - only here, and it may not be installed
        from holdfast.tui.start import run_session  # noqa: PLC0415 - the same

        launch = Launch(
            to_options(given),
            _agent_options(given),
            _session_choice(given),
            prompt,
            plain=given["is_plain"],
            demo=_demo,
            set_up=_set_up(given),
        )
        return run_session(launch)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("prompt_toolkit", "rich", "wcwidth", "markdown_it", "pygments"):
            raise
        raise UsageError(_MISSING.format(name=error.name)) from error


def _demo() -> "AbstractContextManager[Launch]":
    from holdfast.cli.demo_session import demo_launch  # noqa: PLC0415 - only for who has no model

    return demo_launch()


def _agent_options(given: dict[str, Any]) -> AgentOptions:
    schema = given["json_schema"]
    agent = AgentOptions(
        model=given["model"],
        fallback_model=given["fallback_model"],
        system_prompt=_text(given, "system_prompt"),
        append_system_prompt=_text(given, "append_system_prompt"),
        max_turns=given["max_turns"],
        max_budget_usd=given["max_budget_usd"],
        thinking=_thinks(given),
        effort=given["effort"],
        output_schema=None if schema is None else _schema(schema),
        agents=_agents(given["agents"]),
    )
    return _for_host(given, "with_host_agent", agent)


def _thinks(given: dict[str, Any]) -> bool:
    """Whether the model should think: what the command line says, else the variable that hosts set."""
    if given["thinking"] is not None:
        return given["thinking"] != "disabled"
    if given["max_thinking_tokens"] is not None:
        return given["max_thinking_tokens"] > 0
    tokens = os.environ.get("MAX_THINKING_TOKENS", "")
    return tokens.isascii() and tokens.isdigit() and int(tokens) > 0


def _text(given: dict[str, Any], name: str) -> str | None:
    if given[f"{name}_file"] is None:
        return given[name]
    from holdfast.cli.given_texts import text_or_file  # noqa: PLC0415 - only with the option

    return text_or_file(given, name)


def _agents(text: str | None) -> "tuple[AgentDefinition, ...]":
    if not text:
        return ()
    from holdfast.cli.given_texts import agents_of_text  # noqa: PLC0415 - only with the option

    return agents_of_text(text)


def _session_choice(given: dict[str, Any]) -> SessionChoice:
    if given["is_continued"] and given["resume"]:
        raise UsageError("--continue and --resume contradict each other; give one of them")
    choice = SessionChoice(
        resume="latest" if given["is_continued"] else given["resume"],
        fork=given["fork_session"],
        session_id=given["session_id"],
        is_kept=not given["no_session_persistence"],
    )
    return _for_host(given, "with_host_choice", choice)


def _asks_host(given: dict[str, Any]) -> bool:
    tool, who = given["permission_prompt_tool"], given["permission_prompts"]
    asks = who in ("host", "stdio") or (tool == "stdio" and who != "none")
    if asks and (given["input_format"], given["output_format"]) != ("stream-json", "stream-json"):
        raise UsageError("questions over stdio need --input-format stream-json and --output-format stream-json")
    return asks


def _schema(text: str) -> dict[str, Any]:
    from holdfast.cli.given_texts import schema_of_text  # noqa: PLC0415 - only with the option

    return schema_of_text(text)

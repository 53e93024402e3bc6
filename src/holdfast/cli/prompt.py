"""What `holdfast -p PROMPT` and `holdfast` do with their options, however those were read."""

import asyncio
import os
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions
from holdfast.cli.options import to_options
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from holdfast.definitions.agents import AgentDefinition
    from holdfast.tui.launch import Launch

__all__ = ["answer_prompt"]

Chosen = TypeVar("Chosen")
_MISSING = (
    "the interactive terminal needs {name!r}, which is not installed. Install it with "
    "`pip install prompt-toolkit rich`, or give a prompt to answer and end: `holdfast -p PROMPT`"
)


def answer_prompt(given: dict[str, Any]) -> int:
    """Answer and end, or begin an interactive session; returns the exit code."""
    moved = _moved(given)
    speaks_json = "stream-json" in (given["input_format"], given["output_format"])  # what hosts start us with
    if not (given["is_print"] or given["init_only"] or speaks_json):
        _skip_permissions(given)
        return _interactive(given)
    _skip_permissions(given)
    _for_host(given, "debug_to", given["debug_file"])
    from holdfast.cli.headless import Headless, Plan  # noqa: PLC0415 - wrong use is told before anything is loaded

    plan = Plan(
        prompt=given["prompt"],
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
        moved=moved,
    )
    return asyncio.run(Headless(plan).run())


def _moved(given: dict[str, Any]) -> tuple[str, ...]:
    """Which limits the first request of the host will bring; a run without one must not begin."""
    names = tuple(name for name in (given["initialize_fields"] or "").split(",") if name)
    if names and given["input_format"] != "stream-json":
        raise UsageError("--initialize-fields needs --input-format stream-json: what it names comes with a line")
    return names


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


def _interactive(given: dict[str, Any]) -> int:
    try:
        from holdfast.tui.launch import Launch  # noqa: PLC0415 - only here, and it may not be installed
        from holdfast.tui.start import run_session  # noqa: PLC0415 - the same

        launch = Launch(
            to_options(given),
            _agent_options(given),
            _session_choice(given),
            given["prompt"],
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


_GREAT_EFFORT = ("high", "xhigh", "max")


def _thinks(given: dict[str, Any]) -> bool:
    """Whether the model should think: the command line says it, else the variable that hosts set, else great effort."""
    if given["thinking"] is not None:
        return given["thinking"] != "disabled"
    if given["max_thinking_tokens"] is not None:
        return given["max_thinking_tokens"] > 0
    tokens = os.environ.get("MAX_THINKING_TOKENS", "")
    if tokens.isascii() and tokens.isdigit():
        return int(tokens) > 0
    return given["effort"] in _GREAT_EFFORT  # some models know nothing else that effort could mean


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

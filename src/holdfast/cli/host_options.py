"""What the options mean that programs start us with, and few people do."""

import logging
import os
from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.cli.options import tell
from holdfast.contract.errors import UsageError

__all__ = ["debug_to", "prompt_tool", "with_host_agent", "with_host_choice", "with_host_session", "with_told_plugins"]

_NOT_DONE = {
    "--task-budget": "task_budget",
}


def with_host_agent(given: dict[str, Any], agent: AgentOptions) -> AgentOptions:
    """The agent as these options want it; what this version does not do is said."""
    for option, name in _NOT_DONE.items():
        if given[name] not in (None, (), False):
            tell(f"this version does nothing with {option}")
    display = given["thinking_display"]
    if display == "highlights":
        tell("--thinking-display highlights is for sessions that the provider hosts; its thinking is summarized here")
        display = None
    return agent._replace(main_agent=given["main_agent"], thinking_display=display)


def with_host_session(given: dict[str, Any], options: Options) -> Options:
    """The session as these options want it.

    Raises:
        UsageError: A plugin is none.
    """
    options = options._replace(mirror=given["session_mirror"])
    if given["plugin_dirs"] or given["bare_plugin_dirs"]:
        is_lenient = given["output_format"] == "stream-json"
        options = with_told_plugins(options, given["plugin_dirs"], given["bare_plugin_dirs"], is_lenient=is_lenient)
    betas = ",".join(name for text in given["betas"] for name in text.split(",") if name)
    if not betas:
        return options
    wanted = {"modelOptions": {"anthropic": {"headers": {"anthropic-beta": betas}}}}
    return options._replace(settings=(*options.settings, msgspec.json.encode(wanted).decode()))


def with_told_plugins(
    options: Options, folders: Sequence[str], without_servers: Sequence[str], *, is_lenient: bool
) -> Options:
    """The session with the plugins in these folders; what is not used of them is said.

    Raises:
        UsageError: One of them is none. A host that names a folder which is not there goes on, and is told.
    """
    from holdfast.app.plugins import with_plugins  # noqa: PLC0415 - few sessions have any

    for folder, has_servers in [*((one, True) for one in folders), *((one, False) for one in without_servers)]:
        before = options.plugins
        try:
            options = with_plugins(options, [folder] if has_servers else [], [] if has_servers else [folder])
        except UsageError as error:
            if not is_lenient or os.path.lexists(folder):  # what is there may hold a gate
                raise
            tell(str(error))  # a host goes on without it, and reads of it in the first line
            options = options._replace(lost_plugins=(*options.lost_plugins, (folder, str(error))))
        for plugin in options.plugins[len(before) :]:
            if plugin.unused:
                tell(f"this version does nothing with these of the plugin {plugin.name}: {', '.join(plugin.unused)}")
    return options


def with_host_choice(given: dict[str, Any], choice: SessionChoice) -> SessionChoice:
    """Where to go on in a resumed session.

    Raises:
        UsageError: Nothing is resumed, or only the second half of the wish is there.
    """
    at, drops = given["resume_session_at"], given["resume_drops_turn"]
    if drops is not None and not at:
        raise UsageError("--resume-drops-turn says what --resume-session-at leaves out; give both")
    if at and choice.resume is None:
        raise UsageError("--resume-session-at needs a session; add --resume ID or --continue")
    return choice._replace(until=at or None, drops=drops)


def debug_to(given: dict[str, Any], path: str | None) -> None:
    """Write everything that our loggers say to a file of the user's choice, too.

    Raises:
        UsageError: It cannot be written.
    """
    del given
    if not path:
        return
    from holdfast.session.log import SafeFormatter  # noqa: PLC0415 - only where somebody looks inside
    from holdfast.session.redact import Redactor, secrets_in_environment  # noqa: PLC0415 - the same

    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"--debug-file {path!r} cannot be written: {error.strerror}") from error
    handler = logging.StreamHandler(os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace"))
    handler.setFormatter(SafeFormatter(Redactor(secrets_in_environment())))
    logging.getLogger().addHandler(handler)
    logging.getLogger("holdfast").setLevel(logging.DEBUG)
    logging.getLogger(__name__).debug("this file was asked for")


def prompt_tool(given: dict[str, Any], made: str) -> str:
    """The tool of an MCP server that decides questions; nobody does where --permission-prompts says so.

    Raises:
        UsageError: Somebody else shall be asked, too.
    """
    tool, who = given["permission_prompt_tool"], given["permission_prompts"]
    if tool in (None, "stdio") or who == "none":
        return made
    if who is not None:
        raise UsageError("--permission-prompts and the tool of --permission-prompt-tool contradict each other")
    return tool

"""The usual command lines, read without the command-line library: its loading is a tenth of the way to a first request.

What is read here is what that library reads, option by option; a test holds both equal. Anything else, mistakes, help
and rare options among them, is left to it.
"""

import os
from collections.abc import Collection
from typing import Any

__all__ = ["EFFORTS", "OUTPUTS", "read_exec", "read_prompt", "spread_lists"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
OUTPUTS = ("text", "json", "stream-json")

_SHARED: dict[str, Any] = {
    **dict.fromkeys(("cwd", "permission_mode", "setting_sources")),
    **dict.fromkeys(("allowed_tools", "disallowed_tools", "tools", "add_dirs", "settings", "mcp_config"), ()),
    "strict_mcp_config": False,
}
_EXEC = {"events": False, "ask": None, **_SHARED}
_PROMPT: dict[str, Any] = {
    **dict.fromkeys((
        "prompt", "permission_prompts", "permission_prompt_tool", "agents", "model", "fallback_model", "effort",
        "thinking", "max_thinking_tokens", "max_turns", "max_budget_usd", "system_prompt", "append_system_prompt",
        "system_prompt_file", "append_system_prompt_file", "json_schema", "resume", "session_id", "main_agent",
        "thinking_display", "task_budget", "resume_session_at", "resume_drops_turn", "debug_file",
        "initialize_fields",
    )),
    **dict.fromkeys((
        "is_print", "include_partial_messages", "include_hook_events", "dangerously_skip_permissions", "is_plain",
        "allow_dangerously_skip_permissions", "is_init", "init_only", "maintenance", "replay_user_messages",
        "verbose", "is_debug", "is_continued", "fork_session", "no_session_persistence", "session_mirror",
        "debug_to_stderr",
    ), False),
    **dict.fromkeys(("plugin_dirs", "bare_plugin_dirs", "betas"), ()),
    "output_format": "text",
    "input_format": "text",
    **_SHARED,
}  # fmt: skip
"""What holds where nothing is said."""
_FLAGS = {
    "-p": "is_print",
    "--print": "is_print",
    "--continue": "is_continued",
    "-c": "is_continued",
    "--verbose": "verbose",
    "--dangerously-skip-permissions": "dangerously_skip_permissions",
    "--no-session-persistence": "no_session_persistence",
    "--plain": "is_plain",
}
_TEXTS = {
    "--model": "model",
    "--fallback-model": "fallback_model",
    "--append-system-prompt": "append_system_prompt",
    "--system-prompt": "system_prompt",
    "--resume": "resume",
    "-r": "resume",
}
_CHOICES = {"--permission-mode": "permission_mode", "--output-format": "output_format", "--effort": "effort"}
_LISTS = {
    **dict.fromkeys(("--allowed-tools", "--allowedTools"), "allowed_tools"),
    **dict.fromkeys(("--disallowed-tools", "--disallowedTools"), "disallowed_tools"),
    "--tools": "tools",
    "--add-dir": "add_dirs",
    "--settings": "settings",
    "--mcp-config": "mcp_config",
}


def read_exec(words: list[str]) -> dict[str, Any] | None:
    """What `holdfast exec` is asked for; None where the command-line library has to read it."""
    return {**_EXEC} if words == ["exec"] and _is_ours() else None


def read_prompt(words: list[str]) -> dict[str, Any] | None:
    """What `holdfast -p PROMPT` or `holdfast` is asked for; None where the command-line library has to read it."""
    if not _is_ours() or (words and words[0][:1] != "-"):
        return None
    if any(word.endswith("stream-json") for word in words):  # a program starts us
        return None
    said: dict[str, Any] = {}
    rest = iter(spread_lists(words) if not _LISTS.keys().isdisjoint(words) else words)
    for word in rest:
        if word in _FLAGS:
            said[_FLAGS[word]] = True
        elif word[:1] == "-":
            value = next(rest, "")
            if not value or value[0] == "-" or not _take(word, value, said):
                return None
        elif not word or "prompt" in said:
            return None
        else:
            said["prompt"] = word
    return {**_PROMPT, **said}


def _take(option: str, value: str, said: dict[str, Any]) -> bool:
    """Whether this option is known here, may have this value, and was not said before."""
    if option in _LISTS:
        name = _LISTS[option]
        said[name] = (*said.get(name, ()), value)
        return True
    name = _TEXTS.get(option) or _CHOICES.get(option)
    if name is None or name in said or (option in _CHOICES and value not in _choices(name)):
        return False
    said[name] = value
    return True


def _choices(name: str) -> Collection[str]:
    from holdfast.contract.names import MODE_ALIASES, MODES  # noqa: PLC0415 - help needs no modes

    return {"permission_mode": (*MODES, *MODE_ALIASES), "output_format": OUTPUTS, "effort": EFFORTS}[name]


def _is_ours() -> bool:
    """Not where a shell asks for completions, or where the library makes names of files from patterns."""
    return "_HOLDFAST_COMPLETE" not in os.environ and os.name == "posix"


def spread_lists(args: list[str]) -> list[str]:
    """Let `--allowedTools Read Edit` name several tools, as users write it: known tool names go with the option."""
    from holdfast.registry.names import ALIASES, BUILTIN_NAMES  # noqa: PLC0415 - only command lines need it

    spread: list[str] = []
    option: str | None = None
    for place, word in enumerate(args):
        if word == "--":
            return [*spread, *args[place:]]
        if word.startswith("-"):
            option = word if word in _TOOL_LISTS else None
        elif option is not None and spread[-1] != option:
            name = word.partition("(")[0].rstrip(",")
            if name in BUILTIN_NAMES or name in ALIASES or name.startswith("mcp__"):
                spread.append(option)
            else:
                option = None
        spread.append(word)
    return spread


_TOOL_LISTS = frozenset({"--allowed-tools", "--allowedTools", "--disallowed-tools", "--disallowedTools", "--tools"})

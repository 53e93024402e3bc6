"""What the options mean that every command which runs tools shares, and words on standard error."""

import os
import sys
from typing import Any

from holdfast.app import Options, Rights
from holdfast.lib.visible import without_controls
from holdfast.registry.names import ALIASES, BUILTIN_NAMES, PRESETS
from holdfast.settings.sources import split_tool_list

__all__ = ["say", "tell", "to_options", "warn"]


_KNOWN = frozenset({"default", *PRESETS, *BUILTIN_NAMES, *ALIASES})


def to_options(given: dict[str, Any]) -> Options:
    """The shared options as the composition root wants them."""
    for directory in given["add_dirs"]:
        if not os.path.isdir(os.path.join(given["cwd"] or "", os.path.expanduser(directory))):
            say(f"holdfast: --add-dir {directory!r} is not a directory, so it adds nothing")
    tools = tuple(name for text in given["tools"] for name in split_tool_list(text))
    for name in tools:
        if name not in _KNOWN and not name.startswith("mcp__"):
            say(f"holdfast: --tools {name!r} is not a tool; `holdfast tools` lists them")
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


def say(text: str) -> None:
    """Say a line on standard error at once."""
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def tell(text: str) -> None:
    """Say something on standard error, in words that no terminal obeys."""
    say(f"holdfast: {without_controls(text)}")


def warn(rights: Rights) -> None:
    """Say on standard error what does not count, and what an untrusted folder brings."""
    for line in rights.warnings():
        say(f"holdfast: {line}")
    untrusted = rights.left_out()
    if untrusted:
        say(f"holdfast: {untrusted}")

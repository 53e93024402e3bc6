"""What a user may choose for a session, on the command line or in code."""

from typing import NamedTuple

from holdfast.contract import Tool

__all__ = ["Options"]


class Options(NamedTuple):
    """The choices that every way of starting Holdfast shares."""

    cwd: str | None = None
    permission_mode: str | None = None
    """None: what the settings say."""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """Only these tools, by any of their names."""
    add_dirs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Settings files, or JSON text."""
    setting_sources: str | None = None
    """Which of user, project and local to read."""
    own_tools: tuple[Tool, ...] = ()

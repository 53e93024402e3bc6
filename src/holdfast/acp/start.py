"""`holdfast acp` without further words, as most editors start it: no more is loaded than the first answer needs."""

import asyncio
from typing import TYPE_CHECKING

from holdfast.acp.serve import serve
from holdfast.session.log import configure_logging
from holdfast.settings.directories import user_directories

if TYPE_CHECKING:
    from holdfast.app.options import AgentOptions, Options

__all__ = ["run_for_editor"]


def run_for_editor() -> int:
    """Serve the editor with what its environment and the settings say; returns the exit code."""
    configure_logging(debug=False, directory=user_directories().state)
    try:
        return asyncio.run(serve(_choices))
    except KeyboardInterrupt:
        return 130


def _choices() -> "tuple[Options, AgentOptions]":
    from holdfast.app.options import AgentOptions, Options  # noqa: PLC0415 - the editor's first question comes before

    return Options(), AgentOptions()

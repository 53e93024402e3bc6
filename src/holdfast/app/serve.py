"""Our tools as an MCP server: a session with everything that holds elsewhere, and the service that clients speak to."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from holdfast import __version__
from holdfast.app.build import OpenSession, open_session
from holdfast.app.options import Options
from holdfast.app.servers import join_servers
from holdfast.contract import SessionFacts, UsageError
from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.mcp.serve.approver import Approver
from holdfast.mcp.serve.calls import ToolCalls
from holdfast.mcp.serve.service import Changes, Service
from holdfast.settings import SettingsRoots
from holdfast.settings.directories import private_directory, user_directories

__all__ = ["Served", "served", "token_path"]

_INSTRUCTIONS = (
    "These tools work on the user's machine, in one directory that is shared by all calls. Every call is checked "
    "against the user's rules; a call that needs permission may be asked about, and a refusal says what would help. "
    "Read a file before you change it."
)


class Served(NamedTuple):
    """A session that is being served."""

    opened: OpenSession
    service: Service
    ended: "asyncio.Task[None]"
    """Ends, with what went wrong, only when the session cannot go on."""


@asynccontextmanager
async def served(
    options: Options, *, approver: str | None = None, on_notice: Callable[[str], None] | None = None
) -> AsyncGenerator[Served]:
    """Open a session for clients, and close it at the end.

    Only servers that `--mcp-config` names are joined: those configured elsewhere may well contain this very server.

    Args:
        options: What was chosen at the start.
        approver: A command that answers questions when a client cannot; the setting `mcp.serve.approver` if omitted.
        on_notice: Told in words what a person should know.
    """
    calls = ToolCalls()
    async with open_session(options, asker=calls) as opened:
        calls.use(opened.executor)
        runner = _runner(opened)
        command = approver if approver is not None else _configured(opened)
        calls.approver = None if not command else Approver(command, runner, lambda: _about(opened))
        changes = Changes()
        if options.mcp_config:
            await join_servers(opened, options._replace(strict_mcp_config=True), on_notice=on_notice)
            opened.on_tools = lambda: changes.tell("notifications/tools/list_changed")
        service = Service(
            {"name": "holdfast", "title": "Holdfast", "version": __version__},
            {"tools/list": calls.list, "tools/call": calls.call},
            {"tools": {"listChanged": True}},
            changes,
            _INSTRUCTIONS,
            calls.schema_of,
        )
        reading = asyncio.create_task(calls.read_replies())
        try:
            yield Served(opened, service, reading)
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([reading])
            await runner.close()


def token_path() -> str:
    """Where the token of this user's server is kept."""
    directory = os.path.join(user_directories().state, "mcp")
    private_directory(directory)
    return os.path.join(directory, "serve-token")


def _configured(opened: OpenSession) -> str | None:
    found = opened.rights.settings.get("mcp.serve.approver")
    if found is not None and not isinstance(found, str):
        raise UsageError(f"the setting mcp.serve.approver must be a command, not {found!r}")
    return found


def _runner(opened: OpenSession) -> CommandRunner:
    around = Surroundings(
        project_dir=opened.rights.settings.root, config_dir=SettingsRoots.from_environment().user_existing
    )
    return CommandRunner(lambda: opened.shell.board.processes, around)


def _about(opened: OpenSession) -> tuple[SessionFacts, str, str]:
    state = opened.executor.state
    return state.session, state.cwd, state.permissions.mode

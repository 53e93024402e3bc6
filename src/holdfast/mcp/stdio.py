"""A server as a child process: one message a line. Started, watched and ended like every process of a session."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from holdfast.host.command import Command, StartError, Stdin
from holdfast.host.line_reader import LineReader
from holdfast.host.process import Process
from holdfast.host.processes import Processes
from holdfast.lib.visible import visible
from holdfast.mcp.session import Session
from holdfast.mcp.wire import McpError

__all__ = ["MAX_MESSAGE_BYTES", "StdioTransport", "start_stdio", "stdio_command"]

_log = logging.getLogger(__name__)
MAX_MESSAGE_BYTES = 32 << 20
_STDERR_KEPT_BYTES = 32 << 10
_STDERR_SHOWN_CHARS = 500
_CLOSE_GRACE_S = 0.5


class StdioTransport:
    """The pipes of one server."""

    def __init__(self, session: Session, process: Process) -> None:
        self._session = session
        self._process = process
        self._ending: asyncio.Task[None] | None = None
        self._lines = LineReader(MAX_MESSAGE_BYTES, session.take, self._too_long)
        process.stdout_stream().follow(self._feed)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        return self._process.pid

    async def send(self, message: bytes, *, key: int | None, method: str, params: Mapping[str, Any] | None) -> None:
        """Write one line."""
        del key, method, params
        try:
            await self._process.write(message + b"\n")
        except BrokenPipeError as error:
            await self._process.wait_at_most(_CLOSE_GRACE_S)
            self._session.lost(self._how_it_ended())
            raise McpError(f"The MCP server {self._session.name!r} {self._how_it_ended()}.") from error

    def abandon(self, key: int) -> bool:
        """The server must be told by a message."""
        del key
        return False

    async def close(self) -> None:
        """End its input, as the protocol wants, then whatever is left of it."""
        if self._ending is not None and asyncio.current_task() is not self._ending:
            self._ending.cancel()
        self._process.close_stdin()
        await self._process.wait_at_most(_CLOSE_GRACE_S)
        await self._process.kill_tree()

    def _feed(self, data: bytes) -> None:
        if data:
            self._lines.feed(data)
        else:
            self._lines.finish()
            self._ending = asyncio.ensure_future(self._ended())

    async def _ended(self) -> None:
        """Its output ends a moment before it does: how it ended is worth the wait."""
        await self._process.wait_at_most(_CLOSE_GRACE_S)
        self._session.lost(self._how_it_ended())

    def _too_long(self, head: bytes, tail: bytes, length: int) -> None:
        limit = MAX_MESSAGE_BYTES >> 20
        self._session.broken(head, tail, f"its answer has {length:,} bytes, and at most {limit} MiB are read")

    def _how_it_ended(self) -> str:
        ended = self._process.exit
        how = "closed its output" if ended is None else f"ended with code {ended.shell_code}"
        said = self._process.output.stderr.last_lines(5).strip()
        return f"{how}; it said: {visible(said, limit_chars=_STDERR_SHOWN_CHARS)}" if said else how


def stdio_command(name: str, argv: list[str], *, cwd: str, env: Mapping[str, str], log_path: str | None) -> Command:
    """How a server is started; what it writes to stderr goes to a log with a bound."""
    return Command(
        argv=argv,
        cwd=cwd,
        env=dict(env),
        stdin=Stdin.PIPE,
        streams_stdout=True,
        spill_path=log_path,
        kept_bytes=_STDERR_KEPT_BYTES,
        cap_bytes=8 << 20,
        label=f"MCP server {name}",
    )


async def start_stdio(session: Session, processes: Processes, command: Command) -> StdioTransport:
    """Start the server and connect the session to it.

    Raises:
        McpError: It cannot be started.
    """
    try:
        process = await processes.start(command)
    except StartError as error:
        raise McpError(f"The MCP server {session.name!r} cannot be started: {error}") from error
    transport = StdioTransport(session, process)
    session.transport = transport
    return transport

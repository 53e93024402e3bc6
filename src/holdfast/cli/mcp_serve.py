"""`holdfast mcp serve`: our tools for any program that speaks MCP, over pipes or on an address."""

import asyncio
import signal
import sys

from holdfast.app import Options
from holdfast.app.serve import Served, served
from holdfast.cli.options import tell, warn
from holdfast.contract import Fatal, UsageError
from holdfast.host.stdio import InputLine, LineReader, LineWriter
from holdfast.mcp.serve.peer import Peer
from holdfast.mcp.wire import PARSE_ERROR, error_bytes, id_in, read_line

__all__ = ["serve_stdio"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGINT,)
_GRACE_S = 10.0
"""Clients that want us gone after they ended our input send a signal; who only reads gets what still works."""
_STILL_S = 1.0


async def serve_stdio(options: Options, approver: str | None) -> int:
    """Serve one client on standard input and output; returns the exit code."""
    return await _Stdio(options, approver).run()


class _Stdio:
    """One client, on standard input and output. Nothing else is written there."""

    def __init__(self, options: Options, approver: str | None) -> None:
        self._options = options
        self._approver = approver
        self._writer = LineWriter()
        self._exit_code = 0
        self._main: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Serve until standard input ends, a signal comes or nobody reads any more."""
        if sys.stdin.isatty():
            tell("this is an MCP server and waits for a client's messages on standard input; Ctrl-D ends it")
        loop = asyncio.get_running_loop()
        self._writer.start(loop, on_broken=lambda: self._quit(141))
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._quit, 128 + number)
        try:
            async with served(self._options, approver=self._approver, on_notice=tell) as session:
                warn(session.opened.rights)
                session.ended.add_done_callback(self._ended)
                self._main = asyncio.create_task(self._serve(session))
                await asyncio.wait([self._main])
                if not self._main.cancelled():
                    self._main.result()
        finally:
            await self._writer.close()
        return self._exit_code

    async def _serve(self, session: Served) -> None:
        peer = Peer(session.service, lambda out: self._writer.write(out.data))
        try:
            async for line in LineReader(asyncio.get_running_loop()):
                if not line.is_blank:
                    self._take(peer, line)
                await self._writer.drained()
            await peer.wait(_GRACE_S)  # a script that has written all its requests still gets its answers
        finally:
            await peer.close()

    def _take(self, peer: Peer, line: InputLine) -> None:
        text = b""
        try:
            text = line.text()
            messages = read_line(text)
        except UsageError as error:
            self._writer.write(error_bytes(None, PARSE_ERROR, str(error)))
        except ValueError as error:
            self._writer.write(error_bytes(id_in(text), PARSE_ERROR, f"this line is not a message: {error}"))
        else:
            for message in messages:
                peer.take(message)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and isinstance(task.exception(), Fatal):
            tell(str(task.exception()))
            self._quit(1)

    def _quit(self, code: int) -> None:
        if self._exit_code:
            self._writer.abandon()
        else:
            self._writer.give_up_on_a_still_reader(_STILL_S)
        self._exit_code = self._exit_code or code
        if self._main is not None:
            self._main.cancel()

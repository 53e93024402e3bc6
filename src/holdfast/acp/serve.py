"""Standard input and output as the connection to an editor, until it hangs up."""

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.acp.server import AgentServer
from holdfast.contract.errors import UsageError
from holdfast.host.stdio import LineReader, LineWriter

if TYPE_CHECKING:
    from holdfast.app.options import AgentOptions, Options

__all__ = ["serve"]

_SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


async def serve(choices: "Callable[[], tuple[Options, AgentOptions]]") -> int:
    """Answer the editor; returns the exit code when it is gone or a signal came."""
    loop = asyncio.get_running_loop()
    writer = LineWriter()
    server = AgentServer(writer.write, choices)
    reading = asyncio.create_task(_read(server, LineReader(loop)))
    ended_by: list[int] = []

    def stop(code: int) -> None:
        ended_by.append(code)
        reading.cancel()

    writer.start(loop, on_broken=lambda: stop(141))
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, 128 + number)
    await asyncio.wait([reading])
    await server.close()
    if ended_by:
        writer.give_up_on_a_still_reader(1.0)
    await writer.close()
    return ended_by[0] if ended_by else 0


async def _read(server: AgentServer, lines: LineReader) -> None:
    async for line in lines:
        if line.is_blank:
            continue
        try:
            text = line.text()
        except UsageError as error:
            server.peer.refuse_line(str(error))
        else:
            server.peer.take(text)

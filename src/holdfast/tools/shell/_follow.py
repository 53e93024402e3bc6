"""Follow a running command: progress while it runs, and a word when it should go on without us."""

import asyncio
from typing import Any, Literal

from holdfast.contract import ToolContext
from holdfast.host.capture import Capture
from holdfast.host.command import Exit
from holdfast.host.process import Process

__all__ = ["PROGRESS_AFTER_S", "Follower", "Leave"]

Leave = Literal["timeout", "user", "automatic"]
"""Why we stop waiting although the command runs."""

PROGRESS_AFTER_S = 2.0
_PROGRESS_EVERY_S = 1.0
_RECENT_BYTES = 4096


class Follower:
    """Waits for one command in the foreground."""

    def __init__(self, process: Process, ctx: ToolContext, *, limit_s: float, automatic_s: float | None = None) -> None:
        self._process = process
        self._ctx = ctx
        self._limit_s = limit_s
        self._automatic_s = automatic_s
        self._is_let_go = False
        self._timeout: asyncio.Timeout | None = None
        self._told = (0, 0)

    def let_go(self) -> None:
        """The user wants the command to go on in the background."""
        self._is_let_go = True
        if self._timeout is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time())

    async def follow(self) -> Exit | Leave:
        """Wait for the end, or for a reason to leave. Cancelled, it ends the whole tree before it returns."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + self._limit_s
        automatic = float("inf") if self._automatic_s is None else began + self._automatic_s
        report_at = began + PROGRESS_AFTER_S
        while True:
            ended = await self._wait_until(min(deadline, automatic, report_at))
            if ended is not None:
                return ended
            now = loop.time()
            if self._is_let_go:
                return "user"
            if now >= deadline:
                return "timeout"
            if now >= automatic:
                return "automatic"
            self._report()
            report_at = now + _PROGRESS_EVERY_S

    async def _wait_until(self, moment: float) -> Exit | None:
        try:
            async with asyncio.timeout_at(moment) as self._timeout:
                return await self._process.wait()
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            await self._process.kill_tree()
            raise

    def _report(self) -> None:
        process = self._process
        progress = process.progress()
        streams = (process.output.stdout, process.output.stderr)
        fresh = "".join(_since(stream, told) for stream, told in zip(streams, self._told, strict=True))
        self._told = (streams[0].total_bytes, streams[1].total_bytes)
        report: dict[str, Any] = {
            "type": "bash_progress",
            "output": fresh,
            "fullOutput": progress.recent,
            "elapsedTimeSeconds": int(progress.elapsed_s),
            "totalLines": progress.line_count,
            "totalBytes": progress.total_bytes,
        }
        self._ctx.progress(report)


def _since(capture: Capture, told_bytes: int) -> str:
    """What came since, at most its last few thousand bytes."""
    count = min(capture.total_bytes - told_bytes, _RECENT_BYTES)
    return (capture.head[-count:] + capture.tail)[-count:].decode("utf-8", "ignore") if count else ""

"""Follow a running command: progress while it runs, and a word when it should go on without us."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, cast

from holdfast.contract import ToolContext
from holdfast.host.capture import Capture
from holdfast.host.command import Exit
from holdfast.host.process import Process

__all__ = ["PROGRESS_AFTER_S", "Followed", "Follower", "Leave", "progress_line"]

Leave = Literal["timeout", "user", "automatic"]
"""Why we stop waiting although the command runs."""

PROGRESS_AFTER_S = 2.0
_PROGRESS_EVERY_S = 1.0
_RECENT_BYTES = 4096


class Followed:
    """The commands in the foreground, by their calls. One timer serves all: waiting for a command costs none."""

    def __init__(self) -> None:
        self._by_call: dict[str, Follower] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self, key: str) -> "Follower | None":
        """The command of a call."""
        return self._by_call.get(key)

    async def follow(self, key: str, follower: "Follower") -> Exit | Leave:
        """Wait for the end of a command, or for a reason to leave it."""
        self._by_call[key] = follower
        try:
            return await follower.follow(self)
        finally:
            if self._by_call.get(key) is follower:
                del self._by_call[key]

    def expect(self, moment: float) -> None:
        """Somebody wants to be woken at this time of the loop's clock."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._timer = loop, None
        if self._timer is None or self._timer.when() > moment:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(moment, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for follower in list(self._by_call.values()):
            if follower.moment <= now:
                follower.wake()
            else:
                self.expect(follower.moment)


class Follower:
    """Waits for one command in the foreground."""

    moment = float("inf")
    """When it wants to be woken."""

    def __init__(self, process: Process, ctx: ToolContext, *, limit_s: float, automatic_s: float | None = None) -> None:
        self._process = process
        self._ctx = ctx
        self._limit_s = limit_s
        self._automatic_s = automatic_s
        self._is_let_go = False
        self._waiter: asyncio.Future[None] | None = None
        self._told = (0, 0)

    def let_go(self) -> bool:
        """The user wants the command to go on in the background; false where there is none."""
        if self._ctx.session.prompt.background:
            self._is_let_go = True
            self.wake()
        return self._is_let_go

    def wake(self) -> None:
        """Something is to be looked at."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def follow(self, others: Followed) -> Exit | Leave:
        """Wait for the end, or for a reason to leave. Cancelled, it ends the whole tree before it returns."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + self._limit_s
        automatic = float("inf") if self._automatic_s is None else began + self._automatic_s
        report_at = began + PROGRESS_AFTER_S
        while True:
            self.moment = min(deadline, automatic, report_at)
            others.expect(self.moment)
            ended = await self._wait()
            if ended is not None:
                return ended
            now = loop.time()
            if self._is_let_go:
                return "user"
            if now >= deadline:
                return "timeout"
            if now >= automatic:
                return "automatic"
            if now >= report_at:
                self._report()
                report_at = now + _PROGRESS_EVERY_S

    async def _wait(self) -> Exit | None:
        """Until the end, or until somebody wakes us."""
        process = self._process
        waiter = self._waiter = process.waiter()
        try:
            await waiter
            return await process.wait() if process.is_finished else None
        except asyncio.CancelledError:
            await process.kill_tree()
            raise
        finally:
            process.forget_waiter(waiter)

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


def progress_line(report: Any) -> str:
    """A report for people: how many lines the command wrote so far, and the last of them."""
    if not isinstance(report, Mapping):
        return str(report)
    told = cast("Mapping[str, Any]", report)
    lines = str(told.get("fullOutput") or "").rstrip().splitlines()
    count = told.get("totalLines")
    text = lines[-1] if lines else "no output so far"
    return f"{count:,} lines: {text}" if isinstance(count, int) and count > 1 else text

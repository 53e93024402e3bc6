"""Time limits of running calls: one timer for the whole executor, so that a limit costs a call next to nothing."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf

from holdfast.engine.call import Call

__all__ = ["Deadlines"]


class Deadlines:
    """Calls `overdue(call, seconds)` for each running call whose time is up."""

    __slots__ = ("_alarm", "_default_s", "_overdue", "_rings_at", "_running")

    def __init__(
        self, running: Iterable[Call], overdue: Callable[[Call, float], None], default_s: float | None = None
    ) -> None:
        self._running = running
        self._default_s = default_s
        self._overdue = overdue
        self._alarm: asyncio.TimerHandle | None = None
        self._rings_at = inf

    def start(self, call: Call) -> None:
        """The tool begins to work now; its own limit, else the default, counts from here."""
        loop = asyncio.get_running_loop()
        call.acting_since = now = loop.time()
        assert call.tool is not None
        limit_s = call.tool.timeout_s
        if limit_s is None:
            limit_s = self._default_s
            if limit_s is None:
                return
        call.deadline = deadline = now + limit_s
        if deadline < self._rings_at:
            self.cancel()
            self._ring_at(deadline, loop)

    def _ring_at(self, moment: float, loop: asyncio.AbstractEventLoop) -> None:
        self._alarm = loop.call_at(moment, self._ring)
        self._rings_at = moment

    def cancel(self) -> None:
        """No alarm any more."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
            self._rings_at = inf

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        self._alarm = None
        self._rings_at = inf
        ahead: list[float] = []
        for call in list(self._running):
            if call.deadline is None:
                continue
            if call.deadline <= loop.time():
                call.deadline = None
                self._overdue(call, loop.time() - (call.acting_since or 0.0))
            else:
                ahead.append(call.deadline)
        if ahead:
            self._ring_at(min(ahead), loop)

"""Virtual time: an event loop whose clock jumps to the next timer when nothing is left to do now.

A schedule of hours runs in milliseconds, always in the same order. Work outside the loop (threads, sockets, child
processes) takes no virtual time: the loop waits for it really, but only so long.
"""

import asyncio
import selectors
from asyncio.events import AbstractEventLoop
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.contract import HoldfastError

__all__ = ["Deadlock", "VirtualClock", "run_virtual"]

T = TypeVar("T")
_OWN_FILES = 1
"""The loop's own wake-up pipe."""
_LAST_WAIT_S = 30.0
"""How long to really wait for threads where no timer is left that time could move on to."""


class Deadlock(HoldfastError):
    """Nothing can happen any more, and something still waits."""


class _JumpingSelector(selectors.DefaultSelector):
    """Where an event loop sleeps. This one does not: it tells its clock how far to jump."""

    clock: "VirtualClock"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; when nothing is, time moves on instead of passing."""
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if self.clock.outside_work or len(self.get_map()) > _OWN_FILES:
            events = super().select(self.clock.outside_wait_s)
            if events:
                return events
        if timeout is not None:
            self.clock.jump(timeout)
            return events
        if self.clock.outside_work:  # time cannot move on, so a thread gets the time that a busy machine may take
            events = super().select(max(_LAST_WAIT_S, self.clock.outside_wait_s))
        if not events:
            raise Deadlock(self.clock.describe_deadlock())
        return events


class VirtualClock(asyncio.SelectorEventLoop):
    """An event loop in virtual time, starting at 0.0. `run_virtual` is the short way to use one."""

    def __init__(self, *, outside_wait_s: float = 2.0) -> None:
        selector = _JumpingSelector()
        selector.clock = self
        self._now_s = 0.0
        self.outside_work = 0
        """How many jobs run in threads; virtual time stands still for them."""
        self.outside_wait_s = outside_wait_s
        """How long to really wait for threads, sockets and processes before time moves on without them."""
        super().__init__(selector)

    def time(self) -> float:
        """Virtual seconds since the start."""
        return self._now_s

    def jump(self, seconds: float) -> None:
        """Move the clock on."""
        self._now_s += seconds

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """As usual, and remembered as work outside the loop."""
        future: asyncio.Future[Any] = super().run_in_executor(executor, func, *args)
        self.outside_work += 1
        future.add_done_callback(self._came_back)
        return future

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        """As usual; joining the threads is work outside the loop."""
        self.outside_work += 1
        try:
            await super().shutdown_default_executor(*args, **kwargs)
        finally:
            self.outside_work -= 1

    def describe_deadlock(self) -> str:
        """What still waits, in words."""
        waiting = sorted(_describe(task) for task in asyncio.all_tasks(self))
        listed = "".join(f"\n  {line}" for line in waiting) or "\n  (no task)"
        return (
            f"Deadlock at {self._now_s:.3f} s: no timer is left, and no thread and no input comes, "
            f"so these will wait forever:{listed}\nOpen the gate or set the event that they wait for."
        )

    def _came_back(self, future: "asyncio.Future[Any]") -> None:
        del future
        self.outside_work -= 1


def run_virtual(coroutine: Coroutine[Any, Any, T], *, outside_wait_s: float = 2.0) -> T:
    """Run a coroutine to its end in virtual time; raises `Deadlock` instead of hanging."""

    def new_loop() -> AbstractEventLoop:
        return VirtualClock(outside_wait_s=outside_wait_s)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(coroutine)


def _describe(task: "asyncio.Task[Any]") -> str:
    stack = task.get_stack(limit=1)
    place = f"{stack[0].f_code.co_filename}:{stack[0].f_lineno}" if stack else "not started"
    name = getattr(task.get_coro(), "__qualname__", "?")
    return f"{task.get_name()} in {name} at {place}"

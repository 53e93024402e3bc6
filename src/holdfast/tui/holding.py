"""What is written while a question is open waits: nothing of others may stand between a question and its answers."""

import asyncio
from collections import deque
from collections.abc import Callable

__all__ = ["Holding"]


class Holding:
    """Does things now, or once the question is answered, in their order."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_on = False
        self._answering: asyncio.Task[None] | None = None
        """Who has just got an answer: what it says of it comes before everything that waits."""

    def do(self, thing: Callable[[], None]) -> None:
        """Do it, or let it wait."""
        if self._is_on or (self._waiting and _current() is not self._answering):
            self._waiting.append(thing)
        else:
            thing()

    def hold(self) -> None:
        """A question stands there from now on."""
        self._is_on, self._answering = True, None

    def answered(self) -> None:
        """It is answered. What waits is done soon, unless its answer leads to another question at once."""
        self._is_on, self._answering = False, _current()
        asyncio.get_running_loop().call_soon(self._go_on)

    def release(self) -> None:
        """Do everything that waits."""
        self._answering = None
        while self._waiting:
            self._waiting.popleft()()

    def _go_on(self) -> None:
        if not self._is_on:
            self.release()


def _current() -> "asyncio.Task[None] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None

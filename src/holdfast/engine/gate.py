"""Who may run now: shared calls together, exclusive ones alone, nobody overtakes."""

from collections import deque
from collections.abc import Iterator

from holdfast.engine.call import Call

__all__ = ["Gate"]


class Gate:
    """The queue of one executor.

    Nothing running: the head starts. Otherwise it starts only if it and everything running is safe to run together.
    A safe call behind a waiting exclusive one waits. A turn begins when every call of the one before has ended.
    """

    __slots__ = ("_exclusive", "_limit", "_turn", "queue", "running")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.queue: deque[Call] = deque()
        """The calls that wait, in their order; new ones come last."""
        self._exclusive = False
        self._turn = 0
        self.running: dict[Call, None] = {}
        """The calls that run now, in the order they started."""

    def queued(self) -> Iterator[Call]:
        """The calls that wait."""
        return iter(tuple(self.queue))

    def yielding(self) -> list[Call]:
        """The calls that a message of the user cuts short; all others finish first."""
        return [call for call in (*self.queued(), *self.running) if call.yields_to_message()]

    def remove(self, call: Call) -> None:
        """Take a waiting call out of the queue."""
        self.queue.remove(call)

    def next(self) -> Call | None:
        """The call that may start now, marked as running; none if the head has to wait."""
        queue, running = self.queue, self.running
        if not queue or (running and (self._exclusive or len(running) >= self._limit)):
            return None
        call = queue[0]
        if running:
            if self._turn != call.turn or not self.is_safe(call):
                return None
        else:
            self._exclusive = not self.is_safe(call)
            self._turn = call.turn
        running[queue.popleft()] = None
        return call

    @staticmethod
    def is_safe(call: Call) -> bool:
        """Asked once, when the call is at the head: whatever it raises means exclusive."""
        if call.safe is None:
            assert call.tool is not None
            try:
                call.safe = bool(call.tool.is_concurrency_safe(call.args))
            except (Exception, SystemExit):  # noqa: BLE001 - a tool that cannot tell is not safe
                call.safe = False
        return call.safe

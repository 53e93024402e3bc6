"""What leaves the engine: progress at once, replies in the order of the calls."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import Self

from holdfast.contract import UsageError
from holdfast.engine.call import Call
from holdfast.events import CallFinished, CallProgressed, Event

__all__ = ["Outbox", "ignore", "told_in_turn"]

_log = logging.getLogger(__name__)
_MAX_PENDING_PROGRESS = 1_000
"""Progress that nobody reads is dropped, oldest first; replies never are."""


class Outbox:
    """Replies wait here until every earlier call is answered. One reader, woken only when there is news.

    It is its own asynchronous iterator: a generator would cost each turn more than its events do.
    """

    __slots__ = ("_at_end", "_events", "_order", "_progress", "_waiter", "emit", "in_order")

    def __init__(self, emit: Callable[[Event], None], at_end: Callable[[], None]) -> None:
        """Take who is told of replies, and who may raise what stopped the run once all is read."""
        self.emit = emit
        self.in_order = True
        """False: a reply is handed out as soon as it is there."""
        self._at_end = at_end
        self._order: deque[Call] = deque()
        self._events: deque[CallFinished | CallProgressed] = deque()
        self._progress = 0
        self._waiter: asyncio.Future[None] | None = None

    @property
    def unanswered(self) -> bool:
        """Some call has no reply yet."""
        return bool(self._order)

    def expect(self, call: Call) -> None:
        """A reply to this call will follow, in this place."""
        self._order.append(call)

    def finish(self, call: Call) -> None:
        """This call has its reply; hand out all that are now in order."""
        call.state = "completed"
        order = self._order
        if not self.in_order and order[0] is not call:
            order.remove(call)
            order.appendleft(call)
        while order and order[0].state == "completed":
            done = order.popleft()
            done.state = "yielded"
            assert done.reply is not None
            try:
                self.emit(done.reply)
            except Exception:  # noqa: BLE001 - a listener's bug must not keep replies from the reader
                _log.exception("a listener failed on the reply to call %s", done.id)
            self._events.append(done.reply)
        if self._events:
            self._wake()

    def progress(self, event: CallProgressed) -> None:
        """Hand out progress at once."""
        self.emit(event)
        if self._progress >= _MAX_PENDING_PROGRESS:
            self._events.remove(next(event for event in self._events if isinstance(event, CallProgressed)))
            self._progress -= 1
        self._events.append(event)
        self._progress += 1
        self._wake()

    def forget(self, turn: int, ids: Container[str]) -> None:
        """Drop what was to come for the calls of this turn: its stream is repeated."""
        self._order = deque(call for call in self._order if call.turn != turn)
        self._events = deque(event for event in self._events if event.tool_use_id not in ids)
        self._progress = sum(isinstance(event, CallProgressed) for event in self._events)
        self._wake()

    def ready(self) -> Iterator[CallFinished | CallProgressed]:
        """What can be read now."""
        while self._events:
            event = self._events.popleft()
            if isinstance(event, CallProgressed):
                self._progress -= 1
            yield event

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CallFinished | CallProgressed:
        """The next event, until no call is unanswered; then the end, or what stopped the run.

        Raises:
            StopAsyncIteration: No call is unanswered.
            UsageError: Somebody else waits for the next event.
        """
        events = self._events
        while not events:
            if not self._order:
                self._at_end()
                raise StopAsyncIteration
            if self._waiter is not None:
                raise UsageError("results() has a reader already; read the events of one executor in one place")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
            events = self._events
        event = events.popleft()
        if type(event) is CallProgressed:
            self._progress -= 1
        return event

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def ignore(event: Event) -> None:
    """Where events go when nobody listens."""


def told_in_turn(first: Callable[[Event], None], second: Callable[[Event], None]) -> Callable[[Event], None]:
    """One listener that tells both, in this order."""
    if first is ignore:
        return second

    def tell(event: Event) -> None:
        first(event)
        second(event)

    return tell

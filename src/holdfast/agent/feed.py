"""Between a run and whoever reads its events: never makes the run wait, however slow the reader is."""

import asyncio
from collections import deque

from holdfast.events import CallProgressed, Event, TextStreamed, ThinkingStreamed, ToolUseStreamed

__all__ = ["Feed"]

_CROWDED = 2_000
"""With so many unread events, pieces of text are joined and progress is dropped, so that memory stays small."""
_JOINED_CHARS = 4_096
"""Longer pieces are not joined further: that would copy them again and again."""


class Feed:
    """The events of one run that nobody has read yet."""

    __slots__ = ("_waiter", "events", "is_closed")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.is_closed = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Event) -> None:
        """Add an event and wake the reader."""
        events = self.events
        if len(events) < _CROWDED or not self._absorbed(event):
            events.append(event)
        self._wake()

    def close(self) -> None:
        """No more events will come."""
        self.is_closed = True
        self._wake()

    async def wait(self) -> None:
        """Return when there is something new."""
        if self.events or self.is_closed:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _absorbed(self, event: Event) -> bool:
        """Nobody reads: join what can be joined, drop what only tells how far something is."""
        if isinstance(event, CallProgressed):
            return True
        last = self.events[-1]
        joined = _joined(last, event)
        if joined is not None:
            self.events[-1] = joined
        return joined is not None


def _joined(last: Event, event: Event) -> Event | None:
    if isinstance(event, TextStreamed | ThinkingStreamed):
        if type(last) is not type(event) or last.index != event.index or len(last.text) > _JOINED_CHARS:
            return None
        if isinstance(event, ThinkingStreamed) and event.signature:
            return None
        return type(event)(last.text + event.text, last.index)
    if not (isinstance(event, ToolUseStreamed) and isinstance(last, ToolUseStreamed)):
        return None
    if last.tool_use_id != event.tool_use_id or len(last.partial_json) > _JOINED_CHARS:
        return None
    return ToolUseStreamed(last.tool_use_id, last.name, last.partial_json + event.partial_json, last.index)

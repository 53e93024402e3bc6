"""How a client reads an answer, whatever the wire: events as they come, errors in our words, the connection kept."""

from collections.abc import AsyncGenerator, Iterator
from typing import Protocol

from holdfast.models.anthropic_stream import ErrorEvent
from holdfast.models.http import Exchange
from holdfast.models.interface import StreamEvent
from holdfast.models.sse import ServerEvent

__all__ = ["Reader", "read_answer"]


class Reader(Protocol):
    """Turns the data of one answer into our events."""

    has_ended: bool
    """The last event was given."""

    @property
    def may_end(self) -> bool:
        """The answer is complete, so that the connection may close."""
        ...

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in one piece of data.

        Raises:
            ErrorEvent: The provider tells of an error.
            ValueError: The data makes no sense.
        """
        ...

    def finish(self) -> list[StreamEvent]:
        """The last events, when nothing more comes."""
        ...


async def read_answer(exchange: Exchange, reader: Reader, *, is_whole: bool) -> AsyncGenerator[StreamEvent]:
    """The events of an answer, streamed or as one document. Raises `ModelError`."""
    if is_whole:
        for event in _fed(reader, await exchange.read_all(), exchange):
            yield event
        if not reader.has_ended:
            for event in reader.finish():
                yield event
        return
    try:
        while not reader.has_ended:
            for event in _of_batch(await exchange.read(), exchange, reader):
                yield event
    finally:
        if reader.has_ended:
            await exchange.drain()


def _of_batch(batch: list[ServerEvent] | None, exchange: Exchange, reader: Reader) -> Iterator[StreamEvent]:
    """The events of a batch, one by one: what came before an error is told before it."""
    if batch is None:
        if not reader.may_end:
            raise exchange.broken("the connection was closed before its end")
        yield from reader.finish()
        return
    for item in batch:
        yield from _fed(reader, item.data, exchange)
        if reader.has_ended:
            return


def _fed(reader: Reader, data: bytes, exchange: Exchange) -> list[StreamEvent]:
    try:
        events = reader.feed(data)
    except ErrorEvent as error:
        raise exchange.error_in(data) from error
    except (ValueError, RecursionError) as error:
        raise exchange.senseless(data, f"a part of it makes no sense ({error})") from error
    if events:
        exchange.went_on()
    return events

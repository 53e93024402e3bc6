"""The messages about one request, in their order: written as JSON or as events, and readable again from any of them."""

import asyncio
from collections.abc import Mapping, Sequence

from holdfast.host.web_server import Responder
from holdfast.mcp.serve.peer import Outgoing

__all__ = ["Stream"]

_PING_S = 15.0
_MAX_UNREAD = 1_000
_RETRY_MS = 1000
_EVENTS = (("content-type", "text/event-stream"), ("cache-control", "no-cache, no-transform"))


class Stream:
    """Grows at its end until the answer is there."""

    def __init__(self, id_: str) -> None:
        """Take a name for its events; an empty one for a stream that cannot be read again."""
        self.id = id_
        self.is_done = False
        self.has_reader = False
        self._messages: list[Outgoing] = []
        self._news = asyncio.Event()

    def put(self, out: Outgoing) -> None:
        """One more message. News that nobody reads is dropped at some point; answers never are."""
        if out.about is None and not self.has_reader and len(self._messages) >= _MAX_UNREAD:
            return
        self._messages.append(out)
        self.is_done = self.is_done or out.is_answer
        self._news.set()

    async def write_to(
        self,
        responder: Responder,
        *,
        at: int = 0,
        headers: Sequence[tuple[str, str]] = (),
        statuses: Mapping[int, int] | None = None,
        is_primed: bool = False,
        is_stream: bool = False,
    ) -> None:
        """Write what is there from `at` on, and what comes, until the answer.

        Args:
            responder: Who reads.
            at: The first message to write.
            headers: More for the head.
            statuses: What an error's code means for the status.
            is_primed: The first event names the stream, so that it can be read again from its start.
            is_stream: Always as events, also an answer that comes alone.
        """
        self.has_reader = True
        try:
            if not is_stream and await self._is_alone():
                out = self._messages[0]
                status = 200 if out.code is None else (statuses or {}).get(out.code, 200)
                await responder.whole(status, out.data, [*headers, ("content-type", "application/json")])
                return
            await responder.begin(200, [*_EVENTS, *headers])
            if is_primed and self.id:
                await responder.part(f"id: {self.id}_0\nretry: {_RETRY_MS}\ndata: \n\n".encode())
            await self._write_events(responder, at)
            responder.end()
        finally:
            self.has_reader = False

    async def _is_alone(self) -> bool:
        """Wait for the first message; true when it is the answer itself."""
        try:
            async with asyncio.timeout(_PING_S):
                await self._news.wait()
        except TimeoutError:
            return False
        return bool(self._messages) and self._messages[0].is_answer

    async def _write_events(self, responder: Responder, at: int) -> None:
        while True:
            while at < len(self._messages):
                at += 1
                await responder.part(self._event(at))
            if self.is_done:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(_PING_S):
                    await self._news.wait()
            except TimeoutError:
                await responder.part(b": still working\n\n")

    def _event(self, number: int) -> bytes:
        name = f"id: {self.id}_{number}\n".encode() if self.id else b""
        return b"%bevent: message\ndata: %b\n\n" % (name, self._messages[number - 1].data)

"""The protocol on one connection, by h11: what is written, what comes, and whether another request can follow."""

import asyncio
from typing import Any, Final, NamedTuple

import h11

from holdfast.host.http_errors import HttpError
from holdfast.host.http_request import Head
from holdfast.host.http_wire import Wire

__all__ = ["AnswerHead", "Protocol"]

_MAX_HEAD_BYTES: Final = 64 * 1024


class AnswerHead(NamedTuple):
    """How an answer begins."""

    status: int
    headers: list[tuple[bytes, bytes]]


class Protocol:
    """Where HTTP/1.1 stands on a wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)

    @property
    def is_idle(self) -> bool:
        """No request is under way."""
        return self._state.our_state is h11.IDLE

    def ask(self, head: Head, body: bytes) -> bytes:
        """Begin a request; gives its bytes.

        Raises:
            HttpError: It cannot be said in this protocol.
        """
        try:
            event = h11.Request(method=head.method, target=head.target, headers=list(head.headers.items()))
            pieces = [self._state.send(event)]
            if body:
                pieces.append(self._state.send(h11.Data(data=body)))
            pieces.append(self._state.send(h11.EndOfMessage()))
        except (h11.LocalProtocolError, UnicodeEncodeError) as error:
            raise HttpError(str(error), "invalid") from error
        return b"".join(filter(None, pieces))

    async def head(self, timeout_s: float | None) -> AnswerHead:
        """The answer's head; what only announces it is passed over."""
        while True:
            event = await self._event(timeout_s, has_begun=False)
            if isinstance(event, h11.Response):
                return AnswerHead(event.status_code, list(event.headers))
            if not isinstance(event, h11.InformationalResponse):
                raise HttpError("the server wants to speak another protocol", "cut")

    async def piece(self, timeout_s: float | None) -> bytes | None:
        """The next bytes of the answer's body; None at its end."""
        event = await self._event(timeout_s)
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def begin_anew(self) -> bool:
        """Whether another request can follow on this connection; it is ready for it then."""
        state = self._state
        if (state.our_state, state.their_state) != (h11.DONE, h11.DONE):
            return False
        state.start_next_cycle()
        return self._wire.is_usable

    async def _event(self, timeout_s: float | None, *, has_begun: bool = True) -> Any:
        """What the protocol says next."""
        state = self._state
        try:
            while True:
                event = state.next_event()
                if event is h11.PAUSED:
                    raise HttpError("the server wants to speak another protocol", "cut", has_begun=has_begun)
                if event is not h11.NEED_DATA:
                    return event
                async with asyncio.timeout(timeout_s):
                    data = await self._wire.read()
                if not data and not has_begun:
                    raise HttpError("the server hung up without an answer", "cut")
                state.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise HttpError(str(error), "cut", has_begun=has_begun) from error
        except TimeoutError as error:
            raise HttpError(f"nothing came for {timeout_s:g} s", "silent", has_begun=has_begun) from error
        except OSError as error:
            raise HttpError(error.strerror or str(error), "cut", has_begun=has_begun) from error

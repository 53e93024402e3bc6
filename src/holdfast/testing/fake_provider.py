"""A model provider on this machine that answers from a script: every wire, every way to arrive, every way to fail."""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from holdfast.testing.fake_other_wires import wire_of
from holdfast.testing.fake_wires import (
    FakeTurn,
    Pause,
    anthropic_pieces,
    anthropic_whole,
    openai_pieces,
    openai_whole,
)
from holdfast.testing.scripted import Gate

__all__ = ["FakeProvider", "FakeTurn", "Pause", "RecordedRequest", "error_turn"]

_MAX_HEAD_BYTES = 64 * 1024
_MAX_GATE_S = 60.0
_EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    connection: int
    """Which connection it came by, from 1."""

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)


class FakeProvider:
    """Serves a script of turns on a loopback port, each request the next one.

    `async with FakeProvider([FakeTurn(blocks=[{"type": "text", "text": "hello"}])]) as provider:` then point a client
    at `provider.url` (`provider.openai_url` ends in `/v1`).
    """

    def __init__(
        self,
        turns: Iterable[FakeTurn] = (),
        *,
        then: Callable[[RecordedRequest], FakeTurn] | None = None,
        counted_tokens: int | None = 42,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Keep the script.

        Args:
            turns: One for each request, in order.
            then: Answers what comes behind the script; None: such a request is refused.
            counted_tokens: Answers `count_tokens`; None: that address does not exist.
            tls: With it the address is https, on the name `localhost`.
        """
        self.turns: list[FakeTurn] = list(turns)
        self.requests: list[RecordedRequest] = []
        """Every request that came, but those that only count."""
        self.counts: list[RecordedRequest] = []
        self.connections = 0
        self.disconnects = 0
        """How often a client went away before the end of an answer."""
        self._then = then
        self._counted_tokens = counted_tokens
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_MAX_HEAD_BYTES, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """The address for `ANTHROPIC_BASE_URL`."""
        assert self._server is not None, "enter the provider first"
        scheme = "http://127.0.0.1" if self._tls is None else "https://localhost"
        return f"{scheme}:{self._server.sockets[0].getsockname()[1]}"

    @property
    def openai_url(self) -> str:
        """The address for `OPENAI_BASE_URL`."""
        return f"{self.url}/v1"

    async def disconnected(self, times: int = 1) -> None:
        """Return when clients went away so often in the middle of an answer."""
        async with self._news:
            await self._news.wait_for(lambda: self.disconnects >= times)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        begun: bytes | None = b""
        try:
            while begun is not None and (request := await _read_request(reader, begun, number)) is not None:
                begun = await self._answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            async with self._news:
                self.disconnects += 1
                self._news.notify_all()
        except asyncio.CancelledError:
            pass  # the test is over; the server's own task group must not see it
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answer(
        self, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """Send the next turn; gives the first byte of another request, or None when the connection is to be closed."""
        kind = _EVENTS
        if request.path.partition("?")[0].endswith(("/count_tokens", ":countTokens")):
            self.counts.append(request)
            turn, is_stream = self._count_turn(), False
            pieces = _whole(turn)
        else:
            self.requests.append(request)
            number = len(self.requests)
            turn = self._turn(number, request)
            wire = wire_of(request.path)
            streams = bool(request.json.get("stream")) if wire is None else wire.streams(request.path, request.json)
            is_stream = turn.status < 300 and streams
            kind = kind if wire is None else wire.content_type
            pieces = _pieces_of(turn, request, number, is_stream=is_stream)
        sending = asyncio.create_task(_send(turn, pieces, writer, kind if is_stream else "application/json"))
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and not leaving.result():
                raise ConnectionError("the client went away")
            is_usable = await sending
            return None if not is_usable else leaving.result() if leaving.done() else b""
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    def _turn(self, number: int, request: RecordedRequest) -> FakeTurn:
        if number <= len(self.turns):
            return self.turns[number - 1]
        return _no_more(number) if self._then is None else self._then(request)

    def _count_turn(self) -> FakeTurn:
        if self._counted_tokens is None:
            return error_turn(404, "not_found_error", "no such address")
        counted = self._counted_tokens
        return FakeTurn(raw=json.dumps({"input_tokens": counted, "totalTokens": counted}).encode())


def error_turn(status: int, kind: str, message: str, **headers: str) -> FakeTurn:
    """An answer that refuses, in the form both wires have. `retry_after="3"` is the header `retry-after: 3`."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FakeTurn(status=status, raw=json.dumps(body).encode(), headers=named)


def _no_more(number: int) -> FakeTurn:
    return error_turn(400, "invalid_request_error", f"the script has no turn {number}")


async def _read_request(reader: asyncio.StreamReader, begun: bytes, connection: int) -> RecordedRequest | None:
    try:
        head = begun + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return RecordedRequest(method, path, headers, body, connection)


def _pieces_of(
    turn: FakeTurn, request: RecordedRequest, number: int, *, is_stream: bool
) -> Iterator[bytes | Pause | Gate]:
    if turn.raw is not None:
        return _whole(turn)
    if (other := wire_of(request.path)) is not None:
        return other.pieces(turn, number) if is_stream else iter([other.whole(turn, number)])
    is_anthropic = "messages" in request.path
    if not is_stream:
        return iter([anthropic_whole(turn, number) if is_anthropic else openai_whole(turn, number)])
    if is_anthropic:
        return anthropic_pieces(turn, number)
    options: dict[str, Any] = request.json.get("stream_options") or {}
    return openai_pieces(turn, number, with_usage=bool(options.get("include_usage")))


def _whole(turn: FakeTurn) -> Iterator[bytes | Pause | Gate]:
    raw = turn.raw or b""
    return iter([raw] if isinstance(raw, bytes) else raw)


async def _send(
    turn: FakeTurn, pieces: Iterator[bytes | Pause | Gate], writer: asyncio.StreamWriter, content_type: str
) -> bool:
    await asyncio.sleep(turn.first_delay_s)
    reason = "OK" if turn.status < 300 else "Error"
    head = {
        "content-type": turn.content_type or content_type,
        "transfer-encoding": "chunked",
        "request-id": "req_fake",
        **turn.headers,
    }
    lines = [f"HTTP/1.1 {turn.status} {reason}", *(f"{name}: {value}" for name, value in head.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    left = turn.cut_at
    for piece in _cut(pieces, turn.split_bytes):
        if not isinstance(piece, bytes):
            await writer.drain()
            await (
                asyncio.sleep(piece.seconds)
                if isinstance(piece, Pause)
                else asyncio.wait_for(piece.wait(), _MAX_GATE_S)
            )
            continue
        await asyncio.sleep(turn.drip_s)
        sent = piece if left is None else piece[:left]
        if sent:
            writer.write(b"%x\r\n%b\r\n" % (len(sent), sent))
            await writer.drain()
        if left is not None:
            left -= len(sent)
            if left <= 0:
                writer.close()
                return False
    if turn.keeps_open:
        await asyncio.sleep(_MAX_GATE_S)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _cut(pieces: Iterator[bytes | Pause | Gate], size: int | None) -> Iterator[bytes | Pause | Gate]:
    """The pieces, those of bytes cut again at every so many bytes of the whole."""
    if size is None:
        yield from pieces
        return
    held = b""
    for piece in pieces:
        if not isinstance(piece, bytes):
            yield from ([held] if held else [])
            held = b""
            yield piece
            continue
        held += piece
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held

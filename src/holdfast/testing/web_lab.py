"""A public web of one's own, on loopback: names, addresses, pages and the ways in which servers misbehave."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from holdfast.contract import ToolFailed
from holdfast.host.http_wire import Addresses, Route, Wire
from holdfast.tools.web._client import Limits, WebClient

__all__ = ["LabPage", "LabRequest", "WebLab"]

_PUBLIC = "93.184.216.34"
_MAX_HEAD_BYTES = 1 << 20


class LabPage(NamedTuple):
    """What the lab answers to one address."""

    body: str | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    """`content-type` is HTML unless given."""
    raw: bytes | None = None
    """Sent as it is, instead of a proper answer."""
    endless: bytes | None = None
    """Sent again and again behind the body, until the client leaves."""
    pause_s: float = 0.0
    """Before each piece of an endless body, and before the answer."""


class LabRequest(NamedTuple):
    """A request that came."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[[LabRequest], LabPage]


class WebLab:
    """Serves pages by host and path.

    `async with WebLab({"docs.example.com/": "<h1>Hi</h1>"}) as lab:` then give `lab.client` to a tool, as
    `WebFetch(client=lab.client)`. Nothing of the product can be pointed at it: a client gets the lab's names and
    connections only in code.
    """

    def __init__(
        self,
        pages: Mapping[str, str | bytes | LabPage | Answer] | None = None,
        *,
        names: Mapping[str, Iterable[Sequence[str]]] | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Keep the pages.

        Args:
            pages: By host and path, as `example.com/a`; a function is asked at each request.
            names: Addresses by host: the answers of the resolver, one after the other, the last one for ever. Hosts
                that are not named have one public address.
            limits: For `client`.
        """
        self.pages = dict(pages or {})
        self.requests: list[LabRequest] = []
        self.dialled: list[tuple[str, int]] = []
        """Every address that a client connected to, in order."""
        self.secured: list[str] = []
        """The names that TLS was asked to check."""
        self._names = {host: list(answers) for host, answers in (names or {}).items()}
        self._limits = limits or Limits(connect_s=5, idle_s=5, whole_s=20)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def client(self, *, exempt: frozenset[tuple[str, int]] = frozenset(), proxy: str | None = None) -> WebClient:
        """A client that lives in this web; a proxy is only noted, and `https` addresses can be fetched through it."""
        return WebClient(limits=self._limits, exempt=exempt, proxy=proxy, resolve=self.resolve, connect_by=self.connect)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The next answer for a name."""
        del port
        answers = self._names.get(host)
        if answers is None:
            return [_PUBLIC]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if not found:
            raise ToolFailed(f"the host {host!r} was not found")
        return found

    async def connect(
        self, route: Route, *, tls: Callable[[], Awaitable[ssl.SSLContext]], addresses: Addresses | None = None
    ) -> Wire:
        """Connect to the lab, whatever the address; TLS is only noted, for the lab has no certificates."""
        del tls
        assert self._server is not None, "enter the lab first"
        assert addresses is not None, "every client of the web checks addresses"
        if route.proxy is None:
            self.dialled.append(((await addresses(route.host, route.port))[0], route.port))
        else:
            proxy = urlsplit(route.proxy)
            self.dialled.append((proxy.hostname or "", proxy.port or 0))
        if route.is_tls:
            self.secured.append(route.host)
        own = self._server.sockets[0].getsockname()[1]
        _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", own)
        return wire

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_MAX_HEAD_BYTES)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        async with asyncio.timeout(5):
            await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await _read(reader)
            self.requests.append(request)
            await _send(writer, self._page(request))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the lab is over
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    def _page(self, request: LabRequest) -> LabPage:
        found = self.pages.get(f"{request.host}{request.path}", LabPage("<h1>Not here</h1>", 404))
        if isinstance(found, str | bytes):
            return LabPage(found)
        return found if isinstance(found, LabPage) else found(request)


async def _read(reader: asyncio.StreamReader) -> LabRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return LabRequest(method, headers.get("host", ""), path, headers, body)


async def _send(writer: asyncio.StreamWriter, page: LabPage) -> None:
    if page.pause_s:
        await asyncio.sleep(page.pause_s)
    if page.raw is not None:
        writer.write(page.raw)
    else:
        body = page.body.encode() if isinstance(page.body, str) else page.body
        headers = {"content-type": "text/html; charset=utf-8", **page.headers}
        if page.endless is None:
            headers.setdefault("content-length", str(len(body)))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
        writer.write(f"HTTP/1.1 {page.status} Said\r\n{lines}connection: close\r\n\r\n".encode("latin-1") + body)
    await writer.drain()
    while page.endless is not None:
        if page.pause_s:
            await asyncio.sleep(page.pause_s)
        writer.write(page.endless)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()

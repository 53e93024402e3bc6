"""One request to the public web: bounded in time, bytes and hops. Nothing of the user goes along, no cookie, no key."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urljoin

from holdfast.contract import ToolFailed
from holdfast.host.http import HttpClient, HttpError, Request, Response
from holdfast.host.http_wire import Connect, connect
from holdfast.permissions.web import WebRefusal, WebTarget, check_url
from holdfast.tools.web._network import Resolve, public_addresses, refuse_known_private, system_resolve

__all__ = ["Fetched", "Limits", "Redirected", "WebClient", "secured"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGENT = "holdfast (fetched on a user's request)"


class Limits(NamedTuple):
    """How much one fetch may take."""

    body_bytes: int = 10 * 1024 * 1024
    """Of decoded data; the rest is not read."""
    connect_s: float = 10.0
    idle_s: float = 15.0
    """Without a byte."""
    whole_s: float = 60.0
    hops: int = 5


_USUAL = Limits()


class Fetched(NamedTuple):
    """What a server answered."""

    url: str
    """The final address, after redirects within the host."""
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False
    """There was more than the limit."""

    @property
    def media_type(self) -> str:
        """Such as `text/html`, in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Redirected(NamedTuple):
    """The page is at another host, which is another question of permission."""

    url: str
    """Where it leads, in canonical form."""
    status: int
    since: str
    """The address that said so."""


def secured(target: WebTarget) -> WebTarget:
    """The same address by TLS; one with a port of its own stays as it is."""
    if target.scheme == "https" or target.port != 80:
        return target
    return WebTarget("https" + target.url.removeprefix("http"), "https", target.host, 443)


class WebClient:
    """Fetches addresses that `check_url` let through. Connections are not kept: each request is checked anew."""

    def __init__(
        self,
        *,
        limits: Limits = _USUAL,
        proxy: str | None = None,
        exempt: frozenset[tuple[str, int]] = frozenset(),
        resolve: Resolve = system_resolve,
        connect_by: Connect = connect,
    ) -> None:
        """Begin.

        Args:
            limits: How much a fetch may take.
            proxy: An address of the user's own settings; with it the proxy resolves names, not we.
            exempt: Hosts and ports that may be private, from the user's own settings.
            resolve: Names to addresses; tests have names of their own.
            connect_by: Opens connections; tests have a server of their own.
        """
        self.limits = limits
        trusted = {name: os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ}
        self._environ = trusted if proxy is None else {**trusted, "all_proxy": proxy}
        self._resolve = resolve
        self._exempt = exempt
        self._has_proxy = proxy is not None
        self._addresses = public_addresses(resolve, exempt)
        self._connect_by: Connect = connect_by

    async def fetch(
        self, target: WebTarget, *, before: Callable[[WebTarget], Awaitable[None]] | None = None
    ) -> Fetched | Redirected:
        """Get a page, following redirects within its host; `before` has a word before each hop.

        Raises:
            ToolFailed: In words for the model: refused, unreachable, too slow, broken, or a redirect in circles.
        """
        for _ in range(self.limits.hops + 1):
            if before is not None:
                await before(target)
            answer = await self.request("GET", target)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not location:
                return answer
            following = check_url(urljoin(target.url, location))
            if isinstance(following, WebRefusal):
                raise ToolFailed(f"{target.url} redirects to an address that is never fetched: {following.reason}")
            if following.host != target.host:
                return Redirected(following.url, answer.status, target.url)
            target = secured(following)
        raise ToolFailed(f"{target.url} redirected more than {self.limits.hops} times; it may lead in circles")

    async def request(
        self, method: str, target: WebTarget, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Fetched:
        """One request, one answer; a redirect is an answer."""
        limits = self.limits
        if self._has_proxy and (target.host, target.port) not in self._exempt:
            await refuse_known_private(self._resolve, target.host, target.port)
        client = HttpClient(
            self._environ,
            connect_timeout_s=limits.connect_s,
            addresses=self._addresses,
            connect_by=self._connect_by,
        )
        sent = {"user-agent": _AGENT, "accept-encoding": "gzip", **(headers or {})}
        request = Request(method, target.url, sent, body, idle_timeout_s=limits.idle_s)
        try:
            async with asyncio.timeout(limits.whole_s), client.exchange(request) as answer:
                return await self._read(answer, target)
        except TimeoutError:
            raise ToolFailed(f"{target.host} did not answer within {limits.whole_s:g} s") from None
        except HttpError as error:
            raise ToolFailed(f"{target.url} could not be fetched: {error}") from error
        finally:
            await client.close()

    async def _read(self, answer: Response, target: WebTarget) -> Fetched:
        """The body up to the limit: a packed one is unpacked piece by piece, never further than that."""
        parts: list[bytes] = []
        size = 0
        while answer.status not in _REDIRECTS and size <= self.limits.body_bytes:
            piece = await answer.read()
            if piece is None:
                break
            parts.append(piece)
            size += len(piece)
        limit = self.limits.body_bytes
        body = b"".join(parts)[:limit]
        return Fetched(target.url, answer.status, _phrase(answer.status), answer.headers, body, is_cut=size > limit)


def _phrase(status: int) -> str:
    """Our own words for a status: a server's are text from outside."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"

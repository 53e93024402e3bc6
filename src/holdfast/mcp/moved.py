"""Redirects of a server to itself, such as from /mcp to /mcp/: the only ones that are followed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

from holdfast.host.http import HttpClient, Request, Response

__all__ = ["exchanged"]

_MOST_MOVES = 3
_SAME_REQUEST = (307, 308)
"""What was sent is to be sent again as it was."""


@asynccontextmanager
async def exchanged(client: HttpClient, request: Request) -> AsyncGenerator[tuple[Response, str]]:
    """The answer to a request, and the address that gave it."""
    for left in reversed(range(_MOST_MOVES + 1)):
        async with client.exchange(request) as response:
            place = _moved_to(response, request.url) if left else None
            if place is None:
                yield response, request.url
                return
        request = request._replace(url=place)


def _moved_to(response: Response, url: str) -> str | None:
    """Where the same request is to go instead, if that is the same server; any other gets nothing of us."""
    place = response.headers.get("location", "").strip()
    if response.status not in _SAME_REQUEST or not place:
        return None
    try:
        target = urljoin(url, place)
        return target if target != url and _server(target) == _server(url) else None
    except ValueError:
        return None


def _server(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()

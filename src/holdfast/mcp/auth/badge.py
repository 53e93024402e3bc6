"""What goes with each request to a server so that it knows who asks, and what happens when it refuses that."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

from holdfast.host.http import Response
from holdfast.mcp.wire import McpError

__all__ = ["AskPerson", "Badge", "FixedBadge", "NeedsAuthError", "NoLoginError", "Refused", "refusal_of"]

_MAX_BYTES = 1 << 20

AskPerson = Callable[[str, Callable[[str], bool]], Awaitable[None]]
"""Shows a person the address to log in at. It may wait, and may hand over the address where the browser ended."""


class Refused(NamedTuple):
    """A request that the server refused because it does not know who asks, or wants more rights."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    mark: str
    """Of the badge that went with the request; empty for none."""
    protocol: str = ""

    @property
    def wants_more(self) -> bool:
        """We are known, but this needs more rights."""
        return self.status == 403


class NeedsAuthError(McpError):
    """The server wants to know who asks, and only a person can say."""

    needs_auth = True

    def __init__(self, message: str, refused: Refused | None = None) -> None:
        super().__init__(message)
        self.refused = refused


class NoLoginError(McpError):
    """The server wants a login, and there is no way to one from here."""


class Badge(Protocol):
    """Headers that say who we are."""

    @property
    def mark(self) -> str:
        """Tells this badge from the next one."""
        ...

    def headers(self) -> Mapping[str, str]:
        """What goes with the next request."""
        ...

    async def renew(self, refused: Refused, ask: AskPerson | None) -> None:
        """Get another after a refusal.

        Raises:
            McpError: That is not possible, or not without a person.
        """
        ...


class FixedBadge:
    """Headers that the configuration gives; there are no others."""

    mark = ""

    def __init__(self, name: str, headers: Mapping[str, str]) -> None:
        self._name = name
        self._headers = headers

    def headers(self) -> Mapping[str, str]:
        """As configured."""
        return self._headers

    async def renew(self, refused: Refused, ask: AskPerson | None) -> None:
        """There is nothing else to show."""
        del ask
        raise McpError(
            f"The MCP server {self._name!r} refuses the header `Authorization` of its configuration (HTTP "
            f"{refused.status}). Give it another, or take it out and log in: holdfast mcp login {self._name}."
        )


async def refusal_of(response: Response, mark: str, protocol: str = "") -> Refused | None:
    """The refusal in an answer: the server wants to know who asks, or wants more rights; None for any other answer."""
    challenge = response.headers.get("www-authenticate", "")
    if response.status != 401 and not (response.status == 403 and "insufficient_scope" in challenge):
        return None
    return Refused(response.status, response.headers, await response.read_all(_MAX_BYTES), mark, protocol)

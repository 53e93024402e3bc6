"""Where the web tools may connect: a name is resolved once, every address is checked, and a checked one is dialled."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from holdfast.contract import ToolFailed
from holdfast.permissions.web import address_problem

__all__ = ["Resolve", "public_addresses", "refuse_known_private", "system_resolve"]

_LOOKUP_S = 3.0
"""Networks with a proxy often answer no questions about names, and some do not even say so."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Every address of a name. A test brings its own; the product has only the system's."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"the host {host!r} was not found ({error}); check the spelling of the address") from error
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def public_addresses(resolve: Resolve, exempt: frozenset[tuple[str, int]] = frozenset()) -> Resolve:
    """The same, refused as soon as one address is not public.

    Exempt are hosts and ports that the user's own settings name, such as a search server at home.
    """

    async def addresses(host: str, port: int) -> Sequence[str]:
        found = [host] if _address(host) is not None else list(await resolve(host, port))
        if (host, port) not in exempt:
            for text in found:
                _refuse_private(host, text)
        return found

    return addresses


async def refuse_known_private(resolve: Resolve, host: str, port: int) -> None:
    """Where a proxy looks names up: refuse a name that is known here and leads inside; it may be known only there."""
    try:
        async with asyncio.timeout(_LOOKUP_S):
            found = [host] if _address(host) is not None else list(await resolve(host, port))
    except (ToolFailed, TimeoutError):
        return
    for text in found:
        _refuse_private(host, text)


def _refuse_private(host: str, text: str) -> None:
    address = _address(text)
    problem = f"{text!r} is not an address" if address is None else address_problem(address)
    if problem:
        raise ToolFailed(f"{host!r} is not fetched: {problem}. Only the public web is reached, whatever the rules say")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

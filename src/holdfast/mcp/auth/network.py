"""Where a login may lead: to the server itself and to what is public. No server may send us into our own net."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from holdfast.host.http_errors import HttpError
from holdfast.host.http_wire import Addresses
from holdfast.permissions.web import address_problem

__all__ = ["addresses_for"]


def addresses_for(server_url: str) -> Addresses:
    """The addresses that a login to this server may use.

    A server that is itself on a private address, such as one in the office or on this machine, may use others there.
    """
    own = urlsplit(server_url).hostname or ""

    async def addresses(host: str, port: int) -> Sequence[str]:
        found = await _resolved(host, port)
        if host == own or await _is_private(own):
            return found
        for address in found:
            if problem := address_problem(ipaddress.ip_address(address)):
                raise HttpError(f"the login would lead to {host!r}, but {problem}", "invalid")
        return found

    return addresses


async def _is_private(host: str) -> bool:
    return any(address_problem(ipaddress.ip_address(address)) for address in await _resolved(host, 443))


async def _resolved(host: str, port: int) -> Sequence[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HttpError(f"the host {host!r} was not found ({error})", "unreachable") from error
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))

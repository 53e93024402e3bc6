"""Ask a web server as a hook: the event as a POST; a 2xx answer with JSON decides, anything else decides nothing.

The address is part of the configuration. One of the user's own settings may be anywhere, this machine included; one of
a folder must be public unless the user says otherwise. Metadata services of clouds are never asked, redirects are not
followed, and headers see only the variables that the hook names.
"""

import asyncio
import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from holdfast.events import encode_json
from holdfast.hooks.answers import HookAnswer, HookFailed, read_output
from holdfast.hooks.inputs import HookInput
from holdfast.host.child_env import is_provider_credential
from holdfast.host.http import HttpClient, HttpError, Request, without_login
from holdfast.permissions.web import address_problem

__all__ = ["HttpRunner"]

_MAX_BYTES: Final = 1_000_000
_NO_NAMES: Final = frozenset[str]()
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_METADATA: Final = tuple(
    ipaddress.ip_network(network)
    for network in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "168.63.129.16/32")
)


class HttpRunner:
    """Runs the http hooks of one origin."""

    def __init__(self, *, may_be_private: bool, is_of_folder: bool = False) -> None:
        """Take what the hooks may reach.

        Args:
            may_be_private: Addresses of this machine and the local network are fine.
            is_of_folder: A folder brings them, so the keys of model providers are not theirs to send.
        """
        self._may_be_private = may_be_private
        self._is_of_folder = is_of_folder

    async def run(self, handler: Mapping[str, Any], event: HookInput, timeout_s: float | None) -> HookAnswer:
        """Post the event and read the answer.

        Raises:
            HookFailed: There was no answer that decides.
        """
        url = str(handler["url"])
        limit_s = type(event).timeout_s if timeout_s is None else timeout_s
        headers = {"content-type": "application/json", **self._headers(handler)}
        try:
            async with asyncio.timeout(limit_s):
                status, body = await self._post(url, headers, encode_json(event))
        except TimeoutError:
            raise HookFailed(f"{without_login(url)} gave no answer within {limit_s:g} s") from None
        except (HttpError, OSError, ValueError) as error:
            raise HookFailed(f"{without_login(url)} could not be asked: {error}") from error
        if not 200 <= status < 300:
            raise HookFailed(f"{without_login(url)} answered with status {status}", is_soft=True)
        return read_output(type(event), 0, body.decode("utf-8", "replace"), "")

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        client = HttpClient({}, addresses=self._addresses)  # no proxy: the address is what was configured
        try:
            async with client.exchange(Request("POST", url, headers, body, max_body_bytes=_MAX_BYTES)) as response:
                return response.status, await response.read_all(_MAX_BYTES)
        finally:
            await client.close()

    def _headers(self, handler: Mapping[str, Any]) -> dict[str, str]:
        given: Any = handler.get("headers") or {}
        if not isinstance(given, Mapping):
            raise HookFailed(f"its headers are {given!r}; give an object")
        allowed: Any = handler.get("allowedEnvVars") or ()
        names = frozenset(map(str, cast("list[Any]", allowed))) if isinstance(allowed, tuple | list) else _NO_NAMES

        def value_of(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            return self._variable(name) if name in names else ""

        headers = {str(k).lower(): _VARIABLE.sub(value_of, str(v)) for k, v in cast("Mapping[str, Any]", given).items()}
        for name, value in headers.items():
            if any(char in name + value for char in "\r\n\0"):
                raise HookFailed(f"its header {name!r} holds a line break")
        return headers

    def _variable(self, name: str) -> str:
        value = os.environ.get(name, "")
        if self._is_of_folder and is_provider_credential(name, value):
            raise HookFailed(f"it wants to send {name}, a key of a model provider; a folder's hook may not")
        return value

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        addresses = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
        for text in addresses:
            address = ipaddress.ip_address(text)
            plain = getattr(address, "ipv4_mapped", None) or address
            if any(plain in network for network in _METADATA if network.version == plain.version):
                raise HttpError(f"{host} leads to {text}, which may be a metadata service of a cloud", "invalid")
            if not self._may_be_private and (problem := address_problem(address)):
                raise HttpError(f"{host}: {problem}; a folder's hook may not reach it", "invalid")
        return addresses

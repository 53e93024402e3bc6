"""Who we are to one server: the token that goes with each request, and how another is had when it is refused."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from holdfast.host.http import HttpClient
from holdfast.mcp.auth.badge import AskPerson, NeedsAuthError, NoLoginError, Refused
from holdfast.mcp.auth.credentials import Credentials, CredentialStore, credential_key
from holdfast.mcp.auth.network import addresses_for
from holdfast.mcp.config import ServerConfig

__all__ = ["Login", "login_of"]


class Login:
    """The login to one server. Requests that are refused side by side lead to one new token."""

    def __init__(
        self,
        name: str,
        url: str,
        oauth: Mapping[str, Any],
        store: CredentialStore,
        key: str,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.url = url
        self._headers = headers or {}
        self.oauth = oauth
        """What the configuration says: `clientId`, `clientSecret`, `callbackPort`, `scopes` and the like."""
        self._store = store
        self._key = key
        self._lock = asyncio.Lock()

    @property
    def is_machine(self) -> bool:
        """A token is had without a person."""
        return self.oauth.get("grant") in ("client_credentials", "enterprise")

    @property
    def credentials(self) -> Credentials:
        """What is held now."""
        return self._store.load(self._key)

    def keep(self, credentials: Credentials) -> None:
        """Hold something else from now on."""
        self._store.save(self._key, credentials)

    @property
    def mark(self) -> str:
        """The token that goes with the next request; empty for none."""
        return self.credentials.access_token

    def headers(self) -> Mapping[str, str]:
        """What goes with the next request."""
        token = self.mark
        return {**self._headers, "authorization": f"Bearer {token}"} if token else self._headers

    def forget(self) -> bool:
        """Take away what is held; false when there was nothing."""
        return self._store.forget(self._key)

    async def renew(self, refused: Refused, ask: AskPerson | None) -> None:
        """Get another token after a refusal.

        Raises:
            NeedsAuthError: A person would have to log in, and cannot be asked here.
            McpError: It is not possible.
        """
        async with self._lock:
            if self.mark and self.mark != refused.mark:
                return  # somebody else was faster
            is_silent = self.is_machine or (self.credentials.can_renew and not refused.wants_more)
            if ask is None and not is_silent:
                raise NeedsAuthError(self.wanted(refused), refused)
            flow = await _loaded(self.name)
            client = HttpClient(os.environ, addresses=addresses_for(self.url))
            try:
                await flow.run(self, refused, client, ask)
            finally:
                await client.close()

    def wanted(self, refused: Refused) -> str:
        """What a person should do, in words."""
        what = "wants more rights" if refused.wants_more else "wants a login"
        return (
            f"The MCP server {self.name!r} {what} (HTTP {refused.status}). Log in: `holdfast mcp login {self.name}`; "
            "or give it a token: `holdfast mcp add … --header 'Authorization: Bearer …'`."
        )


def login_of(
    config: ServerConfig, store: CredentialStore, headers: Mapping[str, str] | None = None, *, place: str
) -> Login:
    """The login to a configured server. A folder's server has one of its own, whatever address it names."""
    key = credential_key(config.name, config.url, place if config.scope == "project" else "")
    return Login(config.name, config.url, config.oauth, store, key, headers=headers)


async def _loaded(name: str) -> Any:
    """The part that knows the protocol of logins; it is large, and loaded beside the event loop."""

    def load() -> Any:
        from holdfast.mcp.auth import flow  # noqa: PLC0415 - with the first refusal

        return flow

    try:
        return await asyncio.to_thread(load)
    except ImportError as error:
        raise NoLoginError(
            f"The MCP server {name!r} wants a login, and what is needed for that is not installed ({error.name}): "
            "pip install 'holdfast[mcp]', or give the server a token by a header"
        ) from error

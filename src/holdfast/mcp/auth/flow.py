"""The protocol of logins (OAuth 2.1), by the provider of the MCP SDK; its requests go out by our own channel.

The provider is a generator: it gives a request, and wants the answer to it. The request that was refused is not sent
again here: as soon as there is a fresh token the one who asked sends it anew.
"""

import time
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from holdfast.host.http import HttpClient, HttpError, Request
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson, NeedsAuthError, NoLoginError, Refused
from holdfast.mcp.auth.callback import Callback
from holdfast.mcp.auth.credentials import Credentials
from holdfast.mcp.auth.login import Login
from holdfast.mcp.wire import McpError

__all__ = ["run"]

_MAX_BYTES = 1 << 20
_MAX_STEPS = 40
_SILENT_S = 30.0
_LONGEST_S = 10 * 365 * 24 * 3600
"""No token is kept for longer, whatever is said of it: such a number may be none that can be written down."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_WELL_KNOWN = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


async def run(login: Login, refused: Refused, client: HttpClient, ask: AskPerson | None) -> None:
    """Get a fresh token, and keep it.

    Raises:
        NeedsAuthError: A person would have to log in, and cannot be asked here.
        McpError: It is not possible.
    """
    callback = Callback() if ask is not None and not login.is_machine else None
    try:
        memory = _Memory(login)
        provider: httpx2.Auth
        if login.is_machine:
            from holdfast.mcp.auth.machine import machine_provider  # noqa: PLC0415 - few logins are without a person

            provider = machine_provider(login, memory, _scopes(login), client)
        else:
            redirect_uri = await _listen(login, memory, callback)
            provider = _provider(login, refused, memory, redirect_uri, ask=ask, callback=callback)
        await _Driver(login, refused, client, provider).drive()
    except OAuthRegistrationError as error:
        raise NoLoginError(
            f"The MCP server {login.name!r} wants a login, and its login server does not register programs "
            f"({visible(str(error), limit_chars=300)}). Register one there and give its id: `holdfast mcp add … "
            "--client-id ID`; or give the server a token: `--header 'Authorization: Bearer …'`."
        ) from error
    except OAuthFlowError as error:
        raise McpError(
            f"The login to the MCP server {login.name!r} failed: {visible(str(error), limit_chars=500)}"
        ) from error
    except HttpError as error:
        raise McpError(f"The login to the MCP server {login.name!r} failed: {error}") from error
    except ValidationError as error:
        raise McpError(f"The login to the MCP server {login.name!r} failed: an answer is not as it must be") from error
    finally:
        if callback is not None:
            await callback.close()


class _Memory:
    """What the provider remembers, in our own store."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self.provider: OAuthClientProvider | None = None

    @property
    def kept(self) -> Credentials:
        return self._login.credentials

    async def get_tokens(self) -> OAuthToken | None:
        return _read(OAuthToken, self.kept.token)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        if tokens.expires_in is not None and tokens.expires_in > _LONGEST_S:
            tokens = tokens.model_copy(update={"expires_in": _LONGEST_S})
        kept = self.kept
        kept.name, kept.url = self._login.name, self._login.url
        kept.token = tokens.model_dump(mode="json", exclude_none=True)
        kept.expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        if self.provider is not None:
            kept.metadata = _dump(self.provider.context.oauth_metadata)
            kept.resource = _dump(self.provider.context.protected_resource_metadata)
        self._login.keep(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = self.kept
        kept.client = _dump(client_info)
        self._login.keep(kept)

    def client(self) -> OAuthClientInformationFull | None:
        """How the authorization server knows us: by the configuration, or by an earlier registration."""
        oauth = self._login.oauth
        if not oauth.get("clientId"):
            return _read(OAuthClientInformationFull, self.kept.client)
        secret = oauth.get("clientSecret")
        return OAuthClientInformationFull(
            client_id=str(oauth["clientId"]),
            client_secret=secret if isinstance(secret, str) else None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )


class _Provider(OAuthClientProvider):
    """The provider with what a configuration may fix."""

    issuer: str | None = None
    scopes: str | None = None

    def _expected_issuer(self) -> str:
        return self.issuer or super()._expected_issuer()

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        if self.scopes:
            self.context.client_metadata.scope = self.scopes
        return await super()._perform_authorization_code_grant()


async def _listen(login: Login, memory: _Memory, callback: Callback | None) -> str:
    """Where the browser comes back to: the address that the authorization server knows already, if it can be had."""
    if callback is None:
        return "http://localhost/callback"
    wanted = login.oauth.get("callbackPort")
    if isinstance(wanted, int) and 0 < wanted < 65536:
        try:
            return await callback.start(wanted)
        except OSError as error:
            raise McpError(f"the callbackPort {wanted} of {login.name!r} cannot be used: {error.strerror}") from error
    known = memory.client()
    uris = [] if known is None else known.redirect_uris or []
    port = urlsplit(str(uris[0])).port if uris else None
    if port is not None:
        try:
            return await callback.start(port)
        except OSError:
            kept = memory.kept
            kept.client = {}
            login.keep(kept)
    return await callback.start()


def _provider(
    login: Login,
    refused: Refused,
    memory: _Memory,
    redirect_uri: str,
    *,
    ask: AskPerson | None,
    callback: Callback | None,
) -> _Provider:
    async def show(url: str) -> None:
        if ask is None or callback is None:
            raise NeedsAuthError(login.wanted(refused), refused)
        if urlsplit(url).scheme != "https" and urlsplit(url).hostname not in _LOCAL:
            raise McpError(f"the login page of {login.name!r} is not encrypted: {visible(url, limit_chars=200)}")
        callback.expect(url)
        await ask(url, callback.give)

    async def wait() -> AuthorizationCodeResult:
        assert callback is not None
        returned = await callback.wait()
        return AuthorizationCodeResult(code=returned.code or "", state=returned.state, iss=returned.iss)

    metadata = OAuthClientMetadata(client_name="Holdfast", redirect_uris=[AnyUrl(redirect_uri)], software_id="holdfast")
    document = login.oauth.get("clientMetadataUrl")
    provider = _Provider(login.url, metadata, memory, show, wait, document if isinstance(document, str) else None)
    memory.provider = provider
    provider.scopes = _scopes(login)
    kept, context = memory.kept, provider.context
    context.oauth_metadata = _read(OAuthMetadata, kept.metadata)
    context.protected_resource_metadata = _read(ProtectedResourceMetadata, kept.resource)
    if refused.status == 401 and kept.can_renew:
        context.token_expiry_time = 1.0  # refused, so it is over, whatever it says of itself
    return provider


def _scopes(login: Login) -> str | None:
    found = login.oauth.get("scopes")
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return found if isinstance(found, str) else " ".join(map(str, listed)) or None


class _Driver:
    """Sends what the provider wants to be sent."""

    def __init__(self, login: Login, refused: Refused, client: HttpClient, provider: httpx2.Auth) -> None:
        self._login = login
        self._refused = refused
        self._client = client
        self._provider = provider
        headers = {"mcp-protocol-version": refused.protocol} if refused.protocol else {}
        self._request = httpx2.Request("POST", login.url, headers=headers)

    async def drive(self) -> None:
        """Until there is a fresh token."""
        await self._fix_metadata()
        flow = self._provider.async_auth_flow(self._request)
        try:
            outgoing = await anext(flow)
            for _ in range(_MAX_STEPS):
                if outgoing is self._request:
                    if self._is_fresh():
                        return
                    response = self._as_refused()
                else:
                    response = await self._send(outgoing)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            pass
        finally:
            await flow.aclose()
        raise McpError(f"The login to the MCP server {self._login.name!r} came to no end.")

    def _is_fresh(self) -> bool:
        return self._login.mark not in ("", self._refused.mark)

    def _as_refused(self) -> httpx2.Response:
        kept = {name: value for name, value in self._refused.headers.items() if name == "www-authenticate"}
        return httpx2.Response(self._refused.status, headers=kept, content=self._refused.body, request=self._request)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        url = self._address(request)
        if url.scheme != "https" and url.host not in _LOCAL and url.host != urlsplit(self._login.url).hostname:
            raise McpError(
                f"the login to {self._login.name!r} would go unencrypted to {visible(str(url), limit_chars=200)}"
            )
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        sent = Request(request.method, str(url), headers, request.content, idle_timeout_s=_SILENT_S)
        async with self._client.exchange(sent) as response:
            body = await response.read_all(_MAX_BYTES)
        answer = httpx2.Response(response.status, headers=_plain(response.headers), content=body, request=request)
        place = response.headers.get("location")
        if 300 <= response.status < 400 and place and request.method == "GET":
            answer.next_request = httpx2.Request("GET", urljoin(str(url), place), headers=headers)
        return answer

    def _address(self, request: httpx2.Request) -> httpx2.URL:
        given = self._login.oauth.get("authServerMetadataUrl")
        if isinstance(given, str) and any(part in request.url.path for part in _WELL_KNOWN):
            return httpx2.URL(given)
        return request.url

    async def _fix_metadata(self) -> None:
        """The configuration says where the authorization server describes itself: who it is stands there, too."""
        given, provider = self._login.oauth.get("authServerMetadataUrl"), self._provider
        if not isinstance(given, str) or not isinstance(provider, _Provider):
            return
        response = await self._send(httpx2.Request("GET", given))
        try:
            provider.issuer = str(OAuthMetadata.model_validate_json(response.content).issuer)
        except ValidationError as error:
            raise McpError(f"authServerMetadataUrl of {self._login.name!r} does not describe a login server") from error


def _plain(headers: dict[str, str]) -> dict[str, str]:
    """Without what was true of the bytes on the wire only."""
    return {name: value for name, value in headers.items() if name not in ("content-encoding", "transfer-encoding")}


def _dump(model: BaseModel | None) -> dict[str, Any]:
    return {} if model is None else model.model_dump(mode="json", exclude_none=True)


def _read(kind: Any, data: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(data) if data else None
    except ValidationError:
        return None

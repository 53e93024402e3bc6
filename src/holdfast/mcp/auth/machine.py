"""Logins without a person: a secret or a key of the program itself, or what the user's company vouches for."""

import warnings
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

import httpx2
import msgspec
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

from holdfast.host.http import HttpClient, Request
from holdfast.mcp.auth.login import Login
from holdfast.mcp.wire import McpError

__all__ = ["machine_provider"]

_MAX_BYTES = 1 << 20
_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:token-type:id-jag"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 - the name of a kind of token


def machine_provider(login: Login, memory: TokenStorage, scopes: str | None, client: HttpClient) -> httpx2.Auth:
    """Who gets a token by what the configuration holds.

    Raises:
        McpError: The configuration lacks something.
    """
    oauth = login.oauth
    id_, issuer = _needed(login, oauth, "clientId"), oauth.get("issuer")
    if oauth.get("grant") == "enterprise":
        return _enterprise(login, memory, scopes, client)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without an issuer the one that the server names is taken
        if oauth.get("privateKey"):
            algorithm = oauth.get("signingAlgorithm")
            signed = SignedJWTParameters(
                issuer=id_,
                subject=id_,
                signing_key=_needed(login, oauth, "privateKey"),
                signing_algorithm=algorithm if isinstance(algorithm, str) else "RS256",
            )
            assertion = signed.create_assertion_provider()
            return PrivateKeyJWTOAuthProvider(login.url, memory, id_, assertion, scopes, issuer)
        secret = _needed(login, oauth, "clientSecret")
        return ClientCredentialsOAuthProvider(login.url, memory, id_, secret, scope=scopes, issuer=issuer)


def _enterprise(login: Login, memory: TokenStorage, scopes: str | None, client: HttpClient) -> httpx2.Auth:
    """The company's identity provider vouches for the user, and the server's login takes its word."""
    oauth = login.oauth

    async def vouch(audience: str, resource: str) -> str:
        form = {
            "grant_type": _GRANT,
            "requested_token_type": _ASSERTION,
            "subject_token": _needed(login, oauth, "idToken"),
            "subject_token_type": _ID_TOKEN,
            "audience": audience,
            "resource": resource,
            "client_id": _needed(login, oauth, "idpClientId"),
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        request = Request("POST", _needed(login, oauth, "idpTokenEndpoint"), headers, urlencode(form).encode())
        async with client.exchange(request) as response:
            body = await response.read_all(_MAX_BYTES)
        try:
            said = msgspec.json.decode(body) if response.is_success else None
        except (msgspec.DecodeError, RecursionError):
            said = None
        found = cast("dict[str, Any]", said).get("access_token") if isinstance(said, dict) else None
        if not isinstance(found, str):
            raise McpError(
                f"the identity provider for {login.name!r} did not accept the client (HTTP {response.status})"
            )
        return found

    return IdentityAssertionOAuthProvider(
        login.url,
        memory,
        _needed(login, oauth, "clientId"),
        _needed(login, oauth, "clientSecret"),
        issuer=_needed(login, oauth, "issuer"),
        assertion_provider=vouch,
        scope=scopes,
        token_endpoint_auth_method="client_secret_basic",  # noqa: S106 - the name of a way, no password
    )


def _needed(login: Login, oauth: Mapping[str, Any], key: str) -> str:
    found = oauth.get(key)
    if not isinstance(found, str) or not found:
        raise McpError(f"the oauth part of the MCP server {login.name!r} lacks `{key}`")
    return found

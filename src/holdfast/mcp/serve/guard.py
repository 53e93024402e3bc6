"""Who may speak to a server on an address: a token, and no web page that was lured to it."""

import base64
import binascii
import hmac
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from holdfast.host.web_server import WebRequest
from holdfast.mcp.handshake import MODERN
from holdfast.mcp.parameter_headers import header_names, parameter_headers
from holdfast.mcp.wire import HEADER_MISMATCH, Incoming, RpcError, read_object

__all__ = ["Gate", "Refusal", "check_headers", "keep_token"]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ROUTING = ("mcp-protocol-version", "mcp-method", "mcp-name")


class Refusal(NamedTuple):
    """Why a request is not looked at."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...] = ()


class Gate:
    """Looks at every request first: its Host, its Origin, its token."""

    def __init__(self, token: str | None, hosts: Iterable[str] = ()) -> None:
        """Take what counts.

        Args:
            token: What `Authorization: Bearer` must carry; none for tests of the protocol itself.
            hosts: Names besides the loopback ones under which the server is reached.
        """
        self._token = token
        self._hosts = LOOPBACK | {host.lower().strip("[]") for host in hosts}

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Why the request must not count; none if it may."""
        if request.count("host") != 1 or _host_of(f"//{request.header('host')}") not in self._hosts:
            return Refusal(403, "this Host is not served here; name it with --allow-host")
        origin = request.header("origin")
        if origin is not None and _host_of(origin) not in self._hosts:
            return Refusal(403, "this Origin is not allowed; web pages elsewhere may not use this server")
        if self._token is not None and not self._is_known(request):
            return Refusal(401, "the bearer token is missing or wrong", (("www-authenticate", "Bearer"),))
        return None

    def _is_known(self, request: WebRequest) -> bool:
        kind, _, given = (request.header("authorization") or "").partition(" ")
        wanted = (self._token or "").encode()
        is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), wanted)
        return is_right and kind.lower() == "bearer" and request.count("authorization") == 1


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def check_headers(request: WebRequest, message: Incoming, schema_of: Callable[[str], Mapping[str, Any] | None]) -> None:
    """The newer protocol repeats in headers what the body says; both must agree.

    Raises:
        RpcError: They do not.
    """
    for name in _ROUTING:
        if request.count(name) > 1:
            raise RpcError(HEADER_MISMATCH, f"the header {name} is there more than once")
    params = read_object(message.params)
    version = _version(params)
    if version is not None and request.header("mcp-protocol-version") != version:
        raise RpcError(HEADER_MISMATCH, "the header mcp-protocol-version and the body name different versions")
    if request.header("mcp-method") != message.method:
        raise RpcError(HEADER_MISMATCH, "the header mcp-method and the body name different methods")
    named = params.get(_NAMED.get(message.method or "", ""))
    if named is not None and _decoded(request.header("mcp-name")) != named:
        raise RpcError(HEADER_MISMATCH, "the header mcp-name and the body name different things")
    schema = schema_of(named) if message.method == "tools/call" and isinstance(named, str) else None
    if schema is not None:
        _check_arguments(request, schema, params.get("arguments"))


def _check_arguments(request: WebRequest, schema: Mapping[str, Any], arguments: object) -> None:
    given: Mapping[str, Any] = cast("Mapping[str, Any]", arguments) if isinstance(arguments, dict) else {}
    wanted = parameter_headers(schema, given)
    named = {name for name, _ in request.headers if name.startswith("mcp-param-")}
    for name in (named & header_names(schema)) | wanted.keys():
        said = request.header(name)
        if request.count(name) > 1 or name not in wanted or _decoded(said) != _decoded(wanted[name]):
            raise RpcError(HEADER_MISMATCH, f"the header {name[:80]} and the argument do not agree")


def _version(params: dict[str, object]) -> object:
    meta = params.get("_meta")
    return meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else MODERN  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _decoded(value: str | None) -> str | None:
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        found = base64.b64decode(value[9:-2], validate=True)
        return found.decode() if base64.b64encode(found).decode() == value[9:-2] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def keep_token(path: str, *, renew: bool = False) -> str:
    """The token of this user's server, made with the first start and kept in a file that only the user reads."""
    if not renew:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            pass
        else:
            with os.fdopen(handle, "rb") as file:
                known = file.read(200).decode("ascii", "replace").strip()
                if len(known) >= 32 and not os.fstat(file.fileno()).st_mode & 0o077:
                    return known
    token = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    fresh = f"{path}.{os.urandom(4).hex()}"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"{token}\n")
    os.replace(fresh, path)
    return token

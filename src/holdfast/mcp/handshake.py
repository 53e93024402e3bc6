"""How a connection begins: the newer protocol is tried first, and whoever does not know it is greeted the older way."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from holdfast.mcp.session import Limits, Session
from holdfast.mcp.wire import UNSUPPORTED_VERSION, McpError, RpcError, read_object

__all__ = ["MODERN", "Era", "Greeting", "LostByQuestionError", "greet"]

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_PREFIX = "io.modelcontextprotocol/"
Era = Literal["unknown", "older", "only older"]
_PROBE_S = 5.0
"""A program may not answer a question that it does not know; behind an address there is always an answer."""


class LostByQuestionError(McpError):
    """It was lost when it was asked whether it speaks the newer protocol."""


class Greeting(NamedTuple):
    """What the server said about itself."""

    version: str
    capabilities: Mapping[str, Any]
    instructions: str
    server: Mapping[str, Any]

    @property
    def is_modern(self) -> bool:
        """Each request stands for itself; there is no session to begin or end."""
        return self.version == MODERN


async def greet(
    session: Session,
    capabilities: Mapping[str, Any],
    *,
    who: Mapping[str, Any],
    timeout_s: float,
    era: Era = "unknown",
    may_be_silent: bool = True,
) -> Greeting:
    """Find out what the server speaks, and begin.

    Args:
        session: The connection.
        capabilities: What we can do for the server.
        who: Our name and version.
        timeout_s: How long an answer may take.
        may_be_silent: It may leave questions that it does not know without an answer.
        era: What it spoke the last time, so that one question is saved; `only older`: the newer protocol is not tried.

    Raises:
        McpError: It does not answer, or speaks no version that we do.
    """
    probe_s = min(_PROBE_S, timeout_s) if may_be_silent else timeout_s
    if era == "unknown" and (found := await _discover(session, capabilities, who, probe_s)) is not None:
        return found
    try:
        return await _initialize(session, capabilities, who, timeout_s)
    except RpcError as error:
        # A slow server may take our first question after all, and then speaks the newer version only; and one that
        # spoke the older version the last time may be newer today.
        if era == "only older" or (era == "unknown" and error.code != UNSUPPORTED_VERSION):
            raise
        found = await _discover(session, capabilities, who, probe_s)
        if found is None:
            raise
        return found


async def _discover(
    session: Session, capabilities: Mapping[str, Any], who: Mapping[str, Any], probe_s: float
) -> Greeting | None:
    """The newer way; None when the server does not know it. Only a server that is newer than we are is an error."""
    session.meta = {
        f"{_PREFIX}protocolVersion": MODERN,
        f"{_PREFIX}clientInfo": who,
        f"{_PREFIX}clientCapabilities": capabilities,
    }
    try:
        result = await _ask_twice(session, Limits(probe_s))
    except RpcError as error:
        session.meta = None
        supported = _supported(error.data) if error.code == UNSUPPORTED_VERSION else None
        if supported is not None and not set(supported) & {*LEGACY, MODERN}:
            raise McpError(f"The MCP server {session.name!r} speaks only {', '.join(supported)[:200]}.") from error
        return None
    except McpError as error:
        session.meta = None
        if getattr(error, "needs_auth", False):
            raise
        if session.why_lost is not None:
            raise LostByQuestionError(str(error)) from error
        return None
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or MODERN not in versions:
        session.meta = None
        return None
    info = _object(result.get("_meta")).get(f"{_PREFIX}serverInfo") or result.get("serverInfo")
    return Greeting(MODERN, _object(result.get("capabilities")), _text(result.get("instructions")), _object(info))


async def _ask_twice(session: Session, limits: Limits) -> Mapping[str, Any]:
    """A server that refuses our version and then names that same one gets the question once more."""
    try:
        return read_object(await session.request("server/discover", {}, limits))
    except RpcError as error:
        if error.code != UNSUPPORTED_VERSION or MODERN not in (_supported(error.data) or ()):
            raise
    return read_object(await session.request("server/discover", {}, limits))


async def _initialize(
    session: Session, capabilities: Mapping[str, Any], who: Mapping[str, Any], timeout_s: float
) -> Greeting:
    params = {"protocolVersion": LEGACY[0], "capabilities": capabilities, "clientInfo": who}
    result = read_object(await session.request("initialize", params, Limits(timeout_s)))
    version = result.get("protocolVersion")
    if version not in LEGACY:
        raise McpError(f"The MCP server {session.name!r} speaks version {version!r}, which is not known here.")
    greeting = Greeting(
        str(version),
        _object(result.get("capabilities")),
        _text(result.get("instructions")),
        _object(result.get("serverInfo")),
    )
    session.version = greeting.version
    await session.notify("notifications/initialized", limit_s=timeout_s)
    return greeting


def _supported(data: object) -> list[str] | None:
    found = _object(data).get("supported")
    return [str(version) for version in cast("list[Any]", found)] if isinstance(found, list) else None


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

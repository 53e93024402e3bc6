"""What a host's own MCP servers have said already: their handshake is answered from it, without asking the host."""

from collections.abc import Mapping
from typing import Any, cast

from holdfast.mcp.handshake import LEGACY
from holdfast.mcp.host_transport import AskHost

__all__ = ["answering_from", "manifest_states"]

Line = dict[str, Any]
_METHOD_NOT_FOUND = -32601


def manifest_states(asked: Line, *, is_again: bool = False) -> dict[str, str] | None:
    """What becomes of each manifest, by the server's name; None where the host sent none.

    Args:
        asked: The host's request `initialize`.
        is_again: It is not the first one, so its servers are connected.
    """
    names: Any = asked.get("sdkMcpServers")
    if "sdkMcpServerManifests" not in asked or not isinstance(names, list) or not names:
        return None
    given: Any = asked["sdkMcpServerManifests"]
    if not isinstance(given, dict):
        return dict.fromkeys(map(str, cast("list[Any]", names)), "malformed")
    manifests = cast("Line", given)
    return {
        name: _state(manifests[name], is_again=is_again)
        for name in map(str, cast("list[Any]", names))
        if name in manifests
    }


def _state(manifest: Any, *, is_again: bool) -> str:
    about = cast("Line", manifest) if isinstance(manifest, dict) else {}
    greeting: Any = about.get("initializeResult")
    if not isinstance(greeting, dict) or not isinstance(about.get("toolsListResult", {}), dict):
        return "malformed"
    if is_again:
        return "already_connected"
    return "parked" if cast("Line", greeting).get("protocolVersion") == LEGACY[0] else "protocol_version_mismatch"


def answering_from(asked: Line, ask: AskHost) -> AskHost:
    """Ask the host's servers, but answer the first handshake of each from what the host has sent of it."""
    states = manifest_states(asked) or {}
    parked: dict[str, Line] = {
        name: dict(asked["sdkMcpServerManifests"][name]) for name, state in states.items() if state == "parked"
    }
    if not parked:
        return ask

    async def answer(name: str, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        manifest = parked.get(name)
        if manifest is None:
            return await ask(name, message)
        method = message.get("method")
        if method == "server/discover":  # what the host has sent is the older handshake
            return {"id": message.get("id"), "error": {"code": _METHOD_NOT_FOUND, "message": "Method not found"}}
        if method == "initialize" and (greeting := manifest.pop("initializeResult", None)) is not None:
            return {"id": message.get("id"), "result": greeting}
        if method == "notifications/initialized":
            if "toolsListResult" not in manifest:
                del parked[name]
            return None
        del parked[name]  # only the handshake is known; whatever comes next is asked
        if method == "tools/list" and not message.get("params", {}).get("cursor"):
            return {"id": message.get("id"), "result": manifest["toolsListResult"]}
        return await ask(name, message)

    return answer

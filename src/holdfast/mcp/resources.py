"""ListMcpResourcesTool and ReadMcpResourceTool: what servers hold ready to be read."""

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field

from holdfast.contract import Args, RuleSubject, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.mcp.hub import Hub
    from holdfast.mcp.server import Server

__all__ = ["ListMcpResources", "ReadMcpResource", "resource_tools"]

_MAX_LISTED = 1000


class ListArgs(Args):
    """Whose resources."""

    server: Annotated[str | None, Field(description="Only this server")] = None


class ReadArgs(Args):
    """Which resource."""

    server: Annotated[str, Field(description="The server's name")]
    uri: Annotated[str, Field(description="The resource's address")]


class _OfServers:
    """What both share."""

    def __init__(self, hub: "Hub") -> None:
        self._hub = hub

    def _server(self, name: str) -> "Server":
        server = self._hub.find(name)
        if server is None:
            known = ", ".join(self._hub.servers) or "none"
            raise ToolFailed(f"There is no MCP server {name!r}; there are: {known}.")
        return server


class ListMcpResources(_OfServers, Tool[ListArgs, list[dict[str, Any]]]):
    """Lists them."""

    name = "ListMcpResourcesTool"
    aliases = ("mcp__listResources",)
    search_hint = "list documents data offered by connected servers"
    args_type = ListArgs
    max_result_chars = 100_000
    read_only = True
    concurrency_safe = True
    should_defer = True

    def prompt(self, facts: Any = None) -> str:
        """The text for the model."""
        del facts
        return "List the resources that the connected MCP servers offer, each with its server and its address (uri)."

    def permission_matcher(self, args: ListArgs, ctx: ToolContext) -> RuleSubject:
        """By the server."""
        del ctx
        return RuleSubject("mcp", args.server or "")

    async def call(self, args: ListArgs, ctx: ToolContext) -> ToolResult[list[dict[str, Any]]]:
        """Ask each server that has some; one that fails does not hide the others."""
        del ctx
        servers = list(self._hub.servers.values()) if args.server is None else [self._server(args.server)]
        found: list[dict[str, Any]] = []
        for server in servers:
            try:
                listed = await server.list("resources/list", "resources")
            except McpError as error:
                if args.server is not None:
                    raise ToolFailed(str(error)) from error
                continue
            found += [_entry(item, server.label) for item in listed if isinstance(item.get("uri"), str)]
        return ToolResult(found[:_MAX_LISTED])


def _entry(item: dict[str, Any], server: str) -> dict[str, Any]:
    kept = {"uri": item["uri"], "name": str(item.get("name") or item["uri"])}
    kept |= {key: item[key] for key in ("mimeType", "description") if isinstance(item.get(key), str)}
    return {**kept, "server": server}


class ReadMcpResource(_OfServers, Tool[ReadArgs, dict[str, Any]]):
    """Reads one."""

    name = "ReadMcpResourceTool"
    search_hint = "read a document offered by a connected server"
    args_type = ReadArgs
    max_result_chars = 100_000
    read_only = True
    concurrency_safe = True
    should_defer = True

    def prompt(self, facts: Any = None) -> str:
        """The text for the model."""
        del facts
        return "Read one resource of an MCP server, by the server's name and the resource's address (uri)."

    def permission_matcher(self, args: ReadArgs, ctx: ToolContext) -> RuleSubject:
        """By the server."""
        del ctx
        return RuleSubject("mcp", args.server)

    async def call(self, args: ReadArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Read it; bytes go to a file."""
        del ctx
        server = self._server(args.server)
        try:
            answer = await server.request("resources/read", {"uri": args.uri})
            contents = answer.get("contents")
            items = cast("list[Any]", contents) if isinstance(contents, list) else []
            server.skills.check_read(args.uri, items)
        except McpError as error:
            raise ToolFailed(f"{server.label}: {error}") from error
        return ToolResult(
            {
                "contents": [
                    self._content(cast("dict[str, Any]", item), args.uri) for item in items if isinstance(item, dict)
                ]
            }
        )

    def _content(self, item: dict[str, Any], uri: str) -> dict[str, Any]:
        kept: dict[str, Any] = {"uri": str(item.get("uri") or uri)}
        media_type = item.get("mimeType")
        if isinstance(media_type, str):
            kept["mimeType"] = media_type
        if isinstance(item.get("text"), str):
            kept["text"] = item["text"]
        elif isinstance(item.get("blob"), str):
            kept |= self._saved(item["blob"], str(media_type or "application/octet-stream"))
        return kept

    def _saved(self, blob: str, media_type: str) -> dict[str, str]:
        save = self._hub.choices.save_blob
        try:
            data = base64.b64decode(blob, validate=True)
        except (binascii.Error, ValueError):
            return {"text": "[its data cannot be read]"}
        path = None if save is None else save(data, media_type)
        return {"text": f"[{len(data):,} bytes, not kept]"} if path is None else {"blobSavedTo": path}


def resource_tools(hub: "Hub") -> list[Tool]:
    """Both, where a server says that it has resources."""
    return [ListMcpResources(hub), ReadMcpResource(hub)] if hub.has_resources else []

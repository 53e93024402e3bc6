"""A server of the SDK of the protocol's authors, over pipes, with something of every kind."""

import asyncio
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, ListRoots, Resolve
from mcp.types import AudioContent, EmbeddedResource, ImageContent, ListRootsResult, TextContent, TextResourceContents
from pydantic import BaseModel

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
server = MCPServer("pipes", instructions="Call text first.")


class Name(BaseModel):
    name: str
    loud: bool = False


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool(structured_output=False)
def everything() -> list[TextContent | ImageContent | AudioContent | EmbeddedResource]:
    inside = TextResourceContents(uri="test://inside", mime_type="text/plain", text="inside")
    return [
        TextContent(type="text", text="words"),
        ImageContent(type="image", data=PICTURE, mime_type="image/png"),
        AudioContent(type="audio", data=PICTURE, mime_type="audio/wav"),
        EmbeddedResource(type="resource", resource=inside),
    ]


@server.tool()
def broken() -> str:
    raise ToolError("it is broken on purpose")


@server.tool()
async def steps(ctx: Context) -> str:
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "done"


def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool()
def greet(answer: Annotated[ElicitationResult[Name], Resolve(who)]) -> str:
    if answer.action != "accept":
        return f"nobody: {answer.action}"
    return f"hello {answer.data.name}{'!' if answer.data.loud else ''}"


def places() -> ListRoots:
    return ListRoots()


@server.tool()
def roots(found: Annotated[ListRootsResult, Resolve(places)]) -> str:
    return f"{len(found.roots)} roots"


@server.tool()
async def wait() -> str:
    await asyncio.sleep(300)
    return "late"


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(lambda: "later", name="later")
    await ctx.notify_tools_changed()
    if ctx.request_context.protocol_version < "2026":
        await ctx.session.send_tool_list_changed()
    return "grown"


@server.resource("test://note", mime_type="text/plain")
def note() -> str:
    return "a note"


@server.resource("test://bytes", mime_type="application/zip")
def some_bytes() -> bytes:
    return b"PK\x03\x04"


@server.prompt()
def review(what: str) -> str:
    """Looks at something."""
    return f"Please review {what}."


server.run("stdio")

"""`mcp__server__authenticate`: the login to a server that wants one, begun by the model and done by the user."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.contract import Args, McpInfo, Resource, Tool, ToolContext, ToolResult
from holdfast.mcp.auth.badge import NoLoginError
from holdfast.mcp.names import PREFIX
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.mcp.server import Server

__all__ = ["Authenticate", "Signing"]

_LOGIN_S = 600.0


class NoArgs(Args):
    """Nothing."""


class Signing:
    """The login to one server that is under way, if one is."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self._url: asyncio.Future[str] | None = None

    async def begin(self) -> str | None:
        """Begin, or look at the one that is under way; returns where the user logs in, None when all is well already.

        Raises:
            McpError: It is not possible.
        """
        if self._task is None or self._task.done() or self._url is None:
            self._url = asyncio.get_running_loop().create_future()
            self._task = self._server.spawn(self._sign_in(self._url))
        url = self._url
        await asyncio.wait([self._task, url], return_when=asyncio.FIRST_COMPLETED)
        if url.done() and not url.cancelled():
            return url.result()
        await self._task
        return None

    async def _sign_in(self, url: "asyncio.Future[str]") -> None:
        async def show(address: str, give: Callable[[str], bool]) -> None:
            del give
            if not url.done():
                url.set_result(address)

        try:
            async with asyncio.timeout(_LOGIN_S):
                await self._server.sign_in(show)
        except TimeoutError as error:
            raise McpError(f"nobody logged in within {_LOGIN_S / 60:.0f} minutes") from error
        except McpError as error:
            self._server.tell(f"The login to the MCP server {self._server.config.name} failed: {error}")
            raise


class Authenticate(Tool[NoArgs, dict[str, Any]]):
    """Begins the login. No browser is opened: the user decides what to open."""

    args_type = NoArgs
    max_result_chars = 10_000
    always_load = True

    def __init__(self, server: "Server", held: Resource) -> None:
        self.name = f"{PREFIX}{server.label}__authenticate"
        self.mcp_info = McpInfo(server.label, "authenticate")
        self.resources = (held,)
        self._label = server.label
        self._signing = Signing(server)

    def prompt(self, facts: Any = None) -> str:
        """The text for the model."""
        del facts
        return (
            f"The MCP server {self._label} wants the user to log in before its tools can be used. Call this to begin "
            "the login, then show the user the address that it returns. The server's tools appear when that is done."
        )

    async def call(self, args: NoArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Begin, and tell where the user has to go."""
        del args, ctx
        try:
            url = await self._signing.begin()
        except McpError as error:
            status = "unsupported" if isinstance(error, NoLoginError) else "error"
            return ToolResult({"status": status, "message": str(error)}, is_error=True)
        if url is None:
            message = f"The login to {self._label} is done without the user's help; its tools are there now."
            return ToolResult({"status": "auth_url", "message": message})
        message = (
            f"Ask the user to open this address in a browser, to log in to {self._label}: {url}\n"
            "Its tools appear by themselves when that is done."
        )
        return ToolResult({"status": "auth_url", "message": message, "authUrl": url})

    def to_blocks(self, out: dict[str, Any]) -> str:
        """What the model reads."""
        return str(out["message"])

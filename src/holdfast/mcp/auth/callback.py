"""Where a browser brings the user back to after a login: one address on the loopback, for one answer."""

import asyncio
from urllib.parse import parse_qs, urlsplit

from holdfast.host.web_server import Responder, WebRequest, WebServer
from holdfast.lib.visible import visible
from holdfast.mcp.wire import McpError

__all__ = ["Callback", "Returned"]

_PATH = "/callback"
_HOSTS = ("localhost", "127.0.0.1")
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Holdfast</title>"
    "<p>{text} You can close this page and go back to Holdfast.</p>"
)


class Returned:
    """What the browser brought: by the names of the protocol."""

    def __init__(self, query: str) -> None:
        values = parse_qs(query)
        self.code = _first(values, "code")
        self.state = _first(values, "state")
        self.iss = _first(values, "iss")
        self.error = _first(values, "error")
        self.error_description = _first(values, "error_description")


class Callback:
    """Listens until the answer to one login has come. What does not carry that login's own mark is not its answer."""

    def __init__(self) -> None:
        self._server = WebServer(self._handle, max_body_bytes=1024, max_connections=8)
        self._answer: asyncio.Future[Returned] = asyncio.get_running_loop().create_future()
        self._state: str | None = None
        self.redirect_uri = ""

    async def start(self, port: int = 0) -> str:
        """Listen; returns the address for the browser.

        Raises:
            OSError: The port cannot be used.
        """
        found = await self._server.start("127.0.0.1", port)
        self.redirect_uri = f"http://localhost:{found}{_PATH}"
        return self.redirect_uri

    def expect(self, authorization_url: str) -> None:
        """Only an answer to this address counts from now on."""
        self._state = _first(parse_qs(urlsplit(authorization_url).query), "state")

    def give(self, address: str) -> bool:
        """Take the address where the browser ended, as the user saw it; false when it is no answer."""
        try:
            query = urlsplit(address.strip()).query
        except ValueError:
            return False
        return self._take(Returned(query))

    async def wait(self) -> Returned:
        """The answer.

        Raises:
            McpError: The user or the authorization server said no.
        """
        returned = await self._answer
        if returned.error is not None:
            why = visible(returned.error_description or "", limit_chars=300)
            error = visible(returned.error, limit_chars=100)
            raise McpError(f"the login was refused: {error}{f' ({why})' if why else ''}")
        return returned

    async def close(self) -> None:
        """Listen no more."""
        self._answer.cancel()
        await self._server.close()

    def _take(self, returned: Returned) -> bool:
        is_answer = self._state is not None and returned.state == self._state
        if not is_answer or not (returned.code or returned.error) or self._answer.done():
            return False
        self._answer.set_result(returned)
        return True

    async def _handle(self, request: WebRequest, responder: Responder) -> None:
        target = urlsplit(request.target)
        host = urlsplit(f"//{request.header('host') or ''}").hostname
        if request.method != "GET" or target.path != _PATH or host not in _HOSTS:
            await responder.whole(404)
            return
        is_taken = self._take(Returned(target.query))
        text = "The answer has arrived." if is_taken else "This is not an answer to a login that is under way."
        headers = [("content-type", "text/html; charset=utf-8"), ("connection", "close"), ("cache-control", "no-store")]
        await responder.whole(200 if is_taken else 400, _PAGE.format(text=text).encode(), headers)


def _first(values: dict[str, list[str]], name: str) -> str | None:
    found = values.get(name)
    return found[0] if found else None

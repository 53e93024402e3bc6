"""`holdfast mcp serve --transport http`: the same server on an address, behind a token."""

import asyncio
import ipaddress
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

import click

from holdfast.app import Options
from holdfast.app.serve import served, token_path
from holdfast.cli.options import tell, warn
from holdfast.contract import Fatal, UsageError
from holdfast.host.web_server import WebServer
from holdfast.mcp.serve.guard import Gate, keep_token
from holdfast.mcp.serve.http import MAX_BODY_BYTES, HttpEndpoint

__all__ = ["HttpChoices", "serve_http"]


class HttpChoices(NamedTuple):
    """Where the server is reached."""

    host: str
    port: int
    names: tuple[str, ...]
    new_token: bool


async def serve_http(options: Options, approver: str | None, choices: HttpChoices) -> int:
    """Serve until a signal comes; returns the exit code."""
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, 128 + number)
    async with served(options, approver=approver, on_notice=tell) as session:
        warn(session.opened.rights)
        session.ended.add_done_callback(lambda task: _ended(task, stop))
        token_file = token_path()
        token = keep_token(token_file, renew=choices.new_token)
        endpoint = HttpEndpoint(session.service, Gate(token, (choices.host, *choices.names)))
        server = WebServer(endpoint.handle, max_body_bytes=MAX_BODY_BYTES)
        try:
            port = await server.start(choices.host, choices.port)
        except OSError as error:
            where, why = f"{choices.host}:{choices.port}", error.strerror or error
            raise UsageError(f"{where} cannot be listened on ({why}); choose another --port") from error
        _say(choices.host, port, token, token_file)
        try:
            return await stopped
        finally:
            await endpoint.close()
            await server.close()


def _say(host: str, port: int, token: str, token_file: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{port}/mcp")
    sys.stdout.flush()
    tell(f"clients must send the header `Authorization: Bearer …` with the token in {token_file}")
    if sys.stderr.isatty():
        tell(f"the token: {token}")
    if not _is_loopback(host):
        tell(f"{host} can be reached by other machines, and what passes is not encrypted; put a TLS proxy before it")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ended(task: "asyncio.Task[None]", stop: Callable[[int], None]) -> None:
    if not task.cancelled() and isinstance(task.exception(), Fatal):
        tell(str(task.exception()))
        stop(1)

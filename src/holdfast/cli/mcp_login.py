"""`holdfast mcp login` and `logout`: what a server gives the user, had by a browser, kept and taken away again."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Generator

import click

from holdfast.app import Options, load_rights, open_session
from holdfast.app.begin import SessionChoice
from holdfast.app.servers import credential_store, join_servers
from holdfast.cli.options import tell
from holdfast.contract import UsageError
from holdfast.lib.visible import visible
from holdfast.mcp.auth.login import login_of
from holdfast.mcp.config import parse_server
from holdfast.settings.mcp_servers import ServerEntry

__all__ = ["log_in", "log_out"]

_LOGIN_S = 600.0


async def log_in(entry: ServerEntry, options: Options, *, opens: bool) -> int:
    """Show where to log in, wait for it, and say what the server offers."""
    _check(entry)
    async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
        hub = await join_servers(opened, options, waits=False, on_notice=tell, only=entry.name)
        server = None if hub is None else hub.find(entry.name)
        if server is None:
            return 1
        was_asked = False

        async def show(url: str, give: Callable[[str], bool]) -> None:
            nonlocal was_asked
            was_asked = True
            click.echo(f"Open this address to log in to {visible(entry.name)}:\n\n  {visible(url)}\n")
            if opens:
                import webbrowser  # noqa: PLC0415 - only where it is wished

                await asyncio.to_thread(webbrowser.open, url)
            pasting.enter_context(_pasted(give))

        with contextlib.ExitStack() as pasting:
            try:
                async with asyncio.timeout(_LOGIN_S):
                    await server.sign_in(show)
            except TimeoutError as error:
                raise UsageError(f"nobody logged in within {_LOGIN_S / 60:.0f} minutes") from error
        how = "You are logged in" if was_asked else "No login was needed"
        click.echo(f"{how}; {visible(entry.name)} offers {len(server.tools)} tools.")
    return 0


@contextlib.contextmanager
def _pasted(give: Callable[[str], bool]) -> Generator[None]:
    """In a terminal the address where the browser ended can be pasted, such as when it runs on another machine."""
    if not sys.stdin.isatty():
        yield
        return
    tell("waiting for the browser; if it ends at a page that cannot be reached, paste that page's address here")
    loop = asyncio.get_running_loop()

    def take() -> None:
        line = os.read(sys.stdin.fileno(), 65536).decode("utf-8", "replace")
        if not line:
            loop.remove_reader(sys.stdin.fileno())
        elif line.strip() and not give(line):
            tell("that is not the address that this login leads to")

    loop.add_reader(sys.stdin.fileno(), take)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin.fileno())


def log_out(entry: ServerEntry, options: Options) -> int:
    """Take away what is kept of a login."""
    _check(entry)
    settings = load_rights(options).settings
    login = login_of(parse_server(entry), credential_store(settings), place=settings.root)
    if not login.forget():
        click.echo(f"You are not logged in to {visible(entry.name)}.")
        return 0
    click.echo(f"The login to {visible(entry.name)} is forgotten here; the server may know it until it ends.")
    return 0


def _check(entry: ServerEntry) -> None:
    if not parse_server(entry).url:
        raise UsageError(f"{entry.name!r} is a program on this machine; only servers behind an address have logins")

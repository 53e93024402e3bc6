"""The commands of `holdfast mcp` that start servers, or decide that one may start."""

import asyncio
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from holdfast.app import Options, load_rights, open_session
from holdfast.app.begin import SessionChoice
from holdfast.app.servers import choose_servers, join_servers, server_records
from holdfast.cli.options import tell
from holdfast.cli.wire import result_line
from holdfast.contract import HoldfastError, ToolUse, UsageError
from holdfast.events import CallFinished, encode_json
from holdfast.lib.visible import visible, without_controls
from holdfast.registry import project
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.hook_items import mcp_server_hash, outside_hash
from holdfast.settings.mcp_servers import ServerEntry, ServerList

if TYPE_CHECKING:
    from holdfast.mcp.remote_tool import Listed
    from holdfast.mcp.server import Server

__all__ = ["approve_server", "call_tool", "list_tools", "looked_at", "only_this"]


class _Notices:
    """What is told of a server that is looked at; why it cannot be reached is told once, as the command's end."""

    def __init__(self) -> None:
        self._kept: list[str] | None = []

    def __call__(self, text: str) -> None:
        """Tell it, or keep it until it is known whether the server can be reached."""
        if self._kept is None:
            tell(text)
        else:
            self._kept.append(text)

    async def reach(self, server: "Server") -> None:
        """Connect.

        Raises:
            McpError: It is not possible.
        """
        end = ""
        try:
            await server.ensure()
        except HoldfastError as error:
            end = str(error).rstrip(".")
            raise
        finally:
            kept, self._kept = self._kept or [], None
            for text in kept:
                if text.rstrip(".") != end:
                    tell(text)


async def looked_at(options: Options, *, limit_s: float | None = None) -> dict[str, str]:
    """Start each server for a moment, as a session would, and say how it does."""
    async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
        hub = await join_servers(opened, options, waits=False, on_notice=lambda _: None)
        if hub is None:
            return {}
        ready = [asyncio.ensure_future(server.ensure()) for server in hub.servers.values()]
        await asyncio.wait(ready, timeout=limit_s)
        for one in ready:
            if not one.cancel() and not one.cancelled():
                one.exception()  # its state says the same
        return {
            server.config.name: f"connected, {len(server.tools)} tools{_off(server)}"
            if server.state == "connected"
            else f"{server.state}: {visible(server.detail, limit_chars=300) or 'it has not answered yet'}"
            for server in hub.servers.values()
        }


def _off(server: "Server") -> str:
    """That some are off because they say something else than at first."""
    count = len(server.record.changed)
    return f"; {count} changed and off: holdfast mcp approve {visible(server.config.name)}" if count else ""


def _as_flag(entry: ServerEntry) -> str:
    return encode_json({"mcpServers": {entry.name: dict(entry.config)}}).decode()


async def list_tools(entry: ServerEntry, options: Options, *, as_json: bool) -> int:
    """Start a server and list its tools."""
    options = only_this(entry, options)
    async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
        notices = _Notices()
        hub = await join_servers(opened, options, waits=False, on_notice=notices, only=entry.name)
        server = None if hub is None else hub.find(entry.name)
        if server is None:
            return 1
        await notices.reach(server)
        if as_json:
            click.echo(encode_json([project(tool) for tool in server.tools]))
            return 0
        for tool in server.tools:
            first, unseen = tool.description(), len(tool.prompt().strip()) - len(tool.description())
            about = visible(first, limit_chars=200) + (f" (and {unseen:,} characters more: --json)" if unseen else "")
            click.echo(f"{click.style(tool.name, bold=True)}  {about}")
        for name, reason in server.quarantined.items():
            tell(f"{visible(name)} is left out: {reason}")
        for name in server.record.changed:
            tell(f"{visible(name)} is off, because it has changed: holdfast mcp approve {visible(entry.name)}")
    return 0


async def call_tool(entry: ServerEntry, options: Options, tool: str, raw: str, *, as_json: bool) -> int:
    """Call one tool of a server. Who types the call here has said yes to it; deny rules hold all the same."""
    from holdfast.mcp.names import safe_part, tool_names  # noqa: PLC0415 - with the first server

    label = safe_part(entry.name)
    name = tool if tool.startswith("mcp__") else tool_names(label, [tool])[tool]
    options = only_this(entry, options)._replace(allowed_tools=(*options.allowed_tools, name))
    async with open_session(options, choice=SessionChoice(is_kept=False)) as opened:
        notices = _Notices()
        hub = await join_servers(opened, options, waits=False, on_notice=notices, only=entry.name)
        server = None if hub is None else hub.find(entry.name)
        if server is None:
            return 1
        await notices.reach(server)
        known = {one.name for one in (*server.tools, *server.own_tools)}
        if name not in known and tool not in server.record.changed:
            offered = ", ".join(visible(one.listed.name) for one in server.tools) or "none"
            raise UsageError(f"the MCP server {entry.name!r} has no tool {tool!r}; it has: {offered}")
        opened.executor.add(ToolUse(f"call-{os.urandom(4).hex()}", name, raw))
        reply = [event async for event in opened.executor.results() if isinstance(event, CallFinished)][-1]
    if as_json:
        click.echo(result_line(reply))
    else:
        content = reply.content
        shown = content if isinstance(content, str) else "\n".join(map(_shown, content))
        click.echo(without_controls(shown), err=reply.is_error)
    return 1 if reply.is_error else 0


def _shown(block: Any) -> str:
    return block["text"] if block["type"] == "text" else f"[{block['type']}]"


def only_this(entry: ServerEntry, options: Options) -> Options:
    """This one server; a folder's still needs its approval."""
    rights = load_rights(options)
    held = choose_servers(rights, ServerList((entry,))).held
    if entry.name in held:
        raise UsageError(f"the MCP server {entry.name!r} is not started: {held[entry.name]}")
    if entry.scope == "project":
        return options
    return options._replace(mcp_config=(_as_flag(entry),), strict_mcp_config=True)


def approve_server(entry: ServerEntry, options: Options, *, yes: bool, outside: bool = False) -> int:
    """Show what would count, and let it count if the person says so."""
    settings = load_rights(options).settings
    records, key = server_records(entry, settings.root)
    record = records.load(key)
    if entry.scope == "project":
        if not settings.trusted:
            raise UsageError("the folder is not trusted; look at what it brings with `holdfast trust` first")
        identity = mcp_server_hash(entry.name, entry.config, root=settings.root)
        wanted = [identity, *([outside_hash(identity)] if outside else [])]
        missing = [one for one in wanted if one not in settings.approved]
        if missing and not _approves(entry, settings.root, missing, yes=yes, outside=outside):
            return 1
    elif outside:
        raise UsageError("your own servers run outside the sandbox unless sandbox.alsoConfine names `servers`")
    if not record.changed:
        click.echo("None of its tools has changed since it was first seen.")
        return 0
    for name in record.changed:
        click.echo(f"The tool {click.style(visible(name), bold=True)} says something else than when it was first seen:")
        click.echo("\n".join(_difference(record.was.get(name), record.now.get(name))))
    if not _agrees("Approve the changed tools as they are now?", yes=yes):
        return 1
    accepted = record.accept()
    records.save(key, record)
    click.echo(f"{len(accepted)} {'tool' if len(accepted) == 1 else 'tools'} can be used again.")
    return 0


def _difference(was: "Listed | None", now: "Listed | None") -> Iterator[str]:
    """What a tool said and says, line by line, with nothing in it that could hide or fake anything."""
    from difflib import unified_diff  # noqa: PLC0415 - only where a tool has changed

    lines = unified_diff(_told(was), _told(now), n=1, lineterm="")
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _told(tool: "Listed | None") -> list[str]:
    if tool is None:
        return []
    schema = msgspec.json.format(msgspec.json.encode(tool.input_schema, order="sorted"), indent=2).decode()
    parts = [tool.title or "", tool.description or "", schema]
    return [visible(line) for part in parts for line in part.splitlines() if line]


def _approves(entry: ServerEntry, root: str, hashes: list[str], *, yes: bool, outside: bool) -> bool:
    """Show a folder's server, and let it count if the person says so."""
    click.echo(f"The folder's server {click.style(visible(entry.name), bold=True)} would be started as:")
    click.echo(visible(msgspec.json.encode(dict(entry.config)).decode()))
    where = ", outside the sandbox with all your rights," if outside else ""
    if not _agrees(f"Start it{where} in this folder from now on?", yes=yes):
        return False
    roots = SettingsRoots.from_environment()
    store = TrustStore(roots.state, home=roots.home)
    for one in hashes:
        store.approve(root, one)
    click.echo("It is approved. Should its configuration or its files change, it is asked about again.")
    return True


def _agrees(question: str, *, yes: bool) -> bool:
    if yes:
        return True
    try:
        return click.confirm(question, default=False, err=True)
    except click.Abort as error:
        click.echo(err=True)
        if isinstance(error.__context__, KeyboardInterrupt):
            raise
        tell("nobody could answer; ask in a terminal, or agree with --yes")
        return False

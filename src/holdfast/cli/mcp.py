"""`holdfast mcp`: the MCP servers of this place, and what can be done with them."""

import asyncio
import os
from typing import Any

import click
import msgspec

from holdfast.app import load_rights
from holdfast.app.servers import choose_servers, configured_servers
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.mcp_live import approve_server, call_tool, looked_at, only_this
from holdfast.cli.options import tell, to_options
from holdfast.cli.session_options import session_options
from holdfast.cli.standard_streams import read_argument
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.lib.visible import visible
from holdfast.settings import SettingsRoots
from holdfast.settings.mcp_save import keep_server, remove_server
from holdfast.settings.mcp_servers import PROJECT_FILE, ServerEntry, own_file

__all__ = ["command"]

_SCOPES = ("local", "user", "project")
_scope = click.option(
    "--scope",
    "-s",
    type=click.Choice(_SCOPES),
    default="local",
    show_default=True,
    help="For you in this folder, for you everywhere, or for everybody in this folder (.mcp.json).",
)
_OAUTH = {"clientId": "client_id", "clientSecret": "client_secret", "callbackPort": "callback_port"}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("mcp", cls=ListsByDefault)
def command() -> None:
    """List, add, inspect and call MCP servers. Without a command it lists them.

    \b
    holdfast mcp add everything -- npx -y @modelcontextprotocol/server-everything
    holdfast mcp tools everything
    holdfast mcp call everything echo '{"message": "hi"}'
    """  # noqa: D301 - click wants the character itself


@command.command("list")
@click.option("--check", is_flag=True, help="Start each server that may start, and print its state.")
@_as_json
@session_options
def list_servers(*, check: bool, as_json: bool, **given: Any) -> int:
    """List the configured servers, and which of them may start."""
    options = to_options(given)
    rights = load_rights(options)
    found = configured_servers(rights, options)
    chosen = choose_servers(rights, found)
    states = asyncio.run(looked_at(options)) if check else {}
    rows = [_row(entry, chosen.held.get(entry.name, ""), states.get(entry.name, "")) for entry in found.entries]
    if as_json:
        click.echo(encode_json(rows))
    else:
        for row in rows:
            name = click.style(visible(row["name"]), bold=True)
            click.echo(f"{name}  {row['scope']}  {row['target']}  {row['status']}")
        if not rows:
            click.echo("No MCP server is configured. Add one: holdfast mcp add NAME -- COMMAND", err=True)
    for problem in found.problems:
        tell(problem)
    return 0


def _row(entry: ServerEntry, held: str, state: str) -> dict[str, str]:
    config = entry.config
    words = [str(config.get("command", "")), *map(str, config.get("args") or ())]
    target = str(config.get("url") or " ".join(words))
    status = f"not started: {held}" if held else state or "ready to start"
    return {"name": entry.name, "scope": entry.scope, "target": visible(target, limit_chars=120), "status": status}


@command.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("target", nargs=-1, required=True, metavar="COMMAND… | URL")
@click.option("--transport", "-t", type=click.Choice(["stdio", "http", "sse"]), help="How it is reached.")
@click.option("--env", "-e", multiple=True, metavar="NAME=VALUE", help="A variable of the server.")
@click.option("--header", "-H", multiple=True, metavar="NAME: VALUE", help="A header, for a URL.")
@click.option("--client-id", metavar="ID", help="The client id that the login server knows Holdfast by.")
@click.option("--client-secret", metavar="TEXT", help="With --client-id; `${NAME}` reads a variable at the start.")
@click.option("--callback-port", type=click.IntRange(1, 65535), help="Where a login comes back to on this machine.")
@_scope
@session_options
def add(
    name: str,
    target: tuple[str, ...],
    *,
    transport: str | None,
    env: tuple[str, ...],
    header: tuple[str, ...],
    scope: str,
    **given: Any,
) -> int:
    """Add a server: a command behind `--`, or a URL."""
    is_url = target[0].startswith(("http://", "https://")) and transport != "stdio"
    oauth = {key: value for key, name in _OAUTH.items() if (value := given.pop(name)) is not None}
    config: dict[str, Any]
    _check_words(target[0], target[1:], is_url=is_url, wants_url=bool(header or oauth) or transport in ("http", "sse"))
    if is_url:
        config = {"type": transport or "http", "url": target[0]}
        if header:
            config["headers"] = dict(_pair(text, ":") for text in header)
        if oauth:
            config["oauth"] = oauth
    else:
        config = {"type": "stdio", "command": target[0], "args": list(target[1:])}
    if env:
        config["env"] = dict(_pair(text, "=") for text in env)
    return _keep(name, config, scope, given)


def _check_words(first: str, more: tuple[str, ...], *, is_url: bool, wants_url: bool) -> None:
    """Nothing that was given is ignored, and an address of another kind is no program."""
    if is_url and more:
        raise UsageError(f"a URL takes no arguments, and {more[0]!r} stands behind it")
    if not is_url and (wants_url or "://" in first):
        hint = " (--header and logins are for servers behind one)" if wants_url else ""
        raise UsageError(f"{first!r} is not a URL; one starts with https:// or http://{hint}")


def _pair(text: str, separator: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        raise UsageError(f"{text!r} must have the form NAME{separator}VALUE")
    return name.strip(), value.strip() if separator == ":" else value


@command.command("add-json", short_help="Add a server by its configuration as JSON.")
@click.argument("name")
@click.argument("config", metavar="JSON")
@_scope
@session_options
def add_json(name: str, config: str, *, scope: str, **given: Any) -> int:
    """Add a server by its configuration as JSON (`-` reads it from standard input)."""
    try:
        found: Any = msgspec.json.decode(read_argument(config))
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"the configuration is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError("the configuration must be a JSON object with `command` or `url`")
    return _keep(name, found, scope, given)  # pyright: ignore[reportUnknownArgumentType]


def _keep(name: str, config: dict[str, Any], scope: str, given: dict[str, Any]) -> int:
    from holdfast.mcp.config import parse_server  # noqa: PLC0415 - with the first server

    if not name.strip() or visible(name) != name:
        raise UsageError(f"{visible(name)!r} is no name for a server; take letters, digits, `-` and `_`")
    parsed = parse_server(ServerEntry(name, config, scope))
    settings = load_rights(to_options(given)).settings
    path, project = _file(scope, settings.root)
    replaced = keep_server(path, name, config, project=project, mode=0o644 if scope == "project" else 0o600)
    done = "changed" if replaced else "added"
    click.echo(f"The server {visible(name)} was {done} in {path}. Its tools are mcp__{parsed.label}__….")
    if scope == "project":
        click.echo(f"A folder's servers start once they are approved: holdfast mcp approve {visible(name)}")
    return 0


def _file(scope: str, root: str) -> tuple[str, str | None]:
    if scope == "project":
        return os.path.join(root, PROJECT_FILE), None
    return own_file(SettingsRoots.from_environment()), root if scope == "local" else None


def _entry(name: str, given: dict[str, Any]) -> ServerEntry:
    options = to_options(given)
    found = configured_servers(load_rights(options), options)
    for entry in found.entries:
        if entry.name == name:
            return entry
    known = ", ".join(visible(entry.name) for entry in found.entries) or "none"
    raise UsageError(f"no MCP server {name!r} is configured here; there are: {known}")


@command.command("get")
@click.argument("name")
@session_options
def get(name: str, **given: Any) -> int:
    """Show the configuration of a server, as JSON."""
    entry = _entry(name, given)
    shown = {"name": entry.name, "scope": entry.scope, "path": entry.path, "config": dict(entry.config)}
    click.echo(msgspec.json.format(encode_json(shown), indent=2))
    return 0


@command.command("remove")
@click.argument("name")
@click.option("--scope", "-s", type=click.Choice(_SCOPES), help="Where from; wherever it stands if omitted.")
@session_options
def remove(name: str, *, scope: str | None, **given: Any) -> int:
    """Take a server out of the file that names it."""
    entry = _entry(name, given)
    path, project = _file(scope or entry.scope, load_rights(to_options(given)).settings.root)
    if (scope or entry.scope) not in _SCOPES or not remove_server(path, name, project=project):
        raise UsageError(f"{name!r} does not stand in {path}, but in {entry.path}; take it out there")
    click.echo(f"The server {visible(name)} was taken out of {path}.")
    return 0


@command.command("tools")
@click.argument("name")
@_as_json
@session_options
def tools(name: str, *, as_json: bool, **given: Any) -> int:
    """Start a server and list its tools."""
    from holdfast.cli.mcp_live import list_tools  # noqa: PLC0415 - starts things

    return asyncio.run(list_tools(_entry(name, given), to_options(given), as_json=as_json))


@command.command("call", short_help="Call a tool of a server.")
@click.argument("name")
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@_as_json
@session_options
def call(name: str, tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Call a TOOL of a server, through the usual checks; what you type here yourself is not asked about."""
    raw = read_argument(arguments)
    return asyncio.run(call_tool(_entry(name, given), to_options(given), tool, raw, as_json=as_json))


@command.command("login", short_help="Log in to a server that wants it.")
@click.argument("name")
@click.option("--open", "opens", is_flag=True, help="Open the address in a browser.")
@session_options
def login(name: str, *, opens: bool, **given: Any) -> int:
    """Log in to a server that wants it: shows the address to open, and waits."""
    from holdfast.cli.mcp_login import log_in  # noqa: PLC0415 - few servers want it

    entry = _entry(name, given)
    return asyncio.run(log_in(entry, only_this(entry, to_options(given)), opens=opens))


@command.command("logout")
@click.argument("name")
@session_options
def logout(name: str, **given: Any) -> int:
    """Forget the login to a server."""
    from holdfast.cli.mcp_login import log_out  # noqa: PLC0415 - the same

    return log_out(_entry(name, given), to_options(given))


@command.command("approve", short_help="Approve a folder's server, or changed tools.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Without a further question; for people, not for scripts.")
@click.option("--outside-sandbox", is_flag=True, help="Let it run outside the sandbox, where there is one.")
@session_options
def approve(name: str, *, yes: bool, outside_sandbox: bool, **given: Any) -> int:
    """Look at a folder's server, or at tools that have changed, and let them count."""
    return approve_server(_entry(name, given), to_options(given), yes=yes, outside=outside_sandbox)


@command.command("serve", short_help="Offer Holdfast's tools to other programs, as an MCP server.")
@click.option("--transport", "-t", type=click.Choice(["stdio", "http"]), default="stdio", help="Pipes, or an address.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With http: the address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="With http; 0: any.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="With http: it is also reached by this name.")
@click.option("--new-token", is_flag=True, help="With http: make a new token; the old one becomes invalid.")
@click.option("--approver", metavar="COMMAND", help="Answers permission questions that a client cannot show.")
@session_options
def serve(
    *,
    transport: str,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    new_token: bool,
    approver: str | None,
    **given: Any,
) -> int:
    """Offer Holdfast's tools to any MCP client, with permissions, hooks, limits and the journal on.

    \b
    A call that needs permission is put to the client's user, if the client can do that (elicitation), else to the
    --approver program, which speaks the hook protocol (PermissionRequest), else it is refused with the reason.
    holdfast mcp serve --tools Read,Grep,Glob
    holdfast mcp serve --transport http --allowed-tools "Bash(git status)"
    """  # noqa: D301 - click wants the character itself
    options = to_options(given)
    if transport == "stdio":
        from holdfast.cli.mcp_serve import serve_stdio  # noqa: PLC0415 - only here

        return asyncio.run(serve_stdio(options, approver))
    from holdfast.cli.mcp_serve_http import HttpChoices, serve_http  # noqa: PLC0415 - most clients use pipes

    choices = HttpChoices(host, port, allow_host, new_token)
    return asyncio.run(serve_http(options, approver, choices))

"""The MCP servers that whoever runs a session gives it, switches off and takes back while it runs."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from holdfast.app.options import Options
from holdfast.app.servers import choose_servers, configured_servers, open_hub, server_configs
from holdfast.contract import UsageError
from holdfast.permissions.rules.grammar import Behavior, RuleSource, parse_rules
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.app.servers import Chosen
    from holdfast.mcp.hub import Hub
    from holdfast.mcp.server import Server

__all__ = ["ServersSet", "add_rules", "find_server", "hear_server", "set_servers", "switch_server"]

_log = logging.getLogger(__name__)


class ServersSet(NamedTuple):
    """What became of a new set of servers."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    errors: Mapping[str, str]
    """Why some of them do not work, by name."""


def find_server(agent: "RunningAgent", name: str) -> "Server":
    """A server of the session.

    Raises:
        UsageError: There is none of this name.
    """
    hub = agent.servers
    found = None if hub is None else hub.find(name)
    if found is None:
        known = "none" if hub is None else ", ".join(one.config.name for one in hub.servers.values()) or "none"
        raise UsageError(f"there is no MCP server {name!r} in this session; there are: {known}")
    return found


async def switch_server(agent: "RunningAgent", name: str, *, on: bool) -> None:
    """Switch a server off or on again: when it is off nothing of it can be called, and it is not connected.

    Raises:
        UsageError: There is none of this name.
    """
    server = find_server(agent, name)
    if not on:
        await server.switch_off()
    elif server.state == "disabled":
        server.switch_on()
        await _connected([server], _wait_s(agent.servers))


def hear_server(agent: "RunningAgent", name: str, message: Any) -> None:
    """Take a message of a server inside the program that runs the session.

    Raises:
        UsageError: There is no such server, or it is no message.
    """
    server = find_server(agent, name)
    if server.config.kind != "sdk":
        raise UsageError(f"the MCP server {name!r} does not live in the host, so the host cannot speak for it")
    if not isinstance(message, dict):
        raise UsageError(f"message must be a JSON object, got {message!r}")
    server.hear(msgspec.json.encode(cast("dict[str, Any]", message)))


async def set_servers(agent: "RunningAgent", configs: Mapping[str, Any]) -> ServersSet:
    """Let these be the servers that the host gives, in the place of those that it gave before.

    Servers inside the host go when they are not named again; those of files and of the command line stay.

    Raises:
        SettingsError: A configuration is none.
    """
    chosen, errors = _choose(agent, configs)
    removed = await _remove_old(agent, configs)
    present = {server.config.name for server in agent.servers.servers.values()} if agent.servers else set[str]()
    fresh = chosen._replace(entries=tuple(entry for entry in chosen.entries if entry.name not in present))
    servers = _start(agent, fresh, errors)
    agent.opened.given_servers = {name: msgspec.json.encode(config) for name, config in configs.items()}
    await _connected(servers, _wait_s(agent.servers))
    errors |= {
        server.config.name: server.detail or "it cannot be reached" for server in servers if server.state == "failed"
    }
    return ServersSet(tuple(server.config.name for server in servers), removed, errors)


def _choose(agent: "RunningAgent", configs: Mapping[str, Any]) -> "tuple[Chosen, dict[str, str]]":
    """Which of them may start, and why others may not."""
    text = msgspec.json.encode({"mcpServers": dict(configs)}).decode()
    found = configured_servers(agent.rights, Options(mcp_config=(text,), strict_mcp_config=True))
    found = found._replace(entries=tuple(entry for entry in found.entries if entry.scope == "flag"))
    chosen = choose_servers(agent.rights, found)
    errors = {name: f"it is not started: {reason}" for name, reason in chosen.held.items()}
    known = {entry.name for entry in found.entries}
    missing = "; ".join(found.problems) or "only the administrator's list of servers is used"
    errors |= {name: missing for name in configs if name not in known}
    return chosen, errors


async def _remove_old(agent: "RunningAgent", configs: Mapping[str, Any]) -> tuple[str, ...]:
    """End what was given before and is not there any more, or is another one now; the names of those that are gone."""
    hub, given = agent.servers, agent.opened.given_servers
    removed: list[str] = []
    for server in [] if hub is None else list(hub.servers.values()):
        name = server.config.name
        is_given = name in given or server.config.kind == "sdk"
        now = configs.get(name)
        if now is None and is_given:
            removed.append(name)
        elif now is None or given.get(name) == msgspec.json.encode(now):
            continue
        assert hub is not None
        await hub.remove(server)
    return tuple(removed)


def _start(agent: "RunningAgent", chosen: "Chosen", errors: dict[str, str]) -> "list[Server]":
    opened, hub = agent.opened, agent.servers
    said: list[str] = []
    if hub is None:
        hub = open_hub(chosen, opened, said.append, ask_host=opened.ask_host)
        servers = [] if hub is None else list(hub.servers.values())
    else:
        servers = [hub.add(config, key) for config, key in server_configs(chosen.entries, _root(agent), said.append)]
    for server in servers:
        server.start()
    started = {server.config.name for server in servers}
    errors |= {entry.name: "; ".join(said) or "it is none" for entry in chosen.entries if entry.name not in started}
    for text in said:
        _log.warning("%s", text)
    return servers


def _root(agent: "RunningAgent") -> str:
    return agent.rights.settings.root


async def _connected(servers: "Sequence[Server]", seconds: float) -> None:
    """Wait a moment for the first answer of each; who fails tries again by itself."""
    waiting = [asyncio.ensure_future(server.ensure()) for server in servers]
    if not waiting:
        return
    done, late = await asyncio.wait(waiting, timeout=seconds)
    for task in late:
        task.cancel()
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.info("%s", error)


def _wait_s(hub: "Hub | None") -> float:
    return 0.0 if hub is None else hub.choices.wait_s


def add_rules(agent: "RunningAgent", denies: Sequence[str], asks: Sequence[str]) -> None:
    """Rules of the host for the rest of the session; they only limit."""
    state = agent.opened.executor.state
    given: tuple[tuple[Behavior, Sequence[str]], ...] = (("deny", denies), ("ask", asks))
    for behavior, texts in given:
        rules, problems = parse_rules(texts, behavior, RuleSource(), aliases=ALIASES, known_tools=KNOWN_TOOLS)
        if problems:
            raise UsageError(f"the rule {problems[0].text!r} cannot be one: {problems[0].reason}")
        known = set(state.permissions.rules)
        state.permissions = state.permissions.with_rules(*(rule for rule in rules if rule not in known))

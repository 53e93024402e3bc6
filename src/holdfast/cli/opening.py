"""What a host asks for in its first request, `initialize`, and what it is told of the session."""

from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from holdfast.app.options import AgentOptions, Options
from holdfast.cli.host_calls import HostCalls
from holdfast.cli.host_flags import is_grave
from holdfast.cli.host_manifests import answering_from
from holdfast.cli.options import tell
from holdfast.contract import UsageError
from holdfast.hooks.callback import callback_hooks

__all__ = ["Wanted", "read_initialize", "server_policy"]

Line = dict[str, Any]
_USED = frozenset({
    "subtype", "hooks", "sdkMcpServers", "jsonSchema", "systemPrompt", "appendSystemPrompt", "agents",
    "supportedDialogKinds", "forwardSubagentText", "mcpServers", "sdkMcpServerConfigs", "skills", "title",
    "toolAliases", "excludeDynamicSections", "planModeInstructions", "appendSubagentSystemPrompt", "plugins",
    "sdkMcpServerManifests", "sdkMcpServerManifestsOrigin", "settings", "disallowedTools",
})  # fmt: skip
_NOTHING_TO_DO = frozenset({
    "promptSuggestions", "agentProgressSummaries", "perTaskStopAffordance", "systemPromptSnapshot",
})  # fmt: skip
"""Wishes for extra lines, and for speed; a host that gets none lacks nothing else."""
Kind = TypeVar("Kind", str, list[Any], dict[str, Any])
_KINDS: dict[Any, str] = {str: "a text", list: "a list of names", dict: "an object"}


class Wanted(NamedTuple):
    """The session as the command line and the host want it together."""

    options: Options
    agent: AgentOptions
    dialogs: frozenset[str] = frozenset()
    """The kinds of dialogs that the host says it can show."""
    has_agent_text: bool = False
    """What agents say that a call has started is told, too."""


def read_initialize(fields: Line, options: Options, agent: AgentOptions, calls: HostCalls) -> Wanted:
    """Put what the host wants on top of the command line; what this version does not do is said.

    Raises:
        UsageError: Something decides about safety or the answer and cannot be done as it is written.
    """
    hooks, warnings = callback_hooks(fields.get("hooks"), calls.ask_hook)
    for warning in warnings:
        tell(f"initialize: {warning}")
    servers = _servers(fields)
    denies, asks = server_policy(servers, fields.get("sdkMcpServerConfigs"))
    options = options._replace(
        disallowed_tools=(*options.disallowed_tools, *denies),
        settings=(*options.settings, *([_json({"permissions": {"ask": asks}})] if asks else [])),
        hooks=(*options.hooks, *hooks),
        ask_host=answering_from(fields, calls.ask_server),
        mcp_config=(*options.mcp_config, *([_json({"mcpServers": servers})] if servers else [])),
    )
    options = _limits(fields, _plugins(fields, options))
    agent = _more_words(fields, _agent(fields, agent))
    if aliases := _checked(fields, "toolAliases", dict):
        options = options._replace(tool_aliases={str(name): str(tool) for name, tool in aliases.items()})
    for name in sorted(set(fields) - _USED - _NOTHING_TO_DO):
        if fields[name] not in (None, False, [], {}, ""):
            if is_grave(name):
                raise UsageError(f"this version cannot do what {name!r} asks for, and must not start without it")
            tell(f"initialize: this version does nothing with {name!r}")
    kinds: Any = fields.get("supportedDialogKinds")
    dialogs = frozenset(map(str, cast("list[Any]", kinds))) if isinstance(kinds, list) else frozenset[str]()
    return Wanted(options, agent, dialogs, fields.get("forwardSubagentText") is True)


def _limits(fields: Line, options: Options) -> Options:
    """With the settings and the forbidden tools that a host keeps off the command line."""
    settings: Any = fields.get("settings")
    if isinstance(settings, dict):
        settings = _json(cast("Line", settings))
    if settings is not None and not isinstance(settings, str):
        raise UsageError(f"settings must be an object or a text, got {settings!r}")
    denied = _checked(fields, "disallowedTools", list) or []
    if odd := [rule for rule in denied if not isinstance(rule, str)]:
        raise UsageError(f"disallowedTools must be a list of rules, got {odd[0]!r}")
    return options._replace(
        settings=(*options.settings, *([settings] if settings else [])),
        disallowed_tools=(*options.disallowed_tools, *denied),
    )


def _plugins(fields: Line, options: Options) -> Options:
    """With the plugins that the host names; a folder that holds none is told in the first line."""
    given = _checked(fields, "plugins", list)
    if not given:
        return options
    from holdfast.cli.host_options import with_told_plugins  # noqa: PLC0415 - few hosts name some

    named = [cast("Line", one) if isinstance(one, dict) else {} for one in given]
    if odd := [one for one in named if one.get("type") != "local" or not isinstance(one.get("path"), str)]:
        raise UsageError(f"plugins must be objects with the type 'local' and a path, got {odd[0]!r}")
    bare = [str(one["path"]) for one in named if one.get("skipMcpDiscovery") is True]
    whole = [str(one["path"]) for one in named if one.get("skipMcpDiscovery") is not True]
    return with_told_plugins(options, whole, bare, is_lenient=True)


def _servers(fields: Line) -> Line:
    names: Any = fields.get("sdkMcpServers") or []
    if not isinstance(names, list):
        raise UsageError(f"sdkMcpServers must be a list of names, got {names!r}")
    found: Line = {}
    if isinstance(more := fields.get("mcpServers"), dict):
        found.update(cast("Line", more))
    configs: Any = fields.get("sdkMcpServerConfigs")
    for name in map(str, cast("list[Any]", names)):
        config = _config(configs, name)
        timeout = {"timeout": config["timeout"]} if isinstance(config.get("timeout"), int | float) else {}
        found[name] = {"type": "sdk", "name": name, **timeout}
    return found


def _config(configs: Any, name: str) -> Line:
    found: Any = cast("Line", configs).get(name) if isinstance(configs, dict) else None
    return cast("Line", found) if isinstance(found, dict) else {}


def server_policy(servers: Line, configs: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rules, deny and ask, that the host wants for the tools of its own servers; an unknown policy asks."""
    from holdfast.mcp.names import safe_part, tool_names  # noqa: PLC0415 - few hosts say so

    denies: list[str] = []
    asks: list[str] = []
    for server in servers:
        tools: Any = _config(configs, server).get("tools")
        for tool in cast("list[Any]", tools) if isinstance(tools, list) else []:
            about = cast("Line", tool) if isinstance(tool, dict) else {}
            if not isinstance(name := about.get("name"), str):
                tell(f"a tool policy of the server {server!r} names no tool, so it is ignored")
                continue
            policy = about.get("permission_policy")
            whole = f"mcp__{safe_part(server)}"
            # A name that cannot stand in a rule may get a mark later: then it holds for the whole server.
            rule = f"{whole}__{name}" if tool_names(safe_part(server), [name])[name] == f"{whole}__{name}" else whole
            if policy == "always_deny":
                denies.append(rule)
            elif policy != "always_allow":
                asks.append(rule)
    return tuple(denies), tuple(asks)


def _agent(fields: Line, agent: AgentOptions) -> AgentOptions:
    prompt = fields.get("systemPrompt")
    if isinstance(prompt, list):
        agent = agent._replace(system_prompt="\n\n".join(str(text) for text in cast("list[Any]", prompt)))
    elif isinstance(prompt, str):
        agent = agent._replace(system_prompt=prompt)
    if isinstance(appended := fields.get("appendSystemPrompt"), str) and appended:
        agent = agent._replace(append_system_prompt=appended)
    if (schema := fields.get("jsonSchema")) is not None:
        if not isinstance(schema, dict):
            raise UsageError(f"jsonSchema must be a JSON object, got {schema!r}")
        agent = agent._replace(output_schema=cast("Line", schema))
    if given := fields.get("agents"):
        if not isinstance(given, dict):
            raise UsageError(f"agents must be an object of agents, got {given!r}")
        from holdfast.definitions.agents import agents_of  # noqa: PLC0415 - few hosts bring some

        made = agents_of(cast("Line", given))
        for one in made:
            for warning in (*one.warnings, *((one.refusal,) if one.refusal else ())):
                tell(f"initialize: agent {one.name}: {warning}")
        agent = agent._replace(agents=(*agent.agents, *made))
    return agent


def _more_words(fields: Line, agent: AgentOptions) -> AgentOptions:
    """What the model is told besides, and what it is not told."""
    skills = _checked(fields, "skills", list)
    return agent._replace(
        skills=agent.skills if skills is None else tuple(map(str, skills)),
        title=_checked(fields, "title", str) or agent.title,
        has_static_prompt=fields.get("excludeDynamicSections") is True,
        plan_instructions=_checked(fields, "planModeInstructions", str) or None,
        subagent_prompt=_checked(fields, "appendSubagentSystemPrompt", str) or None,
    )


def _checked(fields: Line, name: str, kind: type[Kind]) -> Kind | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{name} must be {_KINDS[kind]}, got {value!r}")
    return value


def _json(value: Line) -> str:
    return msgspec.json.encode(value).decode()

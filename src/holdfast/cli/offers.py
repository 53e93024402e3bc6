"""What a host is told that a session has: commands, agents, models, and what became of its wishes."""

import os
from typing import TYPE_CHECKING, Any

from holdfast.app.choose_model import key_source
from holdfast.app.commands import offered_commands
from holdfast.cli.host_commands import ALSO, COMMANDS
from holdfast.cli.host_manifests import manifest_states
from holdfast.cli.result_line import bare_model
from holdfast.cli.session_facts import output_style
from holdfast.cli.stream_json import COMPATIBLE_VERSION

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["agent_list", "answer_initialize", "command_list", "model_list", "plugin_list", "style_list"]

Line = dict[str, Any]
_PROVIDERS = {"anthropic": "firstParty", "bedrock": "bedrock", "vertex": "vertex"}


def answer_initialize(agent: "RunningAgent", asked: Line, *, is_again: bool = False) -> Line:
    """What a host shows of the session; `asked` is what it wished, not for the first time if `is_again`."""
    found: Line = {
        "commands": command_list(agent),
        "agents": agent_list(agent),
        "output_style": output_style(agent),
        "available_output_styles": style_list(agent),
        "models": model_list(agent),
        "account": _account(agent),
        "claude_code_version": COMPATIBLE_VERSION,
        "current_permission_mode": agent.mode,
        "hooks_applied": True,
        "hook_on_failure_supported": True,
    }
    if asked.get("mcpServers"):
        found["mcp_servers_applied"] = True
    if asked.get("plugins"):
        found["plugins_applied"] = not agent.rights.lost_plugins
    if (states := manifest_states(asked, is_again=is_again)) is not None:
        found["sdk_mcp_manifests_parked"] = states
    return found


def command_list(agent: "RunningAgent") -> list[Line]:
    """Everything that can be called by `/name`."""
    own = [
        {
            "name": name,
            "description": about,
            "argumentHint": hint,
            "builtin": True,
            **({"aliases": aliases} if (aliases := [one for one, meant in ALSO.items() if meant == name]) else {}),
        }
        for name, (about, hint) in COMMANDS.items()
    ]
    others = [{"name": one.name, "description": one.about, "argumentHint": one.hint} for one in offered_commands(agent)]
    return [*own, *others]


def agent_list(agent: "RunningAgent") -> list[Line]:
    """The agents that can be started, each with its model where it has one of its own."""
    known = agent.definitions.agents
    return [
        {
            "name": name,
            "description": agent.about_type(name),
            **({"model": known[name].model} if name in known and known[name].model else {}),
        }
        for name in agent.agent_types
    ]


def plugin_list(agent: "RunningAgent") -> list[Line]:
    """The plugins of the session."""
    return [
        {"name": one.name, "path": one.root, **({"version": one.version} if one.version else {})}
        for one in agent.rights.plugins
    ]


def style_list(agent: "RunningAgent") -> list[str]:
    """The ways of speaking: this version has one, and says which one the settings name."""
    return list(dict.fromkeys(("default", output_style(agent))))


def model_list(agent: "RunningAgent") -> list[Line]:
    """The models that can be chosen by name; never empty, for the present one always can."""
    from holdfast.models.open import ALIASES  # noqa: PLC0415 - loaded with the model

    now = bare_model(agent.model.name)
    found = [_model("default", "Default", f"What this session began with: {now}", now)]
    if agent.model.name.startswith("anthropic:"):
        found += [_model(short, short.capitalize(), name, name) for short, name in ALIASES.items()]
    return found


def _model(value: str, shown: str, about: str, name: str) -> Line:
    from holdfast.models.claude import traits_of  # noqa: PLC0415 - loaded with such a model

    traits = traits_of(name)
    found: Line = {"value": value, "resolvedModel": name, "displayName": shown, "description": about}
    if traits.efforts:
        found |= {"supportsEffort": True, "supportedEffortLevels": list(traits.efforts)}
    return {**found, "supportsAdaptiveThinking": traits.is_adaptive}


def _account(agent: "RunningAgent") -> Line:
    """Where the key comes from; there is no login here."""
    provider = agent.model.name.partition(":")[0]
    found = {"tokenSource": "none", "apiKeySource": key_source(agent.model.name, os.environ)}
    return {**found, **({"apiProvider": _PROVIDERS[provider]} if provider in _PROVIDERS else {})}

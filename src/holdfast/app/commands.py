"""What a person can call by `/name` in a session: skills and commands that people wrote, and prompts of servers."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["Offered", "command_names", "is_server_prompt", "offered_commands"]


class Offered(NamedTuple):
    """One of them."""

    name: str
    about: str = ""
    hint: str = ""
    """What may stand behind the name."""


def offered_commands(agent: "RunningAgent") -> list[Offered]:
    """All that are known now, for faces that show them."""
    library, hub = agent.definitions.library, agent.servers
    found = [] if library is None else [skill for skill in library if skill.for_user]
    offered = [Offered(skill.name, skill.description or "", skill.argument_hint) for skill in found]
    for server in () if hub is None else hub.servers.values():
        for name, prompt in server.prompts:
            hint = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in prompt.arguments)
            offered.append(Offered(name, prompt.description or prompt.title, hint))
        offered += [Offered(name, skill.description) for name, skill in server.skills]
    return offered


def is_server_prompt(agent: "RunningAgent", name: str) -> bool:
    """Such a name is for its server to know: its list may be on the way."""
    hub = agent.servers
    return hub is not None and hub.of_prompt(name) is not None


def command_names(agent: "RunningAgent") -> list[str]:
    """Only their names."""
    return [offered.name for offered in offered_commands(agent)]

"""What begins with a slash: commands of the terminal itself, and those that people wrote."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from holdfast.app.commands import is_server_prompt
from holdfast.app.commands import offered_commands as commands_of_agent
from holdfast.tui.commands import looking, session, setting, work

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.tui.commands.command import SlashCommand
    from holdfast.tui.conversation import Conversation

__all__ = ["ALIASES", "COMMANDS", "is_command", "leaves_lines", "offered_commands", "run_command", "runs_beside"]

COMMANDS: "dict[str, SlashCommand]" = {
    command.name: command for command in (*looking.COMMANDS, *session.COMMANDS, *setting.COMMANDS, *work.COMMANDS)
}

ALIASES = {
    "quit": "exit",
    "new": "clear",
    "reset": "clear",
    "continue": "resume",
    "checkpoint": "rewind",
    "usage": "cost",
    "settings": "config",
    "approvals": "permissions",
    "allowed-tools": "permissions",
    "bashes": "tasks",
}
"""What people are used to call some of them. A command that somebody wrote under such a name comes first."""


def offered_commands(agent: "RunningAgent | None") -> list[tuple[str, str]]:
    """Every name that can be called, with what it is for: ours first, then what people and servers wrote."""
    own = sorted((name, command.about) for name, command in COMMANDS.items())
    written = [] if agent is None else commands_of_agent(agent)
    return own + sorted((one.name, one.about) for one in written if one.name not in COMMANDS)


def is_command(talk: "Conversation", text: str) -> bool:
    """Whether this is for the terminal and not for the model: a path is not, nor what people wrote as a command."""
    name = _name(text)
    if not name or "/" in name:
        return False
    if name in COMMANDS or talk.agent is None:
        return True
    return name not in {offered for offered, _ in offered_commands(talk.agent)} and not is_server_prompt(
        talk.agent, name
    )


def runs_beside(text: str) -> bool:
    """Whether it need not wait for the end of a run."""
    command = _command(_name(text))
    return command is not None and command.beside


def leaves_lines(text: str) -> bool:
    """Whether something of it stays among the lines, so that they need its name above them."""
    command = _command(_name(text))
    return command is None or not command.is_panel or len(text.split()) > 1


async def run_command(talk: "Conversation", text: str) -> None:
    """Do what the command says."""
    name = _name(text)
    found = _command(name)
    if found is not None:
        await found.run(talk, text.strip()[len(name) + 1 :].strip())
        return
    offered = [one for one, _ in offered_commands(talk.agent)]
    begun = [one for one in offered if one.startswith(name)]
    if len(begun) == 1 and begun[0] in COMMANDS:  # its beginning is enough where it can mean nothing else
        await run_command(talk, f"/{begun[0]}{text.strip()[len(name) + 1 :]}")
        return
    near = begun[:1] or get_close_matches(name, offered, n=1)
    meant = f"did you mean /{near[0]}?" if near else "/help lists them"
    talk.say("warn", f"there is no command {f'/{name}'!r}; {meant}")


def _command(name: str) -> "SlashCommand | None":
    return COMMANDS.get(ALIASES.get(name, name))


def _name(text: str) -> str:
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word[1:] if word.startswith("/") else ""

"""Commands about what works for the person: tasks, agents, skills, servers."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.commands.command import SlashCommand

if TYPE_CHECKING:
    from holdfast.tui.conversation import Conversation

__all__ = ["COMMANDS"]


async def _tasks(talk: "Conversation", rest: str) -> None:
    from holdfast.tui.panels.tasks import tasks_page  # noqa: PLC0415 - only here

    agent = talk.agent
    if agent is None:
        return
    word, _, task = rest.partition(" ")
    if word == "stop" and task:
        stopped = await agent.stop_task(task.strip())
        talk.say(
            "ok" if stopped else "warn",
            f"{visible(task)} {'is stopped' if stopped else 'is not one of the background tasks'}",
        )
        return
    await talk.face.open(tasks_page(agent))


async def _agents(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.panels.agents import agents_page  # noqa: PLC0415 - only here

    if talk.agent is not None:
        await talk.face.open(agents_page(talk.agent, talk.view.agents))


async def _skills(talk: "Conversation", rest: str) -> None:
    del rest
    library = None if talk.agent is None else talk.agent.definitions.library
    skills = [] if library is None else list(library)
    if not skills:
        talk.say("dim", "no skills or commands; they are files in .claude/skills, .holdfast/skills or your own folder")
    for skill in skills:
        who = "" if skill.for_model else "  (only you can call it)"
        talk.say("accent", f"/{skill.name} {skill.argument_hint}".rstrip())
        talk.say("", f"  {skill.about}{who}")
        talk.say("dim", f"  {home_relative(skill.source)}")


async def _mcp(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.panels.servers import servers_page  # noqa: PLC0415 - only here

    if talk.agent is not None:
        await talk.face.open(servers_page(talk.agent))


COMMANDS = (
    SlashCommand(
        "tasks",
        "the list of work, background tasks and their output; `/tasks stop ID` ends one",
        _tasks,
        beside=True,
        is_panel=True,
    ),
    SlashCommand(
        "agents", "agents that work or have worked here, and the types there are", _agents, beside=True, is_panel=True
    ),
    SlashCommand("skills", "skills and commands that can be called", _skills, beside=True),
    SlashCommand("mcp", "servers, their state and their tools", _mcp, beside=True, is_panel=True),
)

"""Commands that change how the session works: model, settings, instructions."""

import os
from typing import TYPE_CHECKING

from holdfast.app.belongings import save_setting
from holdfast.contract import UsageError
from holdfast.lib.visible import visible
from holdfast.settings.tastes import TASTES
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.commands.command import SlashCommand

if TYPE_CHECKING:
    from holdfast.settings import Settings
    from holdfast.tui.conversation import Conversation

__all__ = ["COMMANDS"]

_MODELS = ("anthropic:opus", "anthropic:sonnet", "anthropic:haiku", "openai:gpt-6-sol", "ollama:qwen3")
_INIT = """\
Look at this project and write AGENTS.md in its root, for agents that will work here: what it is, how it is built,
tested and checked (the exact commands), how the code is laid out, and the rules that its files show. Read the README,
the build files and some of the code first. Keep it under 60 lines, write only what you found, and if the file is there
already, improve it instead."""
_OWN = {**TASTES, "axScreenReader": ("false", "true")}


async def _model(talk: "Conversation", rest: str) -> None:
    agent = talk.agent
    if agent is None:
        return
    name = rest
    if not name:
        others = [one for one in _MODELS if one != agent.model.name]
        options = [Option("Stay with it (Esc)", "")]
        options += [Option(one, one) for one in others]
        options.append(Option("Another: provider:name (Tab)", "other", wants_text=True))
        chosen = await talk.face.choose(Menu(f"Which model? Now it is {visible(agent.model.name)}", options))
        name = chosen.text if chosen.value == "other" else chosen.value or ""
    if name:
        agent.change_model(name.strip())
    talk.say("", f"the model is {visible(agent.model.name)}")


async def _config(talk: "Conversation", rest: str) -> None:
    if talk.agent is None:
        return
    key, _, value = rest.partition(" ")
    settings = talk.agent.rights.settings
    if value.strip():
        await _set(talk, key, value.strip())
    elif key:
        talk.say("", _value_of(talk, settings, key))
    else:
        from holdfast.tui.panels.settings import settings_page  # noqa: PLC0415 - only here

        await talk.face.open(settings_page(settings, _OWN))


def _value_of(talk: "Conversation", settings: "Settings", key: str) -> str:
    """What a setting is, also one that was set here a moment ago; of our own also what it can be."""
    found, origin = talk.set_here.get(key) or (settings.get(key), str(settings.where(key)))
    shown = f"{key} is not set" if found is None else f"{key} = {found!r} ({home_relative(origin)})"
    return f"{shown}; one of {', '.join(_OWN[key])}" if key in _OWN else shown


async def _set(talk: "Conversation", key: str, value: str) -> None:
    agent = talk.agent
    assert agent is not None
    if key in _OWN:
        if value not in _OWN[key]:
            raise UsageError(f"{key} is one of {', '.join(_OWN[key])}, not {value!r}")
        path = save_setting(key, {"true": True, "false": False}.get(value, value), agent.cwd)
        talk.preferred(key, value)
        talk.set_here[key] = (value, path)
        talk.say("ok", f"{key} = {value}, kept in {home_relative(path)}")
        return
    await agent.call_tool("Config", {"setting": key, "value": value})


async def _memory(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.memory import note_places  # noqa: PLC0415 - only here

    agent = talk.agent
    if agent is None:
        return
    loaded = [found.path for found in agent.instructions]
    paths = list(dict.fromkeys([*loaded, *(place.path for place in note_places(agent.rights.settings.root))]))
    offers = [
        (f"{home_relative(path)}{'' if path in loaded else '  (new)' if not os.path.exists(path) else ''}", path)
        for path in paths[:8]
    ]
    path = await talk.pick("Which instructions do you want to change?", [("None (Esc)", ""), *offers])
    if path:
        said = await talk.face.edit_file(path)
        talk.say("ok" if said else "warn", f"{home_relative(path)} {'is saved' if said else 'was not changed'}")
        if said:
            talk.prompts.tell(f"I have changed the instructions in {path}; read them again before you go on.")


async def _init(talk: "Conversation", rest: str) -> None:
    await talk.ask(f"{_INIT} {rest}".strip(), is_shown=True)


COMMANDS = (
    SlashCommand("model", "show or change the model", _model),
    SlashCommand(
        "config", "the settings and where each comes from; `/config theme dark` sets one", _config, is_panel=True
    ),
    SlashCommand("memory", "change the files of instructions in your editor", _memory),
    SlashCommand("init", "let the model write AGENTS.md for this project", _init),
)

"""What begins with a slash: commands of the terminal itself, and those that people wrote."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from holdfast.app.begin import SessionChoice
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.tui.conversation import Conversation

__all__ = ["COMMANDS", "is_command", "run_command"]

_KEYS = """\
Enter sends · \\Enter, Alt-Enter or Ctrl-J a new line · Esc or Ctrl-C interrupts · Esc Esc clears
Shift-Tab the next permission mode · Ctrl-O the last call's whole output · Ctrl-B to the background
@file a file · !command runs it through the same rules · Ctrl-D leaves"""
_SHOWN_SESSIONS = 9


def is_command(text: str) -> bool:
    """Whether this is for the terminal and not for the model: a path is not."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word.startswith("/") and "/" not in word[1:]


async def run_command(talk: "Conversation", text: str) -> None:
    """Do what the command says."""
    word, _, rest = text.strip().partition(" ")
    name = word[1:]
    found = COMMANDS.get(name)
    if found is not None:
        await found[1](talk, rest.strip())
        return
    talk.say("warn", f"there is no command {word!r}; /help lists them")


async def _help(talk: "Conversation", rest: str) -> None:
    del rest
    width = max(len(name) for name in COMMANDS) + 3
    talk.say("", "\n".join(f"{'/' + name:<{width}}{about}" for name, (about, _) in COMMANDS.items()))
    talk.say("dim", _KEYS)


async def _clear(talk: "Conversation", rest: str) -> None:
    del rest
    if await talk.start(SessionChoice(is_cleared=True)):
        talk.say("dim", "a new conversation; the old one is kept, /resume goes back to it")


async def _compact(talk: "Conversation", rest: str) -> None:
    if talk.agent is not None and await talk.agent.compact(rest) is None:
        talk.say("dim", "there is nothing to shorten yet")


async def _model(talk: "Conversation", rest: str) -> None:
    if talk.agent is None:
        return
    if rest:
        talk.agent.change_model(rest)
    talk.say("", f"the model is {talk.agent.model.name}" + ("" if rest else "; /model provider:name changes it"))


async def _permissions(talk: "Conversation", rest: str) -> None:
    del rest
    if talk.agent is None:
        return
    permissions = talk.agent.permissions
    lines = [f"mode {talk.agent.mode}"]
    for rule in permissions.rules:
        source = rule.source
        place = f"{source.path}:{source.line}" if source.path and source.line else source.path or source.kind
        content = "" if rule.content is None else f"({rule.content})"
        lines.append(f"{rule.behavior:<6} {visible(rule.tool + content)}  {visible(place)}")
    talk.say("", "\n".join(lines))


async def _cost(talk: "Conversation", rest: str) -> None:
    del rest
    cost = None if talk.agent is None else talk.agent.cost_usd
    talk.say("", "no price is known for this model" if cost is None else f"${cost:.4f} so far")


async def _context(talk: "Conversation", rest: str) -> None:
    del rest
    if talk.agent is not None:
        used, window = talk.agent.context_tokens, talk.agent.model.context_window or 1
        tools = sum(1 for _ in talk.agent.tools)
        talk.say("", f"about {used:,} of {window:,} tokens ({100 * used // window} %), {tools} tools are offered")


async def _tasks(talk: "Conversation", rest: str) -> None:
    if talk.agent is None:
        return
    word, _, task = rest.partition(" ")
    if word == "stop" and task:
        await talk.agent.stop_task(task.strip())
    tasks = talk.agent.tasks
    if not tasks:
        talk.say("dim", "no background tasks")
    for one in tasks:
        talk.say("", f"{one.id}  {one.status:<10} {visible(one.description)}")


async def _undo(talk: "Conversation", rest: str) -> None:
    del rest
    if talk.agent is None:
        return
    from holdfast.lib.checkpoints import UndoRefusedError  # noqa: PLC0415 - only here

    try:
        restored = talk.agent.undo()
    except UndoRefusedError as error:
        talk.say("warn", "\n".join(error.reasons))
        return
    for file in restored:
        talk.say("ok", f"{file.action}  {visible(file.path)}")


async def _resume(talk: "Conversation", rest: str) -> None:
    name: str | None = rest or None
    if name is None:
        from holdfast.session import user_store  # noqa: PLC0415 - only here
        from holdfast.session.summaries import list_sessions  # noqa: PLC0415 - the same

        own = "" if talk.agent is None else talk.agent.session_id
        project = None if talk.agent is None else talk.agent.rights.settings.cwd
        found = [one for one in list_sessions(user_store(), project) if one.id != own and not one.live]
        if not found:
            talk.say("dim", "there is no other session of this folder")
            return
        offers = [
            (f"{time.strftime('%d %b %H:%M', time.localtime(one.active_at))}  {visible(one.title)}", one.id)
            for one in found[:_SHOWN_SESSIONS]
        ]
        name = await talk.pick("Which session?", offers)
    if name is not None:
        await talk.start(SessionChoice(resume=name))


async def _exit(talk: "Conversation", rest: str) -> None:
    del rest
    talk.face.leave()


COMMANDS: dict[str, tuple[str, Callable[["Conversation", str], Awaitable[None]]]] = {
    "help": ("these commands, and the keys", _help),
    "clear": ("begin a new conversation", _clear),
    "compact": ("shorten the conversation now", _compact),
    "model": ("show or change the model", _model),
    "permissions": ("the mode and the rules, each with its place", _permissions),
    "cost": ("what this session has cost", _cost),
    "context": ("how full the model's window is", _context),
    "tasks": ("background tasks; `/tasks stop ID` ends one", _tasks),
    "undo": ("take back the last change to files", _undo),
    "resume": ("go on with another session", _resume),
    "exit": ("leave", _exit),
}

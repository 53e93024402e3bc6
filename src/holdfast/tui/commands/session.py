"""Commands about the conversation itself: begin, shorten, go back, go on with another, keep, leave."""

import asyncio
import os
import time
from typing import TYPE_CHECKING

from holdfast.app.begin import SessionChoice
from holdfast.app.belongings import export_to
from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.commands.command import SlashCommand

if TYPE_CHECKING:
    from holdfast.app.rewind import RewindPoint
    from holdfast.app.running import RunningAgent
    from holdfast.lib.undoing import Restored
    from holdfast.tui.conversation import Conversation

__all__ = ["COMMANDS"]

_SHOWN_SESSIONS = 9
_SHOWN_POINTS = 9


async def _clear(talk: "Conversation", rest: str) -> None:
    del rest
    if await talk.start(SessionChoice(is_cleared=True)):
        talk.say("dim", "a new conversation; the old one is kept, /resume goes back to it")


async def _compact(talk: "Conversation", rest: str) -> None:
    if talk.agent is not None and await talk.beside.run(talk.agent.compact(rest)) is None:
        talk.say("dim", "there is nothing to shorten yet")


async def _undo(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.lib.checkpoints import UndoRefusedError  # noqa: PLC0415 - only here

    if talk.agent is None:
        return
    try:
        _tell_restored(talk, talk.agent.undo())
    except UndoRefusedError as error:
        talk.say("warn", "\n".join(error.reasons))


def _tell_restored(talk: "Conversation", restored: "list[Restored]") -> None:
    for file in restored:
        talk.say("ok", f"{file.action}  {visible(home_relative(file.path))}")


async def _rewind(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.app.rewind import rewind_points  # noqa: PLC0415 - only here

    agent = talk.agent
    points = [] if agent is None else rewind_points(agent)[-_SHOWN_POINTS:]
    if agent is None or not points:
        talk.say("dim", "there is no prompt to go back to")
        return
    offers = [(_point_words(point), str(place)) for place, point in enumerate(points)]
    title = "Go back to before which prompt?"
    chosen = await talk.pick(title, [*offers[::-1], ("Stay here (Esc)", "")], default=len(offers))
    if chosen:
        await _go_back(talk, agent, points[int(chosen)])


def _point_words(point: "RewindPoint") -> str:
    files = f"  · {len(point.files)} files changed since" if point.files else ""
    return f"{visible(point.text, limit_chars=60)}{files}"


async def _go_back(talk: "Conversation", agent: "RunningAgent", point: "RewindPoint") -> None:
    from holdfast.app.rewind import rewind_conversation, rewind_files  # noqa: PLC0415 - only here
    from holdfast.lib.checkpoints import UndoRefusedError  # noqa: PLC0415 - the same

    what = "conversation"
    if point.files:
        names = ", ".join(visible(os.path.basename(path)) for path in point.files[:4])
        more = "" if len(point.files) <= 4 else f" and {len(point.files) - 4} more"
        options = [
            (f"The conversation and the files ({names}{more})", "both"),
            ("The conversation only", "conversation"),
            ("The files only", "files"),
            ("Nothing (Esc)", ""),
        ]
        what = await talk.pick("Take back what?", options, default=3) or ""
    try:
        if what in ("both", "files"):
            _tell_restored(talk, await asyncio.to_thread(rewind_files, agent, point))
        if what in ("both", "conversation"):
            rewind_conversation(agent, point)
            talk.say("accent", "✻ the conversation goes on from before this prompt; change it and send it again")
            talk.face.fill_input(point.text)
    except UndoRefusedError as error:
        talk.say("warn", "\n".join(error.reasons))


async def _resume(talk: "Conversation", rest: str) -> None:
    name: str | None = rest or None
    if name is None:
        from holdfast.session import user_store  # noqa: PLC0415 - only here
        from holdfast.session.summaries import list_sessions  # noqa: PLC0415 - the same

        own = "" if talk.agent is None else talk.agent.session_id
        project = None if talk.agent is None else talk.agent.rights.settings.cwd
        listed = list_sessions(user_store(), project)
        found = [one for one in listed if one.title and one.id != own and not one.live]  # something was said there
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


async def _export(talk: "Conversation", rest: str) -> None:
    if talk.agent is None:
        return
    name = rest or f"holdfast-{talk.agent.session_id[:8]}.md"
    path = os.path.join(talk.agent.cwd, os.path.expanduser(name))
    problem = await asyncio.to_thread(export_to, talk.agent, path)
    talk.say("warn" if problem else "ok", problem or f"written to {visible(home_relative(path))}")


async def _exit(talk: "Conversation", rest: str) -> None:
    del rest
    talk.face.leave()


COMMANDS = (
    SlashCommand("clear", "begin a new conversation", _clear),
    SlashCommand("compact", "shorten the conversation now; words behind it say what to keep", _compact),
    SlashCommand("resume", "go on with another session", _resume),
    SlashCommand("rewind", "go back to before a prompt: conversation, files, or both (Esc Esc)", _rewind),
    SlashCommand("undo", "take back the last change to files", _undo),
    SlashCommand("export", "write the conversation to a file, as Markdown or, with .json, as JSON", _export),
    SlashCommand("exit", "leave", _exit, beside=True),
)

"""What a person does beside talking to the model: a shell line, a note, a picture, a look at what servers offer."""

from typing import TYPE_CHECKING

from holdfast.tui.ask.approval import home_relative
from holdfast.tui.show.outcomes import text_of

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.tui.conversation import Conversation

__all__ = ["find_resources", "keep_note", "paste_picture", "run_shell_line"]


async def run_shell_line(talk: "Conversation", command: str) -> None:
    """`!command`: run it through the rules; the model hears of it with the next prompt."""
    if talk.agent is None or not command:
        return
    reply = await talk.agent.call_tool("Bash", {"command": command})
    talk.prompts.tell(f"I ran `{command}` myself. It wrote:\n{text_of(reply.content)}")


async def keep_note(talk: "Conversation", note: str) -> None:
    """`# note`: add it to the file of instructions that the person chooses."""
    from holdfast.tui.memory import add_note, note_places  # noqa: PLC0415 - only for a note

    if talk.agent is None or not note:
        return
    places = note_places(talk.agent.rights.settings.root)
    offers = [(f"{place.label} ({home_relative(place.path)})", place.path) for place in places]
    path = await talk.pick("Remember this where?", [*offers, ("Nowhere (Esc)", "")], default=len(offers))
    if path:
        await add_note(path, note)
        talk.say("ok", f"added to {home_relative(path)}: - {note}")
        talk.prompts.tell(f"Remember this; I have added it to {path}: {note}")


async def paste_picture(talk: "Conversation") -> None:
    """Take a picture from the clipboard into the line."""
    from holdfast.app.belongings import keep_blob  # noqa: PLC0415 - only for pictures
    from holdfast.tui.input.clipboard import clipboard_picture  # noqa: PLC0415 - the same

    data = await clipboard_picture()
    if data is None or talk.agent is None:
        talk.say("dim", "there is no picture in the clipboard, or nothing here that could read it")
        return
    talk.face.insert_input(talk.prompts.attachments.picture(keep_blob(talk.agent, data, ".png")))


async def find_resources(talk: "Conversation", agent: "RunningAgent") -> None:
    """Learn what the servers offer to read, for completion."""
    from holdfast.app.resources import list_resources  # noqa: PLC0415 - loaded with the agent

    talk.resources = await list_resources(agent)

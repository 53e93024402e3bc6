"""A whole conversation in this process: a scripted model, real tools, and a face that keeps what it is shown."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.tui.faces import AnsweringFace

from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.models.scripted import ScriptedModel
from holdfast.tui.conversation import Conversation
from holdfast.tui.launch import Launch


class Talk:
    """Says lines and waits until each is answered."""

    def __init__(self, talk: Conversation, face: AnsweringFace, model: ScriptedModel) -> None:
        self.talk = talk
        self.face = face
        self.model = model

    async def say(self, line: str, *answers: Any) -> str:
        """What is shown because of it."""
        self.face.answers += answers
        self.face.lines.clear()
        await self.talk._answer(line)
        return self.face.text

    def sent(self) -> str:
        """The newest message that the model got, as text."""
        return str(self.model.requests[-1].messages[-1]["content"])


@asynccontextmanager
async def talking(
    place: Path, *turns: Any, mode: str = "bypassPermissions", choice: SessionChoice = NEW_SESSION, **more: Any
) -> AsyncGenerator[Talk]:
    """A conversation in this folder, begun and ended."""
    face, model = AnsweringFace(columns=120), ScriptedModel(turns)
    options = Options(cwd=str(place), permission_mode=mode, trust=True, **more)
    talk = Conversation(face, Launch(options, AgentOptions(model=model), choice))
    try:
        await talk.start(choice)
        yield Talk(talk, face, model)
    finally:
        await talk.close()

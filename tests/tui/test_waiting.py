"""A session that waits for the person tells the user's notifiers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.options import AgentOptions, Options
from holdfast.events import Event, RunEnded
from holdfast.hooks import Hook, HookAnswer
from holdfast.hooks.session_inputs import Notification
from holdfast.models.scripted import ScriptedModel
from holdfast.tui import conversation
from holdfast.tui.conversation import Conversation
from holdfast.tui.launch import Launch


class Wall:
    """Shows nothing, and chooses nothing."""

    columns = 80

    def __getattr__(self, name: str) -> Any:
        return self._nothing

    def _nothing(self, *given: object) -> None:
        del given


def test_notifiers_hear_that_the_agent_waits_once_it_has_answered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(conversation, "_IDLE_S", 0.0)

    async def body() -> list[str]:
        heard: list[str] = []
        is_told = asyncio.Event()

        async def listen(event: Notification) -> HookAnswer | None:
            heard.append(event.notification_type)
            is_told.set()
            return None

        options = Options(cwd=str(tmp_path), hooks=(Hook("Notification", listen, "idle_prompt"),))
        wall: Any = Wall()
        talk = Conversation(wall, Launch(options, AgentOptions(model=ScriptedModel(["One."]))))
        work = asyncio.create_task(talk.run())
        async with asyncio.timeout(60):
            await talk._has_started.wait()
            await asyncio.sleep(0)
            assert heard == []  # nothing was said yet, so nobody waits for an answer
            talk.submit("hi")
            await is_told.wait()
        work.cancel()
        await asyncio.wait({work}, timeout=60)
        await talk.close()
        return heard

    assert asyncio.run(body()) == ["idle_prompt"]


def test_what_waits_in_the_agent_is_told_although_nobody_types(tmp_path: Path) -> None:
    async def body() -> list[str]:
        texts: list[str] = []
        has_ended = asyncio.Event()
        wall: Any = Wall()
        talk = Conversation(wall, Launch(Options(cwd=str(tmp_path)), AgentOptions(model=ScriptedModel(["One."]))))
        show = talk.view.take

        def hear(event: Event) -> None:
            show(event)
            if isinstance(event, RunEnded):
                texts.append(event.text)
                has_ended.set()

        talk.view.take = hear
        work = asyncio.create_task(talk.run())
        async with asyncio.timeout(60):
            await talk._has_started.wait()
            assert talk.agent is not None
            talk.agent.submit("the linter found something", "hook")
            talk._wake()
            await has_ended.wait()
            talk._wake()  # nothing waits any more
            await talk.idle()
        work.cancel()
        await asyncio.wait({work}, timeout=60)
        await talk.close()
        return texts

    assert asyncio.run(body()) == ["One."]

"""Esc ends whatever is under way, not only a run; what is typed meanwhile waits in sight and comes next."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.tui.faces import AnsweringFace

from holdfast.app.options import AgentOptions, Options
from holdfast.models.scripted import ScriptedModel
from holdfast.tui.conversation import Conversation
from holdfast.tui.launch import Launch
from holdfast.tui.show.words import as_text

LONG = {"blocks": [{"text": "The summary", "after_s": 300}]}


class Session:
    """A conversation that runs, and whoever sits before it."""

    def __init__(self, talk: Conversation, face: AnsweringFace) -> None:
        self.talk = talk
        self.face = face

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - of a screen nobody tells when it has changed
                await asyncio.sleep(0.005)

    @property
    def live(self) -> str:
        return "\n".join(as_text(line) for line in self.talk.live(8))

    @property
    def status(self) -> str:
        return as_text(self.talk.status())

    async def say(self, text: str) -> str:
        """What is shown until it is answered."""
        self.face.lines.clear()
        self.talk.submit(text)
        async with asyncio.timeout(60):
            await self.talk.idle()
        return self.face.text


@asynccontextmanager
async def session(place: Path, *turns: Any) -> AsyncGenerator[Session]:
    face = AnsweringFace(columns=120)
    options = Options(cwd=str(place), permission_mode="bypassPermissions", trust=True)
    talk = Conversation(face, Launch(options, AgentOptions(model=ScriptedModel(turns, is_timed=True))))
    work = asyncio.create_task(talk.run())
    found = Session(talk, face)
    try:
        await found.until(talk._has_started.is_set)
        yield found
    finally:
        work.cancel()
        await asyncio.wait({work}, timeout=60)
        await talk.close()


def test_shortening_leaves_nothing_behind_on_the_screen_and_its_summary_can_be_opened(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, "One.", "All that was said.") as sat:
            await sat.say("hello")
            shown = await sat.say("/compact")
            assert "✻ the conversation is" in shown
            assert sat.live == ""
            assert "All that was said." in sat.talk.view.kept.all()[-1].text

    asyncio.run(run())


def test_shortening_ends_with_escape_and_what_was_typed_meanwhile_comes_next(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, "One.", LONG, "Two.") as sat:
            await sat.say("hello")
            assert sat.talk.agent is not None
            before = list(sat.talk.agent.history)
            assert not sat.talk.interrupt()
            sat.talk.submit("/compact")
            await sat.until(lambda: "shortening the conversation" in sat.live)
            sat.talk.submit("go on")
            assert "queued: go on" in sat.live
            assert "message now waits" in sat.status
            assert "Esc interrupts" in sat.status
            assert sat.talk.interrupt()
            async with asyncio.timeout(60):
                await sat.talk.idle()
            assert sat.face.text.endswith("✻ stopped; nothing has changed\n\n❯ go on\n\nTwo.")  # noqa: RUF001
            assert list(sat.talk.agent.history)[: len(before)] == before
            assert sat.live == ""

    asyncio.run(run())


def test_a_shell_line_ends_with_escape(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, "One.") as sat:
            sat.talk.submit("!echo $$ > pid; until test -e never; do sleep 0.05; done")
            await sat.until((tmp_path / "pid").exists)
            assert "Esc interrupts" in sat.status
            assert sat.talk.interrupt()
            async with asyncio.timeout(60):
                await sat.talk.idle()
            assert "stopped" in sat.face.text
            assert "Esc interrupts" not in sat.status
            assert "Interrupted by the user" in str(await sat.say("go") and sat.talk.agent and sat.talk.agent.history)

    asyncio.run(run())


def test_a_prompt_that_is_stopped_while_a_file_of_its_own_is_read_comes_back_to_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n", encoding="utf-8")

    async def run() -> None:
        async with session(tmp_path, "Never.") as sat:
            agent = sat.talk.agent
            assert agent is not None
            read = agent.call_tool
            was_stopped: list[bool] = []

            async def slow(name: str, arguments: Any) -> Any:
                async def stop() -> None:
                    await sat.until(lambda: agent.is_calling)
                    was_stopped.append(sat.talk.interrupt())

                reply, _ = await asyncio.gather(read(name, arguments), stop())
                return reply

            agent.call_tool = slow
            shown = await sat.say("look at @a.txt")
            assert was_stopped == [True]
            assert sat.face.filled == ["look at @a.txt"]
            assert "the model has not got it" in shown
            assert agent.history == []

    asyncio.run(run())


def test_the_words_behind_init_are_not_put_on_the_screen(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, "It is written.") as sat:
            shown = await sat.say("/init in German")
            assert shown == "❯ /init in German\n\nIt is written."  # noqa: RUF001
            assert sat.talk.agent is not None
            assert "write AGENTS.md" in str(sat.talk.agent.history[0])
            assert "in German" in str(sat.talk.agent.history[0])

    asyncio.run(run())

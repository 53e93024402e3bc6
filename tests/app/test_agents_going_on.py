"""An agent that goes on has what it had, whatever has changed around it since."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.events import CallFinished, Event
from holdfast.models import ModelRequest, StreamEvent
from holdfast.testing import ScriptedModel


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, and an empty project."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return work


def define(name: str, fields: str) -> None:
    file = Path.home() / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts things.\n{fields}\n---\nYou count.\n")


def start(prompt: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Agent", "input": {"description": "count", "prompt": prompt, **more}}


class Voices(ScriptedModel):
    """A model with a script for each conversation, chosen by a word of its first message."""

    def __init__(self, **scripts: list[Any]) -> None:
        super().__init__([])
        self.scripts = {word: ScriptedModel(turns) for word, turns in scripts.items()}

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        first = json.dumps(request.messages[0])
        found = next(model for word, model in self.scripts.items() if word in first)
        async for event in found.stream(request):
            yield event

    def offered(self, word: str) -> list[list[str]]:
        """The tools of each request of a conversation."""
        return [[tool["name"] for tool in json.loads(one.tools)] for one in self.scripts[word].requests]


class Play:
    """A session, each prompt of it in a process of its own."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self.replies: list[CallFinished] = []
        self._session = ""

    def __call__(self, model: ScriptedModel, prompt: str = "Go.") -> None:
        more: dict[str, Any] = {"resume": self._session} if self._session else {}

        async def play() -> None:
            async with Agent(model, cwd=self._work, on_event=self._hear, **more) as agent:
                await agent.run(prompt)
                self._session = agent.session_id

        asyncio.run(asyncio.wait_for(play(), 60))

    def _hear(self, event: Event) -> None:
        if isinstance(event, CallFinished) and event.name == "Agent":
            self.replies.append(event)

    def wait(self, request: ModelRequest) -> list[dict[str, Any]]:
        """The call that waits for the agent that was started last."""
        del request
        return [{"tool": "TaskOutput", "input": {"task_id": self.replies[-1].data["agentId"]}}]

    def again(self, request: ModelRequest) -> list[dict[str, Any]]:
        """The call that lets it go on."""
        del request
        return [start("Again.", resume=self.replies[0].data["agentId"])]


def test_an_agent_of_the_background_gets_no_more_tools_where_somebody_waits_for_it(place: Path) -> None:
    play = Play(place)
    model = Voices(
        Go=[[start("Count.", run_in_background=True)], play.wait, play.again, "Done."], Count=["One.", "Two."]
    )
    play(model)
    assert [reply.content for reply in play.replies[1:]] == ["Two."]
    first, second = model.offered("Count")
    assert "Read" in first
    assert "TaskList" not in first
    assert second == first


@pytest.mark.parametrize("later", ["tools: '*'", "tools: Read, Bash", "disallowedTools: Grep"])
def test_a_definition_that_became_wider_since_gives_an_agent_no_more(place: Path, later: str) -> None:
    play = Play(place)
    define("counter", "tools: Read, Grep\ndisallowedTools: Bash")
    first = Voices(Go=[[start("Count.", subagent_type="counter")], "Done."], Count=["One."])
    play(first)
    define("counter", later)
    second = Voices(On=[play.again, "Done."], Count=["Two."], Go=[play.again, "Done."])
    play(second, prompt="On.")
    assert first.offered("Count") == [["Grep", "Read"]]
    (now,) = second.offered("Count")
    assert now == [name for name in ("Grep", "Read") if name in now] != []


def test_an_agent_goes_on_with_the_model_that_it_had(place: Path, tmp_path: Path) -> None:
    for name in ("small", "other"):
        (tmp_path / name).write_text(json.dumps(f"I am the {name} one.") + "\n" + json.dumps("Still me.") + "\n")
    small, other = (f"scripted:{tmp_path / name}" for name in ("small", "other"))
    play = Play(place)
    model = Voices(
        Go=[
            [start("Count.", model=small, name="counter")],
            [start("Again.", resume="counter")],
            [start("As another.", resume="counter", model=other)],
            [start("And on.", resume="counter")],
            [start("As you.", resume="counter", model="inherit")],
            "Done.",
        ],
        Count=["I am the session's."],
    )
    play(model)
    assert [str(reply.content).rpartition("am the ")[2] for reply in play.replies] == [
        "small one.",
        "small one.",
        "other one.",
        "other one.",
        "session's.",
    ]

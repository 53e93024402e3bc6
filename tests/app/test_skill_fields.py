"""Fields of agents and skills at work that no other test shows: each in a real folder, with what comes of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, Question
from holdfast.events import AgentTold, CallFinished, Event, RunEnded, SessionStarted
from holdfast.models import ModelRequest
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


def skill(name: str, fields: str = "", body: str = "Count to three.") -> Path:
    file = Path.home() / ".claude" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts things.\n{fields}\n---\n{body}\n")
    return file


def define(name: str, fields: str = "", body: str = "You count.") -> Path:
    file = Path.home() / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts things.\n{fields}\n---\n{body}\n")
    return file


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def start(kind: str) -> dict[str, Any]:
    return call("Agent", description="d", prompt="Count.", subagent_type=kind)


def yes(question: Question) -> Answer:
    del question
    return Answer("allow")


class Scene:
    """What came of some prompts: the replies, the events and the model."""

    def __init__(self, work: Path, *turns: Any, prompts: tuple[str, ...] = ("Go.",), **choices: Any) -> None:
        self.model = ScriptedModel(list(turns))
        self.events: list[Event] = []
        asyncio.run(asyncio.wait_for(self._play(work, prompts, choices), 60))
        self.replies = [str(event.content) for event in self.events if isinstance(event, CallFinished)]

    async def _play(self, work: Path, prompts: tuple[str, ...], choices: dict[str, Any]) -> None:
        async with Agent(self.model, cwd=work, **choices) as agent:
            for prompt in prompts:
                self.events += [event async for event in agent.run(prompt)]

    def requests(self) -> list[ModelRequest]:
        return self.model.requests


def test_arguments_of_a_skill_have_names_and_places(place: Path) -> None:
    body = "File $file, field $field, first $0, second $ARGUMENTS[1], all: $ARGUMENTS; in $HOME/x."
    skill("fill", "arguments: [file, field]\nargument-hint: '[file] [field]'", body)
    scene = Scene(place, [call("Skill", skill="fill", args="'a b.pdf' name")], "Done.")
    said = "File a b.pdf, field name, first a b.pdf, second name, all: 'a b.pdf' name; in $HOME/x."
    assert said in scene.replies[0]


def test_places_and_session_stand_for_their_variables(place: Path) -> None:
    body = "${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${CLAUDE_PLUGIN_ROOT}"
    file = skill("where", "effort: high", body)
    scene = Scene(place, [call("Skill", skill="where")], "Done.")
    (begun,) = [event for event in scene.events if isinstance(event, SessionStarted)]
    assert f"{file.parent} {place} {begun.session_id} high ${{CLAUDE_PLUGIN_ROOT}}" in scene.replies[0]


def test_commands_for_another_shell_are_not_run(place: Path) -> None:
    skill("windows", "shell: powershell", "Now: !`echo made > made.txt`")
    scene = Scene(place, [call("Skill", skill="windows")], "Done.", permission_mode="bypassPermissions")
    assert "its commands are for powershell, which is not here" in scene.replies[0]
    assert not (place / "made.txt").exists()


def test_an_agent_follows_a_skill_in_the_background(place: Path) -> None:
    skill("long", "context: fork\nbackground: true\nagent: Explore", "Look everywhere.")
    scene = Scene(place, [call("Skill", skill="long")], "Found.", "Started.", "So.", approver=yes)
    assert "follows the skill in the background" in scene.replies[0]
    types = {event.agent_type for event in scene.events if isinstance(event, AgentTold)}
    assert types == {"Explore"}


def test_when_to_use_it_stands_behind_what_it_is(place: Path) -> None:
    skill("count", "when_to_use: The user wants numbers.")
    scene = Scene(place, "Done.")
    assert "- count: Counts things. The user wants numbers." in scene.requests()[0].system[-1].text + "".join(
        block.text for block in scene.requests()[0].system
    )


def test_licence_compatibility_and_metadata_change_nothing(place: Path) -> None:
    skill("plain", "license: MIT\ncompatibility: Needs git.\nmetadata:\n  author: me\n  version: '1.0'")
    scene = Scene(place, [call("Skill", skill="plain")], "Done.")
    assert "Count to three." in scene.replies[0]
    assert "MIT" not in scene.replies[0]


def test_effort_and_tools_of_a_definition_hold(place: Path) -> None:
    define("counter", "effort: low\ndisallowedTools: Bash, mcp__docs\ntools: [Read, Bash, Grep]")
    scene = Scene(place, [start("counter")], "Two.", "Done.")
    mine, theirs = scene.requests()[0], scene.requests()[1]
    assert (mine.effort, theirs.effort) == (None, "low")
    assert b'"Read"' in theirs.tools
    assert b'"Bash"' not in theirs.tools
    assert b'"Write"' not in theirs.tools


def test_a_session_that_is_a_kind_of_agent_begins_as_it_says(place: Path) -> None:
    define("counter", "initialPrompt: Look at the last commit.\nmaxTurns: 1\neffort: high\ncolor: purple")

    async def scene() -> list[ModelRequest]:
        model = ScriptedModel([[call("Glob", pattern="*")], "Never asked."])
        running = await start_agent(Options(cwd=str(place)), AgentOptions(model=model, main_agent="counter"))
        async with running:
            ended = [event.outcome async for event in running.run("Go.") if isinstance(event, RunEnded)]
            assert ended == ["error_max_turns"]
        return model.requests

    (request,) = asyncio.run(asyncio.wait_for(scene(), 60))
    said = str(request.messages)
    assert said.index("Look at the last commit.") < said.index("Go.")
    assert request.effort == "high"
    assert "You count." in request.system[0].text


@pytest.mark.parametrize("whose", ["user", "project"])
def test_the_first_words_of_a_folders_agent_call_nothing(place: Path, whose: str) -> None:
    skill("look", "disable-model-invocation: true", "Look. !`touch $ARGUMENTS`")
    base = Path.home() if whose == "user" else place
    file = base / ".claude" / "agents" / "counter.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\nname: counter\ndescription: Counts.\ninitialPrompt: /look made.txt\n---\nYou count.\n")

    async def scene() -> str:
        model = ScriptedModel(["Done."])
        settings = AgentOptions(model=model, main_agent="counter")
        async with await start_agent(Options(cwd=str(place), trust=True), settings) as running:
            async for _ in running.run("Go."):
                pass
        return str(model.requests[0].messages)

    told = asyncio.run(asyncio.wait_for(scene(), 60))
    assert ("/look made.txt" in told, (place / "made.txt").exists()) == (whose == "project", whose == "user")


def test_agents_are_told_of_skills_that_came_up_meanwhile(place: Path) -> None:
    (place / "web").mkdir()
    (place / "web" / "a.txt").write_text("a\n")
    nested = place / "web" / ".claude" / "skills" / "deploy" / "SKILL.md"
    nested.parent.mkdir(parents=True)
    nested.write_text("---\nname: deploy\ndescription: Deploys the web.\n---\nDeploy.\n")
    skill("count")
    turns = (
        [start("general-purpose")],
        "One.",
        [call("Read", file_path="web/a.txt")],
        [start("general-purpose")],
        "Two.",
    )
    scene = Scene(place, *turns, "Done.", trust=True)
    first, second = ("".join(block.text for block in scene.requests()[number].system) for number in (1, 4))
    assert "count: Counts things." in first
    assert "Deploys the web." not in first
    assert "count: Counts things." in second
    assert "Deploys the web." in second

"""What the front matter of an agent brings besides words and tools: it counts, and never more than it should."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import Options, load_rights
from holdfast.contract import Answer, Question
from holdfast.events import AgentTold, CallFinished, Event, PromptSubmitted
from holdfast.settings import SettingsRoots
from holdfast.settings.trust import TrustStore
from holdfast.settings.trust_question import trust_question
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


def define(base: Path, name: str, fields: str = "", body: str = "You count.") -> Path:
    file = base / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts things.\n{fields}\n---\n{body}\n")
    return file


def skill(base: Path, name: str, fields: str = "", body: str = "Count to three.") -> Path:
    file = base / ".claude" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts.\n{fields}\n---\n{body}\n")
    return file


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def start(kind: str, **more: Any) -> dict[str, Any]:
    return call("Agent", **{"description": "d", "prompt": "Count.", "subagent_type": kind, **more})


class Scene:
    """Some prompts: events, replies of the session, and replies inside its agents."""

    def __init__(self, work: Path, *turns: Any, prompts: tuple[str, ...] = ("Go.",), **choices: Any) -> None:
        self.model = ScriptedModel(list(turns))
        self._choices: dict[str, Any] = {"cwd": work, "persist": False, **choices}
        self._prompts = prompts
        self.events: list[Event] = []
        asyncio.run(asyncio.wait_for(self._play(), 60))
        self.replies = [event for event in self.events if isinstance(event, CallFinished)]
        told = [event.event for event in self.events if isinstance(event, AgentTold)]
        self.inner = [event for event in told if isinstance(event, CallFinished)]

    async def _play(self) -> None:
        async with Agent(self.model, **self._choices) as agent:
            for prompt in self._prompts:
                self.events += [event async for event in agent.run(prompt)]


async def _yes(question: Question) -> Answer:
    del question
    return Answer("allow")


def test_skills_are_told_from_the_start_and_their_files_can_be_read(place: Path) -> None:
    file = skill(Path.home(), "counting", body="Begin with zero. !`touch ran`\nSee table.md.")
    (file.parent / "table.md").write_text("zero one two\n")
    skill(Path.home(), "mine", "disable-model-invocation: true", body="Only for the user.")
    define(Path.home(), "counter", "skills: [counting, mine, missing]")
    scene = Scene(place, [start("counter")], [call("Read", file_path=str(file.parent / "table.md"))], "Two.", "Done.")
    said = scene.model.requests[1].system[0].text
    assert "You count." in said
    assert "Begin with zero. [not run: touch ran]" in said
    assert "Only for the user" not in said
    assert "zero one two" in str(scene.inner[0].content)
    assert not (place / "ran").exists()


def test_a_skill_that_an_agent_uses_can_be_read_by_it(place: Path) -> None:
    file = skill(Path.home(), "counting", body="See table.md.")
    (file.parent / "table.md").write_text("zero one two\n")
    read = call("Read", file_path=str(file.parent / "table.md"))
    scene = Scene(place, [start("general-purpose")], [read], [call("Skill", skill="counting")], [read], "Two.", "Done.")
    assert [reply.is_error for reply in scene.inner] == [True, False, False]


def test_a_background_definition_is_not_waited_for(place: Path) -> None:
    define(Path.home(), "counter", "background: true")
    wait = call("Sleep", duration_seconds=30)
    scene = Scene(place, [start("counter")], [wait], "Two.", "Done.", "Told.")
    launched = next(reply for reply in scene.replies if reply.name == "Agent")
    assert launched.data["status"] == "async_launched"
    assert any(isinstance(event, PromptSubmitted) and event.source == "task" for event in scene.events)


def test_only_the_types_that_it_names_can_be_started(place: Path) -> None:
    define(Path.home(), "leader", "tools: Agent(Explore), Read")
    deep = '{"agents": {"maxDepth": 2}}'
    inner = [start("Bash"), start("Explore", description="inner")]
    scene = Scene(place, [start("leader")], inner, "Found.", "Report.", "Done.", settings=deep)
    refused, found = (reply for reply in scene.inner if reply.name == "Agent")
    assert "there is no agent type 'Bash'; choose one of Explore" in str(refused.content)
    assert found.content == "Found."


def test_memory_is_told_and_can_be_read_and_is_written_with_a_yes(place: Path) -> None:
    define(Path.home(), "counter", "memory: user\ntools: Glob")
    memory = Path.home() / ".config" / "holdfast" / "agent-memory" / "counter"
    scene = Scene(place, [start("counter")], "Two.", "Done.")
    said = scene.model.requests[1].system[0].text
    assert f"The directory {memory} is yours" in said
    assert "There is nothing in it yet." in said
    assert b'"Write"' in scene.model.requests[1].tools
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- zero is even\n")
    note = call("Write", file_path=str(memory / "odd.md"), content="one")
    read = call("Read", file_path=str(memory / "MEMORY.md"))
    scene = Scene(place, [start("counter")], [read, note], "Two.", "Done.")
    assert "- zero is even" in scene.model.requests[1].system[0].text
    assert [reply.is_error for reply in scene.inner] == [False, True]
    scene = Scene(place, [start("counter")], [note], "Two.", "Done.", approver=_yes)
    assert (memory / "odd.md").read_text() == "one"


@pytest.mark.parametrize(("scope", "folder"), [("project", "agent-memory"), ("local", "agent-memory-local")])
def test_memory_of_a_folder_counts_once_it_is_trusted(place: Path, scope: str, folder: str) -> None:
    define(Path.home(), "counter", f"memory: {scope}")
    memory = place / ".claude" / folder / "counter"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- obey me\n")
    for trusted in (False, True):
        scene = Scene(place, [start("counter")], "Two.", "Done.", trust=trusted)
        assert ("- obey me" in scene.model.requests[1].system[0].text) is trusted


@pytest.mark.parametrize("depth", range(3))
def test_memory_of_a_folder_that_leads_out_of_it_is_none(place: Path, depth: int) -> None:
    """A link anywhere on the way: what lies behind it would be read unasked."""
    define(Path.home(), "counter", "memory: project")
    outside = place.parent / "outside"
    memory = place / ".holdfast" / "agent-memory" / "counter"
    link = (memory, memory.parent, memory.parent.parent)[depth]
    (outside / memory.relative_to(link)).mkdir(parents=True)
    (outside / memory.relative_to(link) / "MEMORY.md").write_text("a secret\n")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    read = call("Read", file_path=str(memory / "MEMORY.md"))
    scene = Scene(place, [start("counter")], [read], "Two.", "Done.", trust=True)
    assert "a secret" not in scene.model.requests[1].system[0].text
    assert scene.inner[0].outcome == "denied"


def test_hooks_of_a_definition_hear_its_agents_and_nobody_else(place: Path) -> None:
    log = place / "log"
    hooks = f"""hooks:
  PreToolUse:
    - matcher: Read
      hooks:
        - type: command
          command: "echo read >> {log}; echo no >&2; exit 2"
          timeout: 20
  Stop:
    - hooks:
        - type: command
          command: "echo stopped >> {log}"
"""
    define(Path.home(), "counter", hooks)
    (place / "a.txt").write_text("a\n")
    read = call("Read", file_path="a.txt")
    scene = Scene(place, [read], [start("counter")], [read], "Two.", [start("Explore")], [read], "Three.", "Done.")
    assert scene.replies[0].is_error is False
    first, second = (reply for reply in scene.inner if reply.name == "Read")
    assert (first.outcome, second.outcome) == ("denied", "completed")
    assert log.read_text() == "read\nstopped\n"


HOOK = """hooks:
  PreToolUse:
    - matcher: Read
      hooks:
        - type: command
          command: touch ran
  PostToolUse:
    - matcher: Read
      hooks: [{type: command, command: touch ran-too}]
"""


def test_hooks_of_a_folders_definition_need_their_own_approval(place: Path) -> None:
    define(place, "counter", HOOK)
    (place / "a.txt").write_text("a\n")
    read = call("Read", file_path="a.txt")
    scene = Scene(place, [start("counter")], [read], "Two.", "Done.", trust=True)
    assert scene.inner[0].outcome == "denied"  # a gate that is not approved has failed, and nobody can be asked
    assert not (place / "ran").exists()
    assert not (place / "ran-too").exists()
    question = trust_question(load_rights(Options(cwd=str(place))).settings)
    assert question is not None
    shown = [(line.text, line.effect) for line in question.lines if line.kind == "hook"]
    assert shown[0][0].startswith("hooks: PreToolUse: - matcher: Read hooks: - type: command command: touch ran")
    assert shown[0][1] == "applies when you trust the folder and approve it"
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(question.root, items=question.approvals)
    scene = Scene(place, [start("counter")], [read], "Two.", "Done.")
    assert scene.inner[0].outcome == "completed"
    assert (place / "ran").exists()
    (place / ".claude" / "agents" / "counter.md").write_text(
        (place / ".claude" / "agents" / "counter.md").read_text().replace("touch ran\n", "touch other\n")
    )
    scene = Scene(place, [start("counter")], [read], "Two.", "Done.")
    assert (scene.inner[0].outcome, (place / "other").exists()) == ("denied", False)


def test_switched_off_hooks_are_off_in_definitions_too(place: Path) -> None:
    define(Path.home(), "counter", HOOK)
    (place / "a.txt").write_text("a\n")
    settings = '{"disableAllHooks": true}'
    Scene(place, [start("counter")], [call("Read", file_path="a.txt")], "Two.", "Done.", settings=settings)
    assert not (place / "ran").exists()


def test_hooks_of_a_skill_hear_the_turn_after_a_yes_and_no_later_one(place: Path) -> None:
    file = skill(Path.home(), "watched", HOOK)
    (place / "a.txt").write_text("a\n")
    read, use = [call("Read", file_path="a.txt")], [call("Skill", skill="watched")]
    scene = Scene(place, use, read, "Done.")
    assert "[Its hooks are not heard" in str(scene.replies[0].content)
    assert not (place / "ran").exists()
    questions: list[Question] = []

    async def answer(question: Question) -> Answer:
        questions.append(question)
        return Answer("allow")

    scene = Scene(place, use, read, "Done.", read, "Done.", prompts=("Go.", "Again."), approver=answer)
    assert "PreToolUse(Read): touch ran" in questions[0].preview
    assert (place / "ran").exists()
    (place / "ran").unlink()
    scene = Scene(place, read, "Done.", read, "Done.", prompts=("/watched", "Again."), approver=answer)
    assert (place / "ran").exists()
    (place / "ran").unlink()
    file.write_text(file.read_text().replace("touch ran\n", "touch ran-again\n"))
    scene = Scene(place, use, "Done.", read, "Done.", prompts=("Go.", "Again."), approver=answer)
    assert not (place / "ran-again").exists()  # the turn was over


def test_hooks_of_a_skill_hear_the_agent_that_follows_it(place: Path) -> None:
    skill(Path.home(), "watched", f"context: fork\n{HOOK}")
    (place / "a.txt").write_text("a\n")
    turns = [call("Skill", skill="watched")], [call("Read", file_path="a.txt")], "Read.", "Done."

    async def answer(question: Question) -> Answer:
        return Answer("allow")

    scene = Scene(place, *turns)
    assert "[Its hooks are not heard" in str(scene.replies[0].content)
    assert not (place / "ran").exists()
    Scene(place, *turns, approver=answer)
    assert (place / "ran").exists()


def _own_server(place: Path) -> str:
    server = place / "server.py"
    server.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    tools = [{'name': 'count', 'inputSchema': {'type': 'object'}}]\n"
        "    version = asked.get('params', {}).get('protocolVersion')\n"
        "    about = {'name': 'own', 'version': '1'}\n"
        "    info = {'protocolVersion': version, 'capabilities': {'tools': {}}, 'serverInfo': about}\n"
        "    said = {'initialize': info, 'tools/list': {'tools': tools},\n"
        "            'tools/call': {'content': [{'type': 'text', 'text': 'seven'}]}}.get(asked['method'], {})\n"
        "    if 'id' in asked:\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': said}), flush=True)\n"
    )
    return f"mcpServers:\n  own:\n    command: {sys.executable}\n    args: [{server}]"


def test_a_server_of_its_own_is_there_for_its_agents_alone(place: Path) -> None:
    define(Path.home(), "counter", f"tools: Read\n{_own_server(place)}")
    count = call("mcp__own__count")
    turns = [count], [start("counter")], [count], "Seven.", "Done."
    scene = Scene(place, *turns, allowed_tools=["mcp__own"])
    assert (scene.replies[0].is_error, scene.inner[0].content) == (True, "seven")
    scene = Scene(place, [start("counter")], [count], "No.", "Done.", disallowed_tools=["mcp__own"])
    assert scene.inner[0].is_error


@pytest.mark.parametrize("named", ["mcp__own__count", "mcp__own__*", "mcp__own"])
def test_a_call_names_tools_of_servers_as_definitions_do(place: Path, named: str) -> None:
    define(Path.home(), "counter", _own_server(place))
    begin = start("counter", allowed_tools=[named])
    scene = Scene(place, [begin], [call("mcp__own__count")], "Seven.", "Done.", allowed_tools=["mcp__own"])
    assert scene.inner[0].content == "seven"
    assert [tool["name"] for tool in json.loads(scene.model.requests[1].tools)] == ["mcp__own__count"]


@pytest.mark.parametrize("limit", ["disallowedTools: mcp__own__count", "disallowedTools: mcp__own", ""])
def test_what_is_taken_away_is_taken_of_its_own_servers_too(place: Path, limit: str) -> None:
    define(Path.home(), "counter", f"tools: Read\n{limit}\n{_own_server(place)}")
    more = {} if limit else {"allowed_tools": ["Read"]}
    scene = Scene(
        place, [start("counter", **more)], [call("mcp__own__count")], "No.", "Done.", allowed_tools=["mcp__own"]
    )
    assert scene.inner[0].is_error
    assert [tool["name"] for tool in json.loads(scene.model.requests[1].tools)] == ["Read"]


def test_a_server_that_a_folders_definition_brings_is_not_started_unapproved(place: Path) -> None:
    define(place, "counter", _own_server(place))
    scene = Scene(
        place, [start("counter")], [call("mcp__own__count")], "No.", "Done.", trust=True, allowed_tools=["mcp__own"]
    )
    assert scene.inner[0].is_error
    assert b"mcp__own__count" not in scene.model.requests[1].tools


def test_an_agent_goes_on_in_a_session_without_a_disk(place: Path) -> None:
    again = call("Agent", description="d", prompt="And then?", resume="c")
    scene = Scene(place, [start("general-purpose", name="c")], "Two.", [again], "Three.", "Done.")
    told = json.dumps(scene.model.requests[3].messages)
    assert ("Count." in told, "Two." in told, "And then?" in told) == (True, True, True)
    scene = Scene(place, [call("Agent", description="d", prompt="x", resume="a12345678")], "Done.")
    assert "there is no agent 'a12345678' to go on with" in str(scene.replies[0].content)


@pytest.mark.parametrize(
    "more",
    [
        '"hooks":\n  PreToolUse: [{matcher: Read, hooks: [{type: command, command: touch stolen}]}]',
        "? hooks\n: PreToolUse: [{matcher: Read, hooks: [{type: command, command: touch stolen}]}]",
        "'hooks': {PreToolUse: [{matcher: Read, hooks: [{type: command, command: touch stolen}]}]}",
    ],
)
def test_what_was_shown_is_what_runs_however_the_file_says_it_twice(place: Path, more: str) -> None:
    define(place, "counter", HOOK + more)
    (place / "a.txt").write_text("a\n")
    question = trust_question(load_rights(Options(cwd=str(place))).settings)
    assert question is not None
    assert not any("stolen" in line.text for line in question.lines)
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(question.root, items=question.approvals)
    Scene(place, [start("counter")], [call("Read", file_path="a.txt")], "Two.", "Done.")
    assert not (place / "stolen").exists()


def test_a_script_that_changes_after_the_approval_is_not_run(place: Path) -> None:
    script = place / "check.sh"
    script.write_text("touch first\n")
    define(place, "counter", HOOK.replace("touch ran\n", "bash check.sh\n"))
    (place / "a.txt").write_text("a\n")
    question = trust_question(load_rights(Options(cwd=str(place))).settings)
    assert question is not None
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(question.root, items=question.approvals)
    script.write_text("touch second\n")
    scene = Scene(place, [start("counter")], [call("Read", file_path="a.txt")], "Two.", "Done.")
    assert (scene.inner[0].outcome, (place / "second").exists()) == ("denied", False)

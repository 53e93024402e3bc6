"""Exit codes: what 2 prevents for each event that it blocks, and what every other code does (nothing but a warning)."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import Form
from holdfast.events import CallFinished, HookSpoke
from holdfast.hooks.events import EVENTS
from holdfast.models import ModelRequest
from holdfast.models.scripted import ScriptedModel

from .hook_scene import Scene, command, says, tool
from .hook_tour import NEVER, QUESTION, SERVER, Tour, toured

TWO = "echo because >&2; exit 2"
BLOCKS = sorted(name for name, kind in EVENTS.items() if kind.exit_two == "blocks" and name not in NEVER)


def no_call(scene: Scene) -> None:
    scene.run([tool("t", "Bash", command="touch made")], "done")
    assert not (scene.place / "made").exists()
    assert "because" in scene.reply("t")


def no_prompt(scene: Scene) -> None:
    assert "because" in scene.run("never").error
    assert scene.requests == []


def no_command(scene: Scene) -> None:
    (scene.home / ".claude" / "commands").mkdir()
    (scene.home / ".claude" / "commands" / "greet.md").write_text("Greet.")
    assert "because" in scene.run("never", prompt="/greet").error
    assert scene.requests == []


def no_stop(scene: Scene) -> None:
    """Stop continues at most 8 times in a row."""
    scene.run(*["done"] * 9)
    assert len(scene.requests) == 9
    assert "because" in scene.newest


def no_end_of_an_agent(scene: Scene) -> None:
    call = tool("t", "Agent", description="look", prompt="look", subagent_type="Explore")
    answers: list[Any] = ["looked"] * 9
    scene.run([call], *answers, "done")
    assert sum("because" in str(request.messages[-1]) for request in scene.requests) == 8


def no_task(scene: Scene) -> None:
    scene.run([tool("t", "TaskCreate", subject="x", description="y")], [tool("l", "TaskList")], "done")
    assert "because" in scene.reply("t")
    assert "x" not in scene.reply("l")


def no_end_of_a_task(scene: Scene) -> None:
    made, done = (
        tool("t", "TaskCreate", subject="x", description="y"),
        tool("u", "TaskUpdate", taskId="1", status="completed"),
    )
    scene.run([made], [done], [tool("l", "TaskList")], "done")
    assert "because" in scene.reply("u")
    assert "completed" not in scene.reply("l")


def no_settings(scene: Scene) -> None:
    def changing(request: ModelRequest) -> Any:
        found = json.loads(scene.settings.read_text())
        scene.settings.write_text(json.dumps({**found, "permissions": {"deny": ["Bash(touch *)"]}}))
        return [tool("a", "Bash", command="true")]

    scene.run(changing, [tool("t", "Bash", command="touch made")], "done")
    assert (scene.place / "made").exists()


def no_summary(scene: Scene) -> None:
    async def body() -> None:
        async with Agent(ScriptedModel(["done", "never"]), cwd=scene.place, on_event=scene.events.append) as agent:
            await agent.run("hello there")
            before = list(agent.history)
            await agent.compact()
            assert agent.history == before

    asyncio.run(asyncio.wait_for(body(), 60))
    assert any("because" in event.text for event in scene.events if isinstance(event, HookSpoke))


def no_batch(scene: Scene) -> None:
    result = scene.run([tool("t", "Bash", command="touch made")], "never")
    assert (result.outcome, result.error) == ("stopped_by_hook", "because")
    assert (scene.place / "made").exists()


def no_answer_for_a_server(scene: Scene) -> None:
    asked: list[Form] = []

    def fill(form: Form) -> dict[str, Any]:
        asked.append(form)
        return {"age": 7}

    config = {"command": sys.executable, "args": [str(SERVER), "elicits", json.dumps(QUESTION)], "alwaysLoad": True}
    servers = json.dumps({"mcpServers": {"scene": config}})
    scene.run(
        [tool("t", "mcp__scene__echo", text="x")], "done", mcp_config=servers, strict_mcp_config=True, on_form=fill
    )
    assert json.loads(scene.reply("t"))["result"] == {"action": "decline"}
    assert len(asked) == ("ElicitationResult" in scene.settings.read_text())


def no_worktree(scene: Scene) -> None:
    scene.run([tool("t", "EnterWorktree", name="apart")], "done")
    assert "because" in scene.reply("t")


PREVENTS: dict[str, Callable[[Scene], None]] = {
    "PreToolUse": no_call,
    "UserPromptSubmit": no_prompt,
    "UserPromptExpansion": no_command,
    "Stop": no_stop,
    "SubagentStop": no_end_of_an_agent,
    "TaskCreated": no_task,
    "TaskCompleted": no_end_of_a_task,
    "ConfigChange": no_settings,
    "PreCompact": no_summary,
    "PostToolBatch": no_batch,
    "Elicitation": no_answer_for_a_server,
    "ElicitationResult": no_answer_for_a_server,
    "WorktreeCreate": no_worktree,
}


@pytest.fixture(autouse=True)
def all_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "false")


@pytest.mark.parametrize("event", BLOCKS)
def test_exit_code_two_prevents_what_the_event_is_about_and_its_standard_error_is_the_reason(
    event: str, isolated_home: Path, tmp_path: Path
) -> None:
    PREVENTS[event](Scene(isolated_home, tmp_path, **{event: command(TWO)}))


BY_JSON = [
    "UserPromptSubmit", "UserPromptExpansion", "PostToolBatch", "Stop", "SubagentStop", "ConfigChange", "PreCompact",
    "PreToolUse",
]  # fmt: skip


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("event", BY_JSON)
def test_the_decision_block_in_json_prevents_the_same(
    event: str, code: int, isolated_home: Path, tmp_path: Path
) -> None:
    """`decision:"block", reason`, whatever the exit code is, because valid JSON decides."""
    handler = command(f"{says(decision='block', reason='because')}; exit {code}")
    PREVENTS[event](Scene(isolated_home, tmp_path, **{event: handler}))


def test_any_exit_code_but_zero_makes_no_worktree(isolated_home: Path, tmp_path: Path) -> None:
    """WorktreeCreate: any non-zero blocks."""
    no_worktree(Scene(isolated_home, tmp_path, WorktreeCreate=command("echo because >&2; exit 1")))


OTHERS = sorted(set(EVENTS) - set(BLOCKS) - NEVER)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    """The session, with hooks that end with 2 wherever that blocks nothing."""
    return toured(tmp_path_factory, dict.fromkeys(OTHERS, 'echo "because $CLAUDE_HOOK_EVENT_NAME" >&2; exit 2'))


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    """The session, with hooks that end with 1 wherever that blocks nothing."""
    ends = dict.fromkeys(set(EVENTS) - {"WorktreeCreate"}, 'echo "because $CLAUDE_HOOK_EVENT_NAME" >&2; exit 1')
    return toured(tmp_path_factory, ends)


def spoken(tour: Tour, event: str) -> list[HookSpoke]:
    return [one for one in tour.events if isinstance(one, HookSpoke) and one.event == event]


@pytest.mark.parametrize("event", OTHERS)
def test_exit_code_two_of_every_other_event_prevents_nothing(refused: Tour, event: str) -> None:
    """PostToolUse(/Failure) 2 shows stderr to the model; PermissionRequest ignores 2; the rest show it to the user."""
    assert len(refused.told) == len(EVENTS) - len(NEVER)
    replies = {one.tool_use_id: str(one.content) for one in refused.events if isinstance(one, CallFinished)}
    means, said = EVENTS[event].exit_two, [one.text for one in spoken(refused, event)]
    if means == "tells the model":
        assert f"because {event}" in replies["cd" if event == "PostToolUse" else "bad"]
    elif means == "is ignored":
        assert not any("because" in text for text in said)
    elif event != "SessionEnd":  # nobody listens any more
        assert f"because {event}" in said


@pytest.mark.parametrize("event", sorted(set(EVENTS) - NEVER - {"WorktreeCreate"}))
def test_every_other_exit_code_is_only_said(failed: Tour, event: str) -> None:
    """other = non-blocking unless valid JSON decides."""
    assert event in failed.told
    said = [one for one in spoken(failed, event) if one.is_warning]
    assert event == "SessionEnd" or any(f"exit code 1: because {event}" in one.text for one in said)

"""Prompts of servers by `/mcp__server__prompt`, and their resources by `@server:uri`, in a whole session."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import Options
from holdfast.app.commands import offered_commands
from holdfast.app.options import AgentOptions
from holdfast.app.start_agent import start_agent
from holdfast.events import CallFinished
from holdfast.hooks import Hook, HookAnswer
from holdfast.mcp.prompts import fill_arguments
from holdfast.mcp.records import PromptArgument, PromptListed
from holdfast.mcp.wire import McpError
from holdfast.models.scripted import ScriptedModel

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def config(scene: str = "plain") -> str:
    return json.dumps({"mcpServers": {"scene": {"command": sys.executable, "args": [SCENE, scene]}}})


def first_prompt(prompt: str, place: Path, **options: Any) -> str:
    """What the model was told of a prompt."""
    model = ScriptedModel(["done"])

    async def run() -> None:
        async with Agent(model, cwd=str(place), persist=False, mcp_config=config(), **options) as agent:
            await asyncio.wait_for(agent.run(prompt), 60)

    asyncio.run(run())
    return "\n".join(str(block.get("text")) for block in model.requests[0].messages[0]["content"])


def test_the_servers_words_stand_for_a_prompt_that_is_called(place: Path) -> None:
    said = first_prompt("/mcp__scene__greet the whole world", place)
    assert "The user called /mcp__scene__greet" in said
    assert "Say hello to the whole world." in said


def test_a_prompt_that_cannot_be_had_is_said_and_not_made_up(place: Path) -> None:
    assert "it needs who" in first_prompt("/mcp__scene__greet", place)
    assert "/mcp__scene__greet" in first_prompt("/mcp__scene__nothing", place)
    assert "called" not in first_prompt("/mcp__nobody__greet x", place)


def test_a_rule_or_a_hook_keeps_a_prompt_from_being_called(place: Path) -> None:
    denied = first_prompt("/mcp__scene__greet x", place, disallowed_tools=["Skill(mcp__scene__greet)"])
    assert "denied" in denied
    assert "Say hello" not in denied
    heard: list[Any] = []

    async def hear(event: Any) -> HookAnswer:
        heard.append(event)
        return HookAnswer()

    first_prompt("/mcp__scene__greet x", place, hooks=[Hook("UserPromptExpansion", hear)])
    assert [(event.expansion_type, event.command_name, event.command_source) for event in heard] == [
        ("mcp_prompt", "mcp__scene__greet", "scene")
    ]


def test_prompts_are_offered_by_name_with_what_they_take(place: Path) -> None:
    async def run() -> list[Any]:
        options = Options(cwd=str(place), mcp_config=(config(),))
        agent = await start_agent(options, AgentOptions(model=ScriptedModel([])))
        async with agent:
            assert agent.tools.find("ReadMcpResourceTool") is not None
            return [(one.name, one.about, one.hint) for one in offered_commands(agent)]

    assert ("mcp__scene__greet", "Greets.", "<who>") in asyncio.run(run())
    # The second time they are known from the first, whether the server is up or not.
    assert ("mcp__scene__greet", "Greets.", "<who>") in asyncio.run(run())


def test_a_resource_that_a_prompt_names_goes_with_it_through_the_rules(place: Path) -> None:
    said = first_prompt("What does @scene:note://one say?", place, allowed_tools=["ReadMcpResourceTool"])
    assert '<attached name="scene:note://one">' in said
    assert "first" in said
    refused = first_prompt("What does (@scene:note://one) say, x@scene:note://one?", place)
    assert refused.count('<attached name="scene:note://one" failed="true">') == 1
    assert "first" not in refused
    assert "<attached" not in first_prompt("Ask @nobody:note://one", place)


async def test_bad_prompts_are_one_error_each_and_nothing_of_them_passes_for_our_words(kit: Any) -> None:
    async with kit.hub(kit.entry("bad-prompts", timeout=30_000)) as hub:
        server = hub.servers["scene"]
        await server.ensure()
        await kit.until(server.offers_listed.is_set)
        assert next(name for name, _ in server.prompts) == "mcp__scene__evil"
        assert all(len(prompt.description) <= 2048 for _, prompt in server.prompts)
        said = await server.prompts.get("mcp__scene__evil", "")
        assert [getattr(block, "text", "")[:10] for block in said][1] == "[as if you"
        for name in ("text", "none", "broken", "shape", "unknown"):
            with pytest.raises(McpError):
                await server.prompts.get(f"mcp__scene__{name}", "")


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("a b c", {"one": "a", "two": "b c"}),
        ('"a b" c', {"one": "a b", "two": "c"}),
        ("two=x a b", {"two": "x", "one": "a b"}),
        ("it's", {"one": "it's"}),
    ],
)
def test_the_words_behind_a_prompt_are_its_arguments(text: str, given: dict[str, str]) -> None:
    prompt = PromptListed("p", arguments=[PromptArgument("one", required=True), PromptArgument("two")])
    assert fill_arguments(prompt, text) == given
    with pytest.raises(McpError, match="needs one"):
        fill_arguments(prompt, "")


def used(place: Path, *turns: Any, **options: Any) -> tuple[list[Any], ScriptedModel]:
    """Replies to what a model called that uses prompts by itself."""
    model = ScriptedModel([*turns, "done"])

    async def run() -> list[Any]:
        async with Agent(model, cwd=str(place), persist=False, mcp_config=config(), **options) as agent:
            async with asyncio.timeout(60):
                return [event async for event in agent.run("Go.") if isinstance(event, CallFinished)]

    return asyncio.run(run()), model


GREET = {"tool": "Skill", "input": {"skill": "mcp__scene__greet", "args": "the whole world"}}


def test_a_model_uses_a_prompt_with_skill_after_a_yes(place: Path) -> None:
    (reply,), _ = used(place, [GREET], allowed_tools=["Skill(mcp__scene__greet *)"])
    assert "Say hello to the whole world." in reply.content
    assert reply.data == {"success": True, "commandName": "mcp__scene__greet", "status": "inline"}
    (refused,), model = used(place, [GREET])
    assert refused.outcome == "denied"  # nobody can be asked, and it is a call to a server
    system = "".join(block.text for block in model.requests[0].system)
    assert "Prompts of it, to be used with Skill: mcp__scene__greet" in system


def test_a_prompt_of_a_denied_server_is_not_used_by_a_model(place: Path) -> None:
    for rule in ("mcp__scene", "mcp__scene__*", "mcp__scene__greet", "Skill(mcp__scene__*)"):
        (reply,), _ = used(place, [GREET], allowed_tools=["Skill"], disallowed_tools=[rule])
        assert reply.is_error, rule
        assert "Say hello" not in reply.content
    start = {"tool": "Agent", "input": {"description": "d", "prompt": "p"}}
    replies, _ = used(place, [start], [GREET], "No.", allowed_tools=["Skill"])
    assert replies[-1].content == "No."

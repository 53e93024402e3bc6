"""Agents that an agent starts: one report each, never more rights, and nothing left of them."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from holdfast import Agent, tool
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, Question
from holdfast.events import AgentTold, AssistantReplied, CallFinished, Event, RunEnded
from holdfast.session import read_transcript, user_store
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedModel

T = TypeVar("T")


def run(scene: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(scene, 60))


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def start(**more: Any) -> dict[str, Any]:
    return call("Agent", **{"description": "look around", "prompt": "Find the needle.", **more})


async def heard(agent: Agent, prompt: str = "Go.") -> list[Event]:
    return [event async for event in agent.run(prompt)]


def told(folder: Path, *turns: Any, **choices: Any) -> tuple[CallFinished, list[Event], ScriptedModel]:
    """The reply to the call that starts an agent, all events, and the model that both are."""

    async def scene() -> tuple[CallFinished, list[Event], ScriptedModel]:
        model = ScriptedModel(list(turns), usd_per_token=choices.pop("usd_per_token", 0.0))
        async with Agent(model, cwd=folder, **choices) as agent:
            events = await heard(agent)
            assert message_problems(agent.history) == []
        (reply,) = [event for event in events if isinstance(event, CallFinished) and event.name == "Agent"]
        return reply, events, model

    return run(scene())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "plan.txt").write_text("needle in secret\n")
    (tmp_path / "open.txt").write_text("needle in the open\n")
    return tmp_path


def test_an_agent_reports_with_its_last_message_and_its_conversation_is_its_own(folder: Path):
    grep = call("Grep", pattern="needle", output_mode="content", path="open.txt")
    reply, events, model = told(folder, [start()], [grep], "It is in open.txt.", "Thanks.")
    assert (reply.content, reply.is_error) == ("It is in open.txt.", False)
    assert reply.data["status"] == "completed"
    assert reply.data["content"] == [{"type": "text", "text": "It is in open.txt."}]
    assert reply.data["totalToolUseCount"] == 1
    assert reply.data["totalTokens"] == sum(reply.data["usage"].values()) > 0
    first, ended = model.requests[1], events[-1]
    assert [message["role"] for message in first.messages] == ["user"]
    assert "Another agent started you" in first.system[0].text
    assert b'"Agent"' not in first.tools
    assert b'"Agent"' in model.requests[0].tools
    assert isinstance(ended, RunEnded)
    assert (ended.outcome, ended.text) == ("success", "Thanks.")


def test_events_of_an_agent_name_it_and_the_call_that_started_it(folder: Path):
    reply, events, _ = told(folder, [start(subagent_type="Explore")], [call("Glob", pattern="*.txt")], "One.", "Done.")
    inner = [event for event in events if isinstance(event, AgentTold)]
    names = {(event.agent_id, event.agent_type, event.parent_tool_use_id) for event in inner}
    assert names == {(reply.data["agentId"], "Explore", reply.tool_use_id)}
    assert [event.event.name for event in inner if isinstance(event.event, CallFinished)] == ["Glob"]
    assert len([event for event in events if isinstance(event, AssistantReplied)]) == 2  # its own words are apart


def test_the_older_name_starts_an_agent_too(folder: Path):
    task = call("Task", description="x", prompt="y", subagent_type="general-purpose")
    assert told(folder, [task], "Report.", "Done.")[0].content == "Report."


@pytest.mark.parametrize("mode", [None, "bypassPermissions", "acceptEdits"])
def test_an_agent_may_never_what_its_starter_may_not(folder: Path, mode: str | None):
    more = {} if mode is None else {"mode": mode}
    write = call("Write", file_path=str(folder / "new.txt"), content="x")
    shell = call("Bash", command="cat secret/plan.txt > copy.txt")
    read = call("Grep", pattern="needle", output_mode="content")
    reply, events, _ = told(
        folder, [start(**more)], [write, shell, read], "No.", "Done.", disallowed_tools=["Read(secret/**)", "Edit"]
    )
    assert reply.content == "No."
    assert not (folder / "new.txt").exists()
    assert not (folder / "copy.txt").exists()
    found = [event.event for event in events if isinstance(event, AgentTold) and isinstance(event.event, CallFinished)]
    assert not any("in secret" in str(reply.content) for reply in found)
    assert any("in the open" in str(reply.content) for reply in found)


@pytest.mark.parametrize("kind", ["Explore", "Plan"])
def test_agents_that_only_look_change_nothing_whatever_their_starter_may(folder: Path, kind: str):
    shell = call("Bash", command="echo x > new.txt")
    write = call("Write", file_path=str(folder / "new.txt"), content="x")
    turns = ([start(subagent_type=kind)], [shell, write], "Refused.", "Done.")
    reply, _, model = told(folder, *turns, permission_mode="bypassPermissions")
    assert reply.content == "Refused."
    assert not (folder / "new.txt").exists()
    assert b'"Write"' not in model.requests[1].tools


def test_a_refusal_without_a_word_fails_that_call_of_the_agent_and_no_more(folder: Path):
    asked: list[Question] = []

    def no(question: Question) -> Answer:
        asked.append(question)
        return Answer()

    write = call("Write", file_path=str(folder / "new.txt"), content="x")
    reply, events, _ = told(folder, [start()], [write], "The user said no.", "Then not.", approver=no)
    assert reply.content == "The user said no."
    assert [question.tool for question in asked] == ["Write"]
    assert asked[0].id.startswith(reply.data["agentId"])
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.outcome == "success"


def test_what_an_agent_has_read_its_starter_has_not(folder: Path):
    path = str(folder / "open.txt")
    edit = call("Edit", file_path=path, old_string="needle", new_string="pin")
    turns = ([start()], [call("Read", file_path=path)], "Read it.", [edit], "Done.")
    _, events, _ = told(folder, *turns, permission_mode="acceptEdits")
    refused = [event for event in events if isinstance(event, CallFinished) and event.name == "Edit"]
    assert [event.is_error for event in refused] == [True]
    assert "needle" in (folder / "open.txt").read_text()


def test_max_turns_ends_an_agent_and_the_reply_says_so(folder: Path):
    looks = [call("Glob", pattern="*.txt")]
    reply, _, _ = told(folder, [start(max_turns=1)], looks, "Done.")
    assert reply.is_error
    assert "limit of 1 turns" in str(reply.content)


def test_what_an_agent_spends_counts_for_its_starter(folder: Path):
    _, events, _ = told(folder, [start()], "Report.", "Done.", usd_per_token=0.001, max_budget_usd=1e9)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    own = [event for event in events if isinstance(event, AssistantReplied)]
    inner = [event.event for event in events if isinstance(event, AgentTold)]
    theirs = [event for event in inner if isinstance(event, AssistantReplied)]
    assert theirs
    assert ended.cost_usd == pytest.approx(sum(event.cost_usd or 0 for event in [*own, *theirs]))
    spent, _, model = told(folder, [start()], "Never asked.", "Nor this.", usd_per_token=1.0, max_budget_usd=1e-6)
    assert "budget" in str(spent.content)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"allowed_tools": ["Read", "Bash(git *)"]}, "names of tools such as 'Bash'"),
        ({"subagent_type": "Nobody"}, "choose one of general-purpose, Explore, Plan, Bash, fork"),
        ({"team_name": "red"}, "no team 'red'"),
        ({"resume": "a12345678"}, "no agent 'a12345678'"),
        ({"resume": "../../etc"}, "no agent '../../etc'"),
        ({"name": "a b"}, "cannot be an agent's name"),
        ({"prompt": " \n"}, "the prompt is empty"),
        ({"cwd": "/"}, "outside the allowed directories"),
        ({"cwd": "/no/such/place"}, "outside the allowed directories"),
        ({"cwd": "../elsewhere"}, "outside the allowed directories"),
        ({"cwd": "nowhere"}, "not a directory"),
        ({"model": "no such model"}, "cannot be used"),
        ({"name": "Main"}, "which is the session itself"),
        ({"allowed_tools": ["Agent"]}, "no tool left"),
        ({"allowed_tools": ["Read", "Grpe"]}, "no tool 'Grpe' for allowed_tools. Did you mean 'Grep'?"),
        ({"allowed_tools": ["*"]}, "no tool '*' for allowed_tools"),
    ],
)
def test_an_agent_that_cannot_be_is_one_error_that_says_why(folder: Path, more: dict[str, Any], words: str):
    reply, _, model = told(folder, [start(**more)], "Then not.")
    assert reply.is_error
    assert words in str(reply.content)
    assert len(model.requests) == 2


def test_a_crash_of_an_agent_is_one_error_and_the_work_goes_on(folder: Path):
    def crash(request: Any) -> Any:
        raise RuntimeError("broken inside")

    reply, events, _ = told(folder, [start()], crash, "I do it myself.")
    assert reply.is_error
    assert "broken inside" not in str(reply.content)
    assert "crashed" in str(reply.content)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.text == "I do it myself."


def test_a_rule_may_forbid_a_type(folder: Path):
    reply, _, _ = told(folder, [start(subagent_type="Plan")], "Then not.", disallowed_tools=["Agent(Plan)"])
    assert reply.outcome == "denied"


def test_a_mode_that_the_user_chooses_meanwhile_binds_agents_that_run_already(folder: Path):
    async def scene() -> list[Event]:
        def narrowed(request: Any) -> Any:
            del request
            state = running.opened.executor.state
            state.permissions = state.permissions.with_mode("plan")
            return [call("Write", file_path=str(folder / "new.txt"), content="x")]

        model = ScriptedModel([[start()], narrowed, "No.", "Done."])
        options = Options(cwd=str(folder), permission_mode="acceptEdits")
        running = await start_agent(options, AgentOptions(model=model))
        async with running:
            return [event async for event in running.loop.run("Go.")]

    inner = [event.event for event in run(scene()) if isinstance(event, AgentTold)]
    assert [event.outcome for event in inner if isinstance(event, CallFinished)] == ["denied"]
    assert not (folder / "new.txt").exists()


def test_several_agents_of_one_message_run_side_by_side_and_an_interrupt_ends_all(folder: Path):
    both = asyncio.Event()
    waiting: list[str] = []
    ended: list[str] = []

    @tool(read_only=True, concurrency_safe=True)
    async def wait() -> str:
        """Wait for a long time."""
        waiting.append("here")
        if len(waiting) == 2:
            both.set()
        try:
            await asyncio.sleep(50)
        finally:
            ended.append("gone")
        return ""

    async def scene() -> list[Event]:
        model = ScriptedModel([[start(), start()], [call("wait")], [call("wait")]])
        async with Agent(model, cwd=folder, tools=[wait], allowed_tools=["wait"]) as agent:
            reading = asyncio.create_task(heard(agent))
            await asyncio.wait_for(both.wait(), 30)
            await agent.interrupt()
            return await reading

    events = run(scene())
    assert ended == ["gone", "gone"]
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert last.outcome == "interrupted"


def test_an_agents_file_has_its_conversation_and_each_call_before_it_acts(folder: Path):
    write = call("Write", file_path=str(folder / "new.txt"), content="x")

    async def scene() -> None:
        model = ScriptedModel([[start()], [write], "Wrote it.", "Done."])
        async with Agent(model, cwd=folder, permission_mode="acceptEdits") as agent:
            await heard(agent)
            id_ = agent.session_id or ""
        transcript = user_store().load(id_)
        assert transcript.unknown_lines == 0
        began = [note.data for note in transcript.notes if note.kind == "agent"]
        ended = [note.data for note in transcript.notes if note.kind == "agent_ended"]
        assert [note["type"] for note in began] == ["general-purpose"]
        assert [(note["id"], note["outcome"]) for note in ended] == [(began[0]["id"], "success")]
        file = Path(user_store().find(id_), "agents", f"{began[0]['id']}.jsonl")
        assert file.stat().st_mode & 0o777 == 0o600
        inner = read_transcript(file.read_bytes())
        assert inner.damaged_lines == inner.unknown_lines == 0
        assert [(record.name, record.started) for record in inner.calls] == [("Write", True)]
        assert [message.role for message in inner.messages] == ["user", "assistant", "user", "assistant"]
        async with Agent(ScriptedModel(["On."]), cwd=folder, resume=id_) as again:
            assert (await again.run("Go on.")).text == "On."

    run(scene())

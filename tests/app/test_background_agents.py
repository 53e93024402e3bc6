"""Agents that nobody waits for, that go on later, and that start agents themselves."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from holdfast import Agent, tool
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, Question
from holdfast.events import AgentTold, CallFinished, Event, PermissionDecided, PromptSubmitted, RunEnded, TaskChanged
from holdfast.models import ModelRequest, StreamEvent
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedModel

T = TypeVar("T")
LIMITS = '{"agents": {"maxRunning": 2, "maxDepth": 3}}'


def run(scene: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(scene, 60))


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def start(prompt: str = "Find it.", **more: Any) -> dict[str, Any]:
    return call("Agent", **{"description": "look around", "prompt": prompt, **more})


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


def replies(events: list[Event], name: str) -> list[CallFinished]:
    return [event for event in events if isinstance(event, CallFinished) and event.name == name]


def inner(events: list[Event]) -> list[Any]:
    return [event.event for event in events if isinstance(event, AgentTold)]


async def heard(agent: Agent, prompt: str = "Go.") -> list[Event]:
    events = [event async for event in agent.run(prompt)]
    assert message_problems(agent.history) == []
    return events


@tool(read_only=True, concurrency_safe=True)
async def hold() -> str:
    """Wait until the test goes on."""
    await asyncio.wait_for(GATES["hold"].wait(), 30)
    return "on"


GATES: dict[str, asyncio.Event] = {}


def test_an_agent_in_the_background_is_launched_and_its_end_is_told_with_its_report(tmp_path: Path):
    async def scene() -> list[Event]:
        model = Voices(Go=[[start(run_in_background=True)], "Started.", "Thanks."], Find=["It is here."])
        done = asyncio.Event()

        def hear(event: Event) -> None:
            if isinstance(event, TaskChanged) and event.status == "completed":
                done.set()

        async with Agent(model, cwd=tmp_path, on_event=hear) as agent:
            seen = await heard(agent)
            if not any(isinstance(event, PromptSubmitted) and event.source == "task" for event in seen):
                await asyncio.wait_for(done.wait(), 30)
                seen += await heard(agent, "And?")
        return seen

    events = run(scene())
    (reply,) = replies(events, "Agent")
    agent_id = reply.data["agentId"]
    assert reply.data == {
        "status": "async_launched",
        "agentId": agent_id,
        "description": "look around",
        "prompt": "Find it.",
    }
    told = [event for event in events if isinstance(event, PromptSubmitted) and event.source == "task"]
    assert len(told) == 1
    assert "It is here." in str(told[0].content)
    assert agent_id in str(told[0].content)


def test_task_output_and_task_stop_know_agents(tmp_path: Path):
    ended: list[str] = []
    ids: list[str] = []

    @tool(read_only=True, concurrency_safe=True)
    async def Grep(pattern: str) -> str:  # noqa: N802 - in the background only tools of known names are offered
        """Wait for a long time."""
        GATES["hold"].set()
        try:
            await asyncio.sleep(50)
        finally:
            ended.append(pattern)
        return ""

    def look(**more: Any) -> Any:
        def turn(request: Any) -> Any:
            del request
            return [call("TaskOutput", task_id=ids[0], **more)]

        return turn

    async def scene() -> list[Event]:
        GATES["hold"] = asyncio.Event()

        def stop(request: Any) -> Any:
            del request
            return [call("TaskStop", task_id=ids[0])]

        model = Voices(
            Go=[[start(run_in_background=True)], [call("hold")], look(block=False), stop, look(), "Over."],
            Find=[[call("Grep", pattern="x")]],
        )

        def hear(event: Event) -> None:
            if isinstance(event, TaskChanged) and not ids:
                ids.append(event.task_id)

        async with Agent(
            model, cwd=tmp_path, tools=[Grep, hold], allowed_tools=["Grep", "hold"], on_event=hear
        ) as agent:
            return await heard(agent)

    events = run(scene())
    before, after = (reply.data["task"] for reply in replies(events, "TaskOutput"))
    assert ended == ["x"]
    assert (before["task_type"], before["status"], before["prompt"]) == ("local_agent", "running", "Find it.")
    assert "> Grep x" in before["output"]
    assert replies(events, "TaskStop")[0].data["task_type"] == "local_agent"
    assert after["status"] == "killed"


def test_the_end_of_a_session_ends_its_agents_in_the_background(tmp_path: Path):
    ended: list[str] = []

    @tool(read_only=True, concurrency_safe=True)
    async def Grep(pattern: str) -> str:  # noqa: N802 - as above
        """Wait for a long time."""
        GATES["hold"].set()
        try:
            await asyncio.sleep(50)
        finally:
            ended.append(pattern)
        return ""

    async def scene() -> None:
        GATES["hold"] = asyncio.Event()
        model = Voices(Go=[[start(run_in_background=True)], [call("hold")], "Bye."], Find=[[call("Grep", pattern="x")]])
        async with Agent(model, cwd=tmp_path, tools=[Grep, hold], allowed_tools=["Grep", "hold"]) as agent:
            await heard(agent)
            assert ended == []

    run(scene())
    assert ended == ["x"]


def test_an_agent_in_the_background_asks_nobody_and_says_so_in_its_own_words(tmp_path: Path):
    asked: list[Question] = []

    def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer("allow")

    async def scene() -> list[Event]:
        GATES["hold"] = asyncio.Event()
        write = call("Write", file_path=str(tmp_path / "new.txt"), content="x")
        model = Voices(Go=[[start(run_in_background=True)], [call("hold")], "Over."], Find=[[write], "It could not."])

        def hear(event: Event) -> None:
            if isinstance(event, TaskChanged) and event.status == "completed":
                GATES["hold"].set()

        async with Agent(
            model, cwd=tmp_path, tools=[hold], allowed_tools=["hold"], approver=ask, on_event=hear
        ) as agent:
            return await heard(agent)

    events = run(scene())
    assert asked == []
    assert not (tmp_path / "new.txt").exists()
    (no,) = [event for event in inner(events) if isinstance(event, PermissionDecided)]
    assert no.behavior == "deny"
    assert "in the background asks nobody" in no.decision.reason
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.outcome == "success"


@pytest.mark.parametrize("how", ["user", "automatic"])
def test_an_agent_that_takes_long_goes_on_in_the_background(tmp_path: Path, how: str):
    async def scene() -> list[Event]:
        GATES["hold"] = asyncio.Event()
        waits = asyncio.Event()

        @tool(read_only=True, concurrency_safe=True)
        async def wait() -> str:
            """Wait for the test."""
            waits.set()
            await asyncio.wait_for(GATES["hold"].wait(), 30)
            return "on"

        def release(request: Any) -> Any:
            del request
            GATES["hold"].set()
            return [call("TaskOutput", task_id=next(iter(running.opened.shell.board.all())).id)]

        model = Voices(Go=[[start()], release, "Over."], Find=[[call("wait")], "Found at last."])
        options = Options(cwd=str(tmp_path), own_tools=(wait,), allowed_tools=("wait",))
        running = await start_agent(options, AgentOptions(model=model))
        async with running:
            if how == "automatic":
                limits = running.opened.shell.limits
                running.opened.shell.limits = limits._replace(automatic_background_s=0.01)

            async def let_go() -> None:
                await asyncio.wait_for(waits.wait(), 30)
                assert running.opened.background("call_1")

            letting = asyncio.create_task(let_go()) if how == "user" else None
            events = [event async for event in running.loop.run("Go.")]
            if letting is not None:
                await letting
            return events

    events = run(scene())
    (launched,) = replies(events, "Agent")
    assert launched.data["status"] == "async_launched"
    (output,) = replies(events, "TaskOutput")
    assert output.data["task"]["result"] == "Found at last."


def test_a_resumed_agent_remembers_and_has_what_it_had_or_less(tmp_path: Path):
    async def scene() -> tuple[list[Event], Voices]:
        ids: list[str] = []
        write = call("Write", file_path=str(tmp_path / "new.txt"), content="x")

        def again(request: Any) -> Any:
            del request
            return [start("Go on.", resume=ids[0], mode="bypassPermissions")]

        model = Voices(
            Start=[[start(mode="plan", allowed_tools=["Write", "Read"], name="finder")], again, "Good."],
            More=[[start("And on.", resume="finder")], "Over."],
            Find=["Half of it.", [write], "All of it.", "That was all."],
        )

        def hear(event: Event) -> None:
            if isinstance(event, CallFinished) and event.name == "Agent":
                ids.append(event.data["agentId"])

        async with Agent(model, cwd=tmp_path, permission_mode="acceptEdits", on_event=hear) as agent:
            events = await heard(agent, "Start")
            id_ = agent.session_id
        del model.scripts["Start"]
        model.scripts["Start"] = ScriptedModel([[start("And on.", resume="finder")], "Over."])
        async with Agent(model, cwd=tmp_path, permission_mode="acceptEdits", resume=id_) as agent:
            events += await heard(agent, "More")
        return events, model

    events, model = run(scene())
    texts = [reply.content for reply in replies(events, "Agent")]
    assert texts == ["Half of it.", "All of it.", "That was all."]
    assert len({reply.data["agentId"] for reply in replies(events, "Agent")}) == 1
    assert not (tmp_path / "new.txt").exists()
    last = json.dumps(model.scripts["Find"].requests[-1].messages)
    assert all(words in last for words in ("Find it.", "Half of it.", "Go on.", "All of it.", "And on."))
    tools = [tool["name"] for tool in json.loads(model.scripts["Find"].requests[-1].tools)]
    assert tools == ["Read", "Write"]


def test_nobody_takes_the_name_of_an_agent_of_somebody_else(tmp_path: Path):
    async def scene() -> list[Event]:
        model = Voices(
            Start=[[start(name="finder")], [start("Help.")], [start("Again.", resume="finder")], "Over."],
            Find=["Mine.", "Mine again."],
            Help=[[start("Deep.", name="finder")], "Helped."],
            Deep=["Theirs."],
        )
        async with Agent(model, cwd=tmp_path, settings=LIMITS) as agent:
            return await heard(agent, "Start")

    assert [reply.content for reply in replies(run(scene()), "Agent")] == ["Mine.", "Helped.", "Mine again."]


def test_a_fork_knows_the_conversation_up_to_the_call(tmp_path: Path):
    async def scene() -> tuple[list[Event], ScriptedModel]:
        model = ScriptedModel(["Hello.", [start("Sum it up.", subagent_type="fork")], "A greeting.", "Thanks."])
        async with Agent(model, cwd=tmp_path) as agent:
            await heard(agent, "Greet me.")
            return await heard(agent, "Now fork."), model

    events, model = run(scene())
    assert replies(events, "Agent")[0].content == "A greeting."
    said = json.dumps(model.requests[2].messages)
    assert all(words in said for words in ("Greet me.", "Hello.", "Now fork.", "Sum it up."))
    assert message_problems(model.requests[2].messages) == []


def test_agents_start_agents_only_as_deep_as_the_settings_say(tmp_path: Path):
    def scripts() -> Voices:
        return Voices(
            Top=[[start("Second, please.")], "Over."],
            Second=[[start("Third, please.")], "2 is done."],
            Third=[[start("Fourth, please.")], "3 is done."],
            Fourth=["4 is done."],
        )

    async def scene(settings: str) -> list[Event]:
        async with Agent(scripts(), cwd=tmp_path, settings=settings) as agent:
            return await heard(agent, "Top")

    events = run(scene('{"agents": {"maxDepth": 3}}'))
    depths = {event.depth: event for event in events if isinstance(event, AgentTold)}
    assert sorted(depths) == [1, 2, 3]
    assert len({event.chain_id for event in depths.values()}) == 1
    assert depths[1].chain_id
    refused = [event for event in inner(run(scene("{}"))) if isinstance(event, CallFinished)]
    assert [(event.name, event.outcome) for event in refused] == [("Agent", "invalid")]


def test_more_agents_than_the_limit_are_refused_with_words(tmp_path: Path):
    async def scene() -> list[Event]:
        GATES["hold"] = asyncio.Event()

        def done(event: Event) -> None:
            if isinstance(event, CallFinished) and event.is_error:
                GATES["hold"].set()

        model = Voices(Go=[[start(), start(), start()], "Over."], Find=[[call("hold")], [call("hold")], "1", "2"])
        async with Agent(
            model, cwd=tmp_path, tools=[hold], allowed_tools=["hold"], settings=LIMITS, on_event=done
        ) as agent:
            return await heard(agent)

    found = [(reply.is_error, str(reply.content)) for reply in replies(run(scene()), "Agent")]
    assert sorted(is_error for is_error, _ in found) == [False, False, True]
    assert all("2 agents are running, which is the limit" in text for is_error, text in found if is_error)


def test_an_agent_cannot_go_on_with_the_agent_of_another(tmp_path: Path):
    async def scene() -> list[Event]:
        ids: list[str] = []

        def take(request: Any) -> Any:
            del request
            return [start("Third.", resume=ids[0])]

        model = Voices(Go=[[start("Secret.")], [start("Second.")], "Over."], Secret=["I know."], Second=[take, "No."])

        def hear(event: Event) -> None:
            if isinstance(event, CallFinished) and event.name == "Agent":
                ids.append(event.data["agentId"])

        async with Agent(model, cwd=tmp_path, settings='{"agents": {"maxDepth": 2}}', on_event=hear) as agent:
            return await heard(agent)

    (no,) = [event for event in inner(run(scene())) if isinstance(event, CallFinished)]
    assert no.is_error
    assert "to go on with" in str(no.content)


def test_who_gets_a_task_reads_of_it(tmp_path: Path):
    first = call("TaskCreate", subject="Look at it", description="All of it.")
    yours = "Task 1 of the list is yours now, as the agent "

    async def scene(**scripts: list[Any]) -> dict[str, str]:
        GATES["hold"] = asyncio.Event()
        model = Voices(**scripts)
        async with Agent(model, cwd=tmp_path, tools=[hold], allowed_tools=["hold"]) as agent:
            await heard(agent)
        return {word: json.dumps([one.messages for one in model.scripts[word].requests]) for word in scripts}

    def let_go(_: ModelRequest) -> str:
        GATES["hold"].set()
        return "Given."

    two = [start(name="scout"), start("Other work.")]
    give, give_back = (call("TaskUpdate", taskId="1", owner=owner) for owner in ("scout", "main"))
    scripts: dict[str, list[Any]] = {"Find": [[call("hold")], "It is here."], "Other": [[give], let_go]}
    told = run(scene(Go=[[first], two, "Thanks."], **scripts))
    assert yours in told["Find"]
    assert yours not in told["Go"] + told["Other"]
    assert "not the user. Its title: 'Look at it'." in told["Find"]
    told = run(scene(Go=[[first], [start()], "Thanks."], Find=[[give_back], "Yours."]))
    assert yours in told["Go"]

"""The public agent: runs, events, sessions, data, approvals, and an end that leaves nothing behind."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel, field_validator

from holdfast import Agent, tool
from holdfast.app.results import RunFailed
from holdfast.contract import Answer, Question, UsageError
from holdfast.events import CallFinished, Event, RunEnded, TextStreamed
from holdfast.session import user_store
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedModel

T = TypeVar("T")


def run(scene: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(scene, 60))


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


@tool(read_only=True, concurrency_safe=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent(*turns: Any, folder: Path, **choices: Any) -> Agent:
    return Agent(ScriptedModel(list(turns)), cwd=folder, **choices)


def test_a_run_is_awaited_for_its_result(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agent([call("add", a=2, b=3)], "Five.", folder=tmp_path, tools=[add], allowed_tools=["add"]) as one:
            result = await one.run("2 + 3?")
            assert (result.text, str(result), result.outcome, result.turns) == ("Five.", "Five.", "success", 2)
            assert (result.session_id, result.is_error) == (one.session_id, False)
            assert result.raise_for_error() is result
            assert message_problems(one.history) == []

    run(scene())


def test_a_run_is_read_event_by_event_and_then_has_its_result(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agent([call("add", a=2, b=3)], "Five.", folder=tmp_path, tools=[add], allowed_tools=["add"]) as one:
            going = one.run("2 + 3?")
            events = [event async for event in going]
            assert isinstance(events[-1], RunEnded)
            assert [event.data for event in events if isinstance(event, CallFinished)] == [5]
            assert going.result is not None
            assert await going == going.result
            assert [event.text async for event in one.stream("again?") if isinstance(event, TextStreamed)] == []

    async def spoken() -> None:
        async with agent("Five.", folder=tmp_path) as one:
            texts = [event.text async for event in one.stream("2 + 3?") if isinstance(event, TextStreamed)]
            assert "".join(texts) == "Five."

    run(scene())
    run(spoken())


def test_several_runs_are_one_conversation_and_one_session(tmp_path: Path) -> None:
    async def scene() -> str:
        async with agent("one", {"blocks": ["two"], "expect": ["second"]}, folder=tmp_path) as one:
            await one.run("first")
            assert (await one.run("second")).text == "two"
            assert [message["role"] for message in one.history] == ["user", "assistant"] * 2
            assert one.session_id is not None
            return one.session_id

    async def later(session: str) -> None:
        async with agent("three", folder=tmp_path, resume=session) as one:
            assert one.session_id is None
            await one.run("third")
            assert (one.session_id, len(one.history)) == (session, 6)
        async with agent("four", folder=tmp_path, resume="latest", fork=True) as one:
            await one.run("fourth")
            assert (one.session_id != session, len(one.history)) == (True, 8)

    session = run(scene())
    run(later(session))


@pytest.mark.parametrize(("variable", "tools"), [("1", True), ("", ["Read"]), ("", True)])
def test_the_end_of_a_task_is_told_without_naming_a_tool_that_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, tools: bool | list[str]
) -> None:
    async def scene() -> str:
        start = [call("Bash", command="mkfifo go && read line < go", run_in_background=True)]
        async with agent(start, "It runs.", folder=tmp_path, permission_mode="bypassPermissions") as one:
            await one.run("start it")
        monkeypatch.setenv("HOLDFAST_DISABLE_BACKGROUND_TASKS", variable)
        later = ScriptedModel(["It was stopped."])
        async with Agent(later, cwd=tmp_path, resume=one.session_id, builtin_tools=tools) as two:
            await two.run("and now?")
        return str(later.requests[0].messages[-1])

    told = run(scene())
    assert "was stopped" in told
    assert ("TaskOutput" in told) == (variable == "" and tools is True)


def test_an_agent_that_works_past_midnight_is_told_the_new_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [datetime(2026, 11, 16, 23, 59, tzinfo=UTC)]
    monkeypatch.setattr("holdfast.app.place._now", lambda: clock[0])

    async def scene() -> None:
        model = ScriptedModel(["one", {"blocks": ["two"], "expect": ["It is 2026-11-17 (Tuesday) now."]}, "three"])
        async with Agent(model, cwd=tmp_path) as one:
            await one.run("first")
            clock[0] += timedelta(minutes=2)
            assert (await one.run("second")).text == "two"
            await one.run("third")
        system = "".join(block.text for block in model.requests[0].system)
        assert "Date at the start of the session: 2026-11-16 (Monday)" in system
        assert ["It is 2026" in str(request.messages[-1]) for request in model.requests] == [False, True, False]

    run(scene())


def test_a_resumed_session_tells_no_model_the_thoughts_of_another(tmp_path: Path) -> None:
    one, two, three = (ScriptedModel(turns, name=name) for name, turns in (
        ("scripted:one", [[{"thinking": "hm", "signature": "s1"}, "first"]]),
        ("scripted:two", ["second"]),
        ("scripted:one", ["third"]),
    ))  # fmt: skip

    async def scene(model: ScriptedModel, resume: str | None) -> str | None:
        async with Agent(model, cwd=tmp_path, resume=resume) as agent:
            await agent.run("go")
            return agent.session_id

    session = run(scene(one, None))
    run(scene(two, session))
    run(scene(three, session))
    assert "s1" not in str(two.requests[0].messages)
    assert "s1" in str(three.requests[0].messages)


def test_the_same_without_asyncio(tmp_path: Path) -> None:
    with agent("one", "two", folder=tmp_path) as one:
        assert (one.run_sync("first").text, one.run_sync("second").text) == ("one", "two")
        assert len(one.history) == 4
    with pytest.raises(UsageError):
        one.run_sync("third")


def test_in_a_coroutine_the_way_without_asyncio_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agent("one", folder=tmp_path) as one:
            with pytest.raises(UsageError):
                one.run_sync("first")

    run(scene())


class City(BaseModel):
    name: str
    people: int

    @field_validator("people")
    @classmethod
    def _is_positive(cls, people: int) -> int:
        if people <= 0:
            raise ValueError("there must be people")
        return people


def test_the_answer_comes_as_an_instance_and_what_does_not_fit_goes_back(tmp_path: Path) -> None:
    turns = [
        [call("StructuredOutput", name="Ulm")],
        [call("StructuredOutput", name="Ulm", people=-1)],
        [call("StructuredOutput", name="Ulm", people=129_942)],
    ]
    result = agent(*turns, folder=tmp_path, output_type=City).run_sync("a city?")
    assert result.output == City(name="Ulm", people=129_942)


def test_a_json_schema_gives_plain_data(tmp_path: Path) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    turns = [[call("StructuredOutput", result=[1, 2])]]
    assert agent(*turns, folder=tmp_path, output_type=schema).run_sync("numbers?").output == [1, 2]


@pytest.mark.parametrize("wrong", [type("Odd", (), {}), {"type": "banana"}, "text"])
def test_what_is_no_output_type_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(UsageError):
        agent("x", folder=tmp_path, output_type=wrong).run_sync("?")


@pytest.mark.parametrize(
    ("said", "made"),
    [
        (True, True),
        (False, False),
        (None, False),
        ("yes", False),
        (Answer("allow"), True),
        (Answer(message="no"), False),
    ],
)
def test_an_approver_is_asked_and_only_a_clear_yes_counts(tmp_path: Path, said: Any, *, made: bool) -> None:
    asked: list[Question] = []

    async def approve(question: Question) -> Any:
        asked.append(question)
        return said

    turns = [[call("Write", file_path="made.txt", content="x")], "Done."]
    result = agent(*turns, folder=tmp_path, approver=approve).run_sync("write")
    assert ((tmp_path / "made.txt").exists(), [question.tool for question in asked]) == (made, ["Write"])
    assert len(result.denials) == int(not made)


def test_a_plain_function_may_approve_too(tmp_path: Path) -> None:
    def approve(question: Question) -> bool:
        return question.tool == "Write"

    turns = [[call("Write", file_path="made.txt", content="x")], "Done."]
    agent(*turns, folder=tmp_path, approver=approve).run_sync("write")
    assert (tmp_path / "made.txt").exists()


def test_builtin_tools_can_be_left_out_or_chosen(tmp_path: Path) -> None:
    def offered(**choices: Any) -> set[str]:
        seen: list[set[str]] = []

        class Seeing(ScriptedModel):
            def stream(self, request: Any) -> Any:
                seen.append({entry["name"] for entry in json.loads(request.tools)})
                return super().stream(request)

        Agent(Seeing(["ok"]), cwd=tmp_path, **choices).run_sync("?")
        return seen[0]

    assert {"Bash", "Read", "Edit"} < offered()
    assert offered(builtin_tools=False, tools=[add]) == {"add"}
    assert offered(builtin_tools=["Read", "Grep"]) == offered(builtin_tools="Read,Grep") == {"Grep", "Read"}
    assert offered(builtin_tools="minimal") == {"Bash", "Edit", "Read"}
    assert offered(builtin_tools=["minimal", "Grep"]) == {"Bash", "Edit", "Grep", "Read"}
    assert offered(builtin_tools="full") == offered()


def test_a_run_that_is_left_in_the_middle_does_not_block_the_next(tmp_path: Path) -> None:
    async def scene() -> None:
        slow = [call("Bash", command="exec tail -f /dev/null")]
        async with agent(slow, "next", folder=tmp_path, permission_mode="bypassPermissions") as one:
            async for event in one.run("wait"):
                if type(event).__name__ == "CallStarted":
                    break
            assert (await one.run("go on")).text == "next"
            assert message_problems(one.history) == []

    run(scene())


def test_two_runs_at_once_are_refused_and_submit_joins_the_one(tmp_path: Path) -> None:
    async def scene() -> None:
        slow = [call("Sleep", duration_seconds=3600)]
        second = {"blocks": ["heard"], "expect": ["hello there"]}
        async with agent(slow, second, folder=tmp_path) as one:
            started = asyncio.Event()

            async def read() -> list[Event]:
                events: list[Event] = []
                async for event in one.run("wait"):
                    events.append(event)
                    if type(event).__name__ == "CallStarted":
                        started.set()
                return events

            reading = asyncio.create_task(read())
            await asyncio.wait_for(started.wait(), 60)
            with pytest.raises(UsageError):
                await one.run("another")
            one.submit("hello there")
            ended = (await reading)[-1]
            assert isinstance(ended, RunEnded)
            assert (ended.outcome, ended.text) == ("success", "heard")

    run(scene())


def test_an_interrupt_ends_the_run_and_its_children(tmp_path: Path) -> None:
    async def scene() -> str:
        slow = [call("Bash", command="echo $$ > pid; exec tail -f /dev/null")]
        async with agent(slow, folder=tmp_path, permission_mode="bypassPermissions") as one:
            going = one.run("wait")

            async def read() -> None:
                await going

            reading = asyncio.create_task(read())
            child = await asyncio.to_thread(written, tmp_path / "pid")
            await one.interrupt()
            await reading
            assert (await going).outcome == "interrupted"
            return child

    assert not Path("/proc", run(scene())).exists()


def written(path: Path) -> str:
    """What a child wrote, once it has; the test's own timeout bounds the wait."""
    while not path.exists() or not path.read_text(encoding="utf-8").strip():
        time.sleep(0.01)
    return path.read_text(encoding="utf-8").strip()


def test_an_error_is_a_result_and_raised_only_on_request(tmp_path: Path) -> None:
    result = agent({"error": {"kind": "auth", "message": "bad key"}}, folder=tmp_path).run_sync("?")
    assert (result.outcome, "bad key" in result.error) == ("error_during_execution", True)
    with pytest.raises(RunFailed, match="bad key"):
        result.raise_for_error()


def test_nothing_is_read_or_written_before_the_first_run(tmp_path: Path) -> None:
    one = agent("x", folder=tmp_path / "missing")
    assert list(user_store().paths()) == []
    with pytest.raises(UsageError):
        one.run_sync("?")


def test_an_agent_that_nobody_closed_ends_with_the_program(tmp_path: Path) -> None:
    program = (
        "from holdfast import Agent\n"
        "from holdfast.testing import ScriptedModel\n"
        "print(Agent(ScriptedModel(['hello'])).run_sync('hi'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # On a busy machine asyncio's debug mode also tells which steps took long.
    told = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, done.stdout, told) == (0, "hello\n", [])
    (path,) = user_store().paths()
    assert user_store().load(Path(path).name).closed


@pytest.mark.parametrize("rule", ["Bash", "Read, Bash"])
def test_one_text_is_one_rule_and_not_its_letters(tmp_path: Path, rule: str) -> None:
    touch = [call("Bash", command="touch made")]
    with agent(touch, "done", folder=tmp_path, permission_mode="bypassPermissions", disallowed_tools=rule) as one:
        assert one.run_sync("go").text == "done"
    assert not (tmp_path / "made").exists()
    with agent(touch, "done", folder=tmp_path, builtin_tools="Read", permission_mode="bypassPermissions") as one:
        one.run_sync("go")
    assert not (tmp_path / "made").exists()
    with agent(touch, "done", folder=tmp_path, allowed_tools=rule) as one:
        one.run_sync("go")
    assert (tmp_path / "made").exists()


def test_an_end_leaves_no_open_file_and_no_note_about_files(
    tmp_path: Path, isolated_home: Path, open_files: Callable[[], set[tuple[str, str]]]
) -> None:
    def of_state() -> list[str]:
        return [path for _, path in open_files() if path.startswith(f"{isolated_home}/")]

    words = [call("Write", file_path=str(tmp_path / "made"), content="x")]
    with agent(words, "done", folder=tmp_path, permission_mode="acceptEdits") as one:
        assert one.run_sync("go").text == "done"
        assert of_state()
    assert of_state() == []
    assert [path for path in isolated_home.rglob("writing-*") if path.is_file()] == []

"""What programs expect of an agent as a library: typed answers, dependencies, history, copies, choices for one run."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent, ToolContext, ToolFailed, tool
from holdfast.contract import Question, UsageError
from holdfast.events import CallFinished
from holdfast.models.open import KEYS
from holdfast.testing import ScriptedModel


@dataclass
class Shop:
    name: str


@dataclass
class Point:
    x: int
    y: int


@tool(read_only=True)
async def shop_name(ctx: ToolContext[Shop]) -> str:
    """Tell the shop's name."""
    if not ctx.deps.name:
        raise ToolFailed("the shop has no name; ask for another")
    return ctx.deps.name


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def made(*turns: Any, folder: Path, **choices: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(list(turns)), cwd=folder, **choices)


@pytest.mark.parametrize(
    ("output_type", "sent", "expected"),
    [
        (int, {"result": 3}, 3),
        (list[str], {"result": ["a"]}, ["a"]),
        (Point, {"x": 1, "y": 2}, Point(1, 2)),
        (dict[str, int], {"a": 1}, {"a": 1}),
    ],
    ids=str,
)
def test_any_type_that_pydantic_validates_is_an_output(
    output_type: Any, sent: dict[str, Any], expected: object, tmp_path: Path
) -> None:
    with made([call("StructuredOutput", **sent)], folder=tmp_path, output_type=output_type) as agent:
        assert agent.run_sync("?").output == expected


def test_without_a_type_the_output_is_the_text_and_of_a_failed_run_nothing(tmp_path: Path) -> None:
    with made("Yes.", folder=tmp_path) as agent:
        assert agent.run_sync("?").output == "Yes."
    with made([call("Glob", pattern="*")], [call("Glob", pattern="*")], folder=tmp_path, max_turns=1) as agent:
        assert agent.run_sync("?").output is None


def test_a_type_that_cannot_be_described_is_told_at_once() -> None:
    with pytest.raises(UsageError, match="pydantic can validate"):
        Agent("scripted:x", output_type=type("Odd", (), {}))


def test_tools_find_what_the_run_was_given(tmp_path: Path) -> None:
    async def scene() -> list[Any]:
        turns = [[call("shop_name")], "a", [call("shop_name")], "b"]
        async with made(*turns, folder=tmp_path, tools=[shop_name], deps_type=Shop, allowed_tools="shop_name") as agent:
            found: list[Any] = []
            for name in ("Corner", ""):
                events = agent.stream("whose?", deps=Shop(name))
                found += [event.content async for event in events if isinstance(event, CallFinished)]
            return found

    first, second = asyncio.run(scene())
    assert first == "Corner"
    assert "ask for another" in second


def test_a_conversation_goes_on_in_another_agent(tmp_path: Path) -> None:
    with made("My name is Ann.", folder=tmp_path) as first:
        before = first.run_sync("Who are you?").messages
    model = ScriptedModel(["Still Ann."])
    with Agent(model, cwd=tmp_path, history=before) as second:
        result = second.run_sync("And now?")
    assert [message["role"] for message in result.messages] == ["user", "assistant", "user", "assistant"]
    assert [message["role"] for message in model.requests[0].messages] == ["user", "assistant", "user"]


def test_copies_run_side_by_side_as_sessions_of_their_own(tmp_path: Path) -> None:
    async def scene() -> list[tuple[str, str]]:
        agent = made("never", folder=tmp_path, persist=False)
        copies = [agent.copy(model=ScriptedModel([f"I am {number}."])) for number in range(3)]
        results = await asyncio.gather(*(copy.run("who?") for copy in copies))
        for copy in copies:
            await copy.close()
        return [(result.output, result.session_id) for result in results]

    told = asyncio.run(scene())
    assert [text for text, _ in told] == ["I am 0.", "I am 1.", "I am 2."]
    assert len({session for _, session in told}) == 3


def test_two_first_runs_at_once_are_one_too_many_and_say_what_to_do(tmp_path: Path) -> None:
    async def scene() -> list[Any]:
        async with made("one", "two", folder=tmp_path) as agent:
            return list(await asyncio.gather(agent.run("a"), agent.run("b"), return_exceptions=True))

    first, second = asyncio.run(scene())
    assert first.output == "one"
    assert isinstance(second, UsageError)
    assert "use agent.copy() for runs side by side" in str(second)


def test_a_run_without_the_deps_that_the_tools_need_is_refused() -> None:
    agent = Agent(ScriptedModel(["x"]), tools=[shop_name], deps_type=Shop)
    with pytest.raises(UsageError, match=r"deps_type=Shop: give the run its deps, as in agent.run\(prompt, deps=…\)"):
        agent.run("whose?")


def test_a_union_is_an_output_type(tmp_path: Path) -> None:
    for sent, expected in (({"result": 3}, 3), ({"result": {"x": 1, "y": 2}}, Point(1, 2))):
        agent = Agent[None, int | Point](
            ScriptedModel([[call("StructuredOutput", **sent)]]), cwd=tmp_path, output_type=int | Point
        )
        with agent:
            output: int | Point = agent.run_sync("?").output
        assert output == expected


def test_what_is_chosen_for_a_run_ends_with_it(tmp_path: Path) -> None:
    write = [call("Write", file_path="a.txt", content="x")]
    with made(write, "one", write, "two", write, "three", folder=tmp_path) as agent:
        refused = agent.run_sync("write")
        assert len(refused.denials) == 1
        assert agent.run_sync("write", permission_mode="acceptEdits").denials == ()
        (tmp_path / "a.txt").unlink()
        assert len(agent.run_sync("write").denials) == 1
    other = ScriptedModel(["other"])
    with made("first", "second", folder=tmp_path) as agent:
        assert agent.run_sync("?", model=other).output == "other"
        assert agent.run_sync("?").output == "first"
        with pytest.raises(UsageError, match="max_turns"):
            agent.run_sync("?", max_turn=1)  # pyright: ignore[reportCallIssue]


def test_a_deny_for_one_run_holds_in_it_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    read = [call("Read", file_path="a.txt")]
    with made(read, "one", read, "two", folder=tmp_path) as agent:
        assert len(agent.run_sync("read", disallowed_tools="Read(a.txt)").denials) == 1
        assert agent.run_sync("read").denials == ()


def test_a_run_ends_when_its_tokens_are_used(tmp_path: Path) -> None:
    glob = [call("Glob", pattern="*")]
    with made(glob, glob, "never", folder=tmp_path) as agent:
        result = agent.run_sync("look", max_total_tokens=1)
    assert (result.outcome, result.turns) == ("error_max_total_tokens", 1)
    assert "limit" in result.error


def test_calls_that_tools_make_are_in_the_journal_and_not_in_the_conversation(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def count(pattern: str, ctx: ToolContext) -> str:
        """Count files."""
        return str(len((await ctx.call("Glob", {"pattern": pattern})).text.splitlines()))

    (tmp_path / "a.md").write_text("x")
    model = ScriptedModel([[{"tool": "count", "input": {"pattern": "*.md"}}], "One."])
    with Agent(model, [count], cwd=tmp_path, allowed_tools=["count"]) as agent:
        result = agent.run_sync("How many?")
    assert result.output == "One."
    assert [message["role"] for message in result.messages] == ["user", "assistant", "user", "assistant"]
    assert "Glob" not in str(result.messages)
    with Agent(ScriptedModel(["Still one."]), cwd=tmp_path, resume=result.session_id) as later:
        again = later.run_sync("And now?")
    assert "Glob" not in str(again.messages)
    assert len(again.messages) == 6


def test_a_refusal_that_nobody_was_asked_about_says_what_would_allow_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write = [call("Write", file_path="a.txt", content="x")]
    with made(write, "one", folder=tmp_path) as agent:
        result = agent.run_sync("write")
    (said,) = result.warnings
    assert said.startswith("1 call was refused (Write)")
    assert "allowed_tools=['Write']" in said
    assert said in caplog.messages

    def no(question: Question) -> bool:
        return not question.tool

    with made(write, "two", folder=tmp_path, approver=no) as agent:
        asked = agent.run_sync("write")
    assert (len(asked.denials), asked.warnings) == (1, ())


def test_a_list_of_types_is_an_output_type_of_which_the_model_picks_one(tmp_path: Path) -> None:
    turns = [call("StructuredOutput", result={"x": 1, "y": 2})], [call("StructuredOutput", result={"name": "Corner"})]
    agent = Agent(ScriptedModel(list(turns)), cwd=tmp_path, output_type=[Point, Shop])
    with agent:
        first, second = agent.run_sync("?").output, agent.run_sync("?").output
    assert isinstance(first, Point)
    assert first.x == 1
    assert isinstance(second, Shop)
    assert second.name == "Corner"


def test_an_empty_list_of_types_is_told_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"^output_type must be .*, not \[\]: Unable to generate [^\n]*$"):
        Agent("scripted:x", output_type=[])


@pytest.mark.parametrize("own", ["anthropic:sonnet", None])
def test_a_run_with_a_model_of_its_own_needs_no_key_of_the_agents_model(
    own: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for names in KEYS.values() for name in names] + ["HOLDFAST_MODEL"]:
        monkeypatch.delenv(name, raising=False)
    with Agent(own, cwd=tmp_path) as agent:
        assert agent.run_sync("?", model=ScriptedModel(["Yes."])).output == "Yes."
        later = agent.run_sync("?")
    assert later.is_error
    assert "There is no key" in later.error if own else "no model is chosen" in later.error


def test_text_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    async def scene() -> None:
        async with made([call("Glob", pattern="*")], "One two three.", folder=tmp_path) as agent:
            run = agent.run("?")
            pieces = [text async for text in run.stream_text()]
            assert "".join(pieces) == "One two three."
            assert run.result is not None
            assert (await run).output == "One two three."

    asyncio.run(scene())

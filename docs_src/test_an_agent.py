import asyncio
import tempfile
from pathlib import Path

from holdfast import Agent
from holdfast.events import CallFinished
from holdfast.models import open_model
from holdfast.testing import FakeProvider, FakeTurn, ReplayModel, ScriptedAsker, ScriptedModel


def call(tool: str, **arguments: object) -> dict[str, object]:
    return {"tool": tool, "input": arguments}


WRITE = [call("Write", file_path="a.txt", content="hello\n")]


def test_it_writes_only_where_it_may(folder: Path) -> None:
    person = ScriptedAsker(["deny"])
    with Agent(ScriptedModel([WRITE, "Done."]), cwd=folder, approver=person) as agent:
        result = agent.run_sync("Write a.txt")
    assert [question.tool for question in person.questions] == ["Write"]
    assert [denied["tool_name"] for denied in result.denials] == ["Write"]
    assert not (folder / "a.txt").exists()

    with Agent(ScriptedModel([WRITE, "Done."]), cwd=folder, permission_mode="acceptEdits") as agent:
        assert agent.run_sync("Write a.txt").output == "Done."
    assert (folder / "a.txt").read_text() == "hello\n"


async def test_it_goes_on_after_an_overloaded_provider(folder: Path) -> None:
    """FakeProvider speaks the real wire: retries, cut streams and slow answers are those of a real client."""
    turns = [
        FakeTurn(status=529, raw=b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'),
        FakeTurn(blocks=[{"type": "text", "text": "Here I am."}], split_bytes=7),
    ]
    async with FakeProvider(turns) as provider:
        environ = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "test"}
        async with Agent(open_model("anthropic:sonnet", environ=environ), cwd=folder) as agent:
            result = await agent.run("Hello?")
        assert result.output == "Here I am."
        assert len(provider.requests) == 2
        assert provider.requests[0].json["messages"][0]["role"] == "user"


async def test_a_recorded_session_happens_again(folder: Path) -> None:
    """Record once with a real model, replay for ever: the model's words are recorded, the tools run anew."""
    async with Agent(ScriptedModel([WRITE, "Done."]), cwd=folder, permission_mode="acceptEdits") as agent:
        recorded = await agent.run("Write a.txt")
    (folder / "a.txt").unlink()
    model = ReplayModel.from_messages(recorded.messages)
    async with Agent(model, cwd=folder, permission_mode="acceptEdits") as agent:
        run = agent.run("Write a.txt")
        outcomes = [event.outcome async for event in run if isinstance(event, CallFinished)]
        assert (await run).output == "Done."
    assert outcomes == ["completed"]
    assert (folder / "a.txt").exists()
    assert model.divergences == []


for test in (
    test_it_writes_only_where_it_may,
    test_it_goes_on_after_an_overloaded_provider,
    test_a_recorded_session_happens_again,
):
    with tempfile.TemporaryDirectory() as place:
        made = test(Path(place))
        if made is not None:
            asyncio.run(made)
print("3 passed")

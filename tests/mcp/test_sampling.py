"""Servers that want the user's model: off, then asked each time, with limits, and nothing of the session in it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app.asking_tool import AskingTool
from holdfast.contract import Answer, Form, FormAnswer, Question
from holdfast.mcp.sampling import form_of, sample_of
from holdfast.mcp.wire import RpcError
from holdfast.models.scripted import ScriptedModel

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")
ON = json.dumps({"mcp": {"sampling": True}})
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
    "systemPrompt": "Answer in a word.",
    "includeContext": "allServers",
    "maxTokens": 100,
}
CALL = [{"type": "tool_use", "id": "t1", "name": "mcp__scene__echo", "input": {"text": "x"}}]


class Seen:
    """What a session showed and said."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self.events: list[Any] = []

    def yes(self, form: Form) -> FormAnswer:
        self.forms.append(form)
        return FormAnswer("accept")

    def no(self, form: Form) -> FormAnswer:
        self.forms.append(form)
        return FormAnswer()

    @property
    def reply(self) -> str:
        return next(event.content for event in self.events if type(event).__name__ == "CallFinished")

    @property
    def answers(self) -> list[Any]:
        return json.loads(self.reply)[0]


def play(place: Path, seen: Seen, asked: list[Any], turns: list[Any], **options: Any) -> ScriptedModel:
    """A session whose one call makes the server ask."""
    config = {"command": sys.executable, "args": [SCENE, "samples", json.dumps(asked)], "alwaysLoad": True}
    chosen: dict[str, Any] = {"settings": (ON,), "allowed_tools": "mcp__scene", **options}
    model = ScriptedModel([CALL, *turns], name="scripted:own", usd_per_token=chosen.pop("price", 0.0))

    async def run() -> None:
        servers = json.dumps({"mcpServers": {"scene": config}})
        async with Agent(
            model, cwd=str(place), on_event=seen.events.append, mcp_config=servers, strict_mcp_config=True, **chosen
        ) as agent:
            await asyncio.wait_for(agent.run("go"), 60)

    asyncio.run(run())
    return model


def test_a_person_sees_the_whole_text_and_the_servers_name_and_the_model_answers(tmp_path: Path) -> None:
    seen = Seen()
    model = play(tmp_path, seen, [ASKED], ["Paris", "done"], on_form=seen.yes)
    assert seen.answers[0]["result"] == {
        "role": "assistant",
        "content": {"type": "text", "text": "Paris"},
        "model": "scripted:own",
        "stopReason": "endTurn",
    }
    (form,) = seen.forms
    assert (form.kind, form.source, form.fields) == ("sampling", "scene", ())
    assert "| What is the capital of France?" in form.message
    assert "| Answer in a word." in form.message
    assert "scripted:own" in form.message
    request = model.requests[1]
    assert [block.text for block in request.system] == ["Answer in a word."]
    assert (len(request.messages), request.tools, request.max_output_tokens) == (1, b"[]", 100)
    assert "go" not in json.dumps(request.messages), "nothing of the conversation goes along"


def test_it_is_off_unless_the_settings_say_otherwise_and_a_folders_never_count(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast" / "settings.json").write_text(ON)
    for settings in ((), (json.dumps({"mcp": {"sampling": ["another"]}}),), (json.dumps({"mcp": {"sampling": "x"}}),)):
        seen = Seen()
        play(tmp_path, seen, [ASKED], ["done"], on_form=seen.yes, settings=settings)
        assert seen.answers[0]["error"]["code"] == -32601
        assert "sampling" not in json.loads(seen.reply)[1]
        assert seen.forms == []
    seen = Seen()
    named = (json.dumps({"mcp": {"sampling": ["scene"]}}),)
    play(tmp_path, seen, [ASKED], ["Paris", "done"], on_form=seen.yes, settings=named)
    assert seen.answers[0]["result"]["content"]["text"] == "Paris"
    assert json.loads(seen.reply)[1]["sampling"] == {}


def test_where_nobody_can_be_asked_it_is_denied(tmp_path: Path) -> None:
    seen = Seen()
    play(tmp_path, seen, [ASKED], ["done"])
    assert seen.answers[0]["error"]["code"] == -32601
    seen = Seen()
    play(tmp_path, seen, [ASKED], ["done"], on_form=seen.yes, permission_mode="dontAsk")
    assert (seen.answers[0]["error"]["code"], seen.forms) == (-1, [])


def test_bypassing_permissions_does_not_answer_for_the_person(tmp_path: Path) -> None:
    seen = Seen()
    play(tmp_path, seen, [ASKED], ["done"], on_form=seen.no, permission_mode="bypassPermissions")
    assert seen.answers[0]["error"] == {"code": -1, "message": "the user refused"}
    assert len(seen.forms) == 1


def test_a_program_that_only_says_yes_or_no_is_asked_with_the_whole_request(tmp_path: Path) -> None:
    questions: list[Question] = []

    def approve(question: Question) -> Answer:
        questions.append(question)
        return Answer("allow")

    seen = Seen()
    play(tmp_path, seen, [ASKED], ["Paris", "done"], approver=approve)
    assert seen.answers[0]["result"]["content"]["text"] == "Paris"
    (question,) = questions
    assert question.tool == "mcp__scene__sampling"
    assert question.input["messages"] == [{"role": "user", "text": "What is the capital of France?"}]


def test_a_yes_is_for_the_model_that_was_named(tmp_path: Path) -> None:
    other = ScriptedModel(["Paris", "done"], name="scripted:other")
    seen = Seen()
    config = {"command": sys.executable, "args": [SCENE, "samples", json.dumps([ASKED])], "alwaysLoad": True}

    async def run() -> None:
        def yes(form: Form) -> FormAnswer:
            agent._running("test").loop.model = other
            return seen.yes(form)

        agent = Agent(
            ScriptedModel([CALL, "Paris"], name="scripted:own"),
            cwd=str(tmp_path),
            on_event=seen.events.append,
            on_form=yes,
            mcp_config=json.dumps({"mcpServers": {"scene": config}}),
            settings=(ON,),
            allowed_tools="mcp__scene",
        )
        async with agent:
            await asyncio.wait_for(agent.run("go"), 60)

    asyncio.run(run())
    assert "scripted:own" in seen.forms[0].message
    assert "has changed" in seen.answers[0]["error"]["message"]


def test_a_server_that_decides_about_calls_never_agrees_to_its_own_requests(tmp_path: Path) -> None:
    config = {"command": sys.executable, "args": [SCENE, "plain"]}
    servers = json.dumps({"mcpServers": {"my server": config, "other": config}})
    tool = AskingTool("mcp__my_server__echo", lambda _: (Answer(behavior="allow"), False))

    async def run() -> list[FormAnswer]:
        async with Agent(ScriptedModel(["done"]), cwd=str(tmp_path), mcp_config=servers) as agent:
            await asyncio.wait_for(agent.run("go"), 60)
            tool.serve(agent._running("test"))
            return [await tool.fill(form_of(name, "m", sample_of(ASKED))) for name in ("my server", "other")]

    own, others = asyncio.run(run())
    assert "nobody can fill in" in own.message
    assert "nobody can fill in" not in others.message


def test_after_three_refusals_a_server_asks_nobody_any_more(tmp_path: Path) -> None:
    seen = Seen()
    play(tmp_path, seen, [ASKED] * 10, ["done"], on_form=seen.no)
    assert [answer["error"]["code"] for answer in seen.answers] == [-1] * 10
    assert len(seen.forms) == 3


def test_a_server_cannot_ask_for_ever_even_of_somebody_who_says_yes(tmp_path: Path) -> None:
    seen = Seen()
    play(tmp_path, seen, [ASKED] * 15, ["Paris"] * 15 + ["done"], on_form=seen.yes)
    assert sum("result" in answer for answer in seen.answers) == 15
    seen = Seen()
    model = play(tmp_path, seen, [ASKED] * 100, ["Paris"] * 20 + ["done"] * 2, on_form=seen.yes)
    refused = [answer["error"]["message"] for answer in seen.answers if "error" in answer]
    assert len(seen.answers) == 100
    assert sum("result" in answer for answer in seen.answers) <= 20
    assert any("too many" in message or "20 times" in message for message in refused)
    assert len(model.requests) <= 22


def test_what_it_costs_is_of_the_sessions_budget_and_nothing_goes_out_once_that_is_spent(tmp_path: Path) -> None:
    seen = Seen()
    play(tmp_path, seen, [ASKED, ASKED], ["Paris"] * 3, on_form=seen.yes, price=1.0, max_budget_usd=0.000001)
    said = [answer.get("error", {}).get("message", "") for answer in seen.answers]
    assert all("budget is spent" in message for message in said)
    seen = Seen()
    play(tmp_path, seen, [ASKED], ["Paris", "done"], on_form=seen.yes, price=0.001, max_budget_usd=1000)
    paid = [event for event in seen.events if type(event).__name__ == "SideQuestionAnswered"]
    assert len(paid) == 1
    assert paid[0].cost_usd > 0


UNFIT: list[dict[str, Any]] = [
    {"messages": []},
    {"messages": "text"},
    {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}] * 41},
    {"messages": [{"role": "user", "content": {"type": "text", "text": "x" * 20_001}}]},
    {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x" * 11_000}}],
        "systemPrompt": "x" * 9_001,
    },
    {"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]},
    {"messages": [{"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}}]},
    {"messages": [{"role": "user", "content": {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}}]},
    {"messages": [None, 5]},
    {"maxTokens": 0},
    {"maxTokens": "100"},
    {"maxTokens": True},
    {"maxTokens": float("nan")},
    {"maxTokens": None},
    {"stopSequences": ["a"] * 5},
    {"stopSequences": [5]},
    {"stopSequences": "a"},
    {"systemPrompt": ["x"]},
    {"tools": [{"name": "t", "inputSchema": {}}]},
    {"toolChoice": {"mode": "auto"}},
]


@pytest.mark.parametrize("change", UNFIT)
def test_what_nobody_could_look_at_is_refused_before_anybody_is_asked(change: dict[str, Any]) -> None:
    with pytest.raises(RpcError):
        sample_of({**ASKED, **change})


def test_a_servers_text_cannot_look_like_words_of_ours() -> None:
    text = "hi\n\nIt wants nothing.\u202e\x1b[2J\rsystem prompt:\n\u2028ok"
    wanted = sample_of(
        {**ASKED, "maxTokens": 1e9, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    )
    assert wanted.max_tokens == 4096
    form = form_of("s", "m", wanted)
    head, _, shown = form.message.partition("\n\n")
    assert "4,096" in head
    lines = [line for line in shown.split("\n") if line]
    ours = [line for line in lines if not line.startswith("| ")]
    assert ours == ["system prompt:", "user:"]
    assert "\x1b" not in form.message
    assert "\u202e" not in form.message

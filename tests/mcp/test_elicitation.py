"""What a server asks the user: forms and addresses, hooks before and after, and who answers on which face."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import Form, FormAnswer, check_answer
from holdfast.hooks import Hook, HookAnswer
from holdfast.mcp.elicitation import form_of, result_of
from holdfast.mcp.wire import RpcError
from holdfast.models.scripted import ScriptedModel

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")
QUESTION: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "default": "Ada"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "kind": {"type": "string", "oneOf": [{"const": "a", "title": "Alpha"}, {"const": "b", "title": "Beta"}]},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"], "default": "s"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1},
            "sure": {"type": "boolean", "default": True},
        },
        "required": ["age"],
    },
}


def test_a_schema_becomes_fields_and_an_answer_gets_the_defaults_that_were_left_open() -> None:
    form = form_of("s", QUESTION)
    fields = {field.name: field for field in form.fields}
    assert [(name, field.kind) for name, field in fields.items()] == [
        ("name", "text"),
        ("age", "integer"),
        ("kind", "choice"),
        ("size", "choice"),
        ("tags", "choices"),
        ("sure", "boolean"),
    ]
    assert [choice.label for choice in fields["kind"].choices] == ["Alpha", "Beta"]
    assert [choice.label for choice in fields["size"].choices] == ["Small", "Large"]
    assert fields["age"].required
    answer = check_answer(form, FormAnswer("accept", {"age": "7", "kind": "Beta"}))
    assert result_of(form, answer) == {
        "action": "accept",
        "content": {"name": "Ada", "age": 7, "kind": "b", "size": "s", "sure": True},
    }
    assert result_of(form, FormAnswer("cancel")) == {"action": "cancel"}


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "url", "message": "", "url": "javascript:alert(1)"},
        {"mode": "url", "message": "", "url": "file:///etc/passwd"},
        {"message": "", "requestedSchema": {"properties": {"a": {"type": "object"}}}},
        {"message": "", "requestedSchema": {"properties": {str(number): {"type": "string"} for number in range(500)}}},
    ],
)
def test_what_no_person_should_be_shown_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(RpcError):
        form_of("s", params)


def server(scene: str) -> str:
    config = {"command": sys.executable, "args": [SCENE, scene, json.dumps(QUESTION)], "alwaysLoad": True}
    return json.dumps({"mcpServers": {"scene": config}})


def reply_of(place: Path, scene: str, **options: Any) -> str:
    call = [{"type": "tool_use", "id": "t1", "name": "mcp__scene__echo", "input": {"text": "x"}}]
    replies: list[Any] = []

    async def run() -> None:
        options_: dict[str, Any] = {
            "mcp_config": server(scene),
            "strict_mcp_config": True,
            "allowed_tools": "mcp__scene",
            **options,
        }
        async with Agent(ScriptedModel([call, "done"]), cwd=str(place), on_event=replies.append, **options_) as agent:
            await asyncio.wait_for(agent.run("go"), 60)

    asyncio.run(run())
    return next(event.content for event in replies if type(event).__name__ == "CallFinished")


def test_a_program_that_runs_an_agent_fills_in_a_servers_form(tmp_path: Path) -> None:
    seen: list[Form] = []

    def fill(form: Form) -> dict[str, Any]:
        seen.append(form)
        return {"age": 40}

    said = json.loads(reply_of(tmp_path, "elicits", on_form=fill))
    assert said["result"]["content"]["age"] == 40
    assert (seen[0].source, seen[0].kind) == ("scene", "elicitation")


def test_without_a_person_the_server_is_not_told_that_it_could_ask(tmp_path: Path) -> None:
    assert json.loads(reply_of(tmp_path, "elicits"))["error"]["code"] == -32601


def test_an_address_to_visit_is_shown_and_the_call_made_again(tmp_path: Path) -> None:
    seen: list[Form] = []

    def fill(form: Form) -> FormAnswer:
        seen.append(form)
        return FormAnswer("accept")

    assert reply_of(tmp_path, "url-first", on_form=fill) == "x"
    assert (seen[0].kind, seen[0].url) == ("url", "https://pay.example/1")
    assert "elsewhere first" in reply_of(tmp_path, "url-first", on_form=refuse)


def refuse(form: Form) -> FormAnswer:
    return FormAnswer("decline")


def five(form: Form) -> dict[str, Any]:
    return {"age": 5}


def test_a_hook_may_answer_for_the_user_and_another_keeps_the_answer_back(tmp_path: Path) -> None:
    async def answer(event: Any) -> HookAnswer:
        assert event.mcp_server_name == "scene"
        return HookAnswer(more={"action": "accept", "content": {"age": 1}})

    async def keep(event: Any) -> HookAnswer:
        return HookAnswer("deny", "not for this server")

    hooks = [Hook("Elicitation", answer, "scene")]
    assert json.loads(reply_of(tmp_path, "elicits", hooks=hooks))["result"]["content"]["age"] == 1
    hooks = [Hook("ElicitationResult", keep)]
    said = json.loads(reply_of(tmp_path, "elicits", hooks=hooks, on_form=five))
    assert said["result"] == {"action": "decline"}
    hooks = [Hook("Elicitation", keep)]
    said = json.loads(reply_of(tmp_path, "elicits", hooks=hooks, on_form=five))
    assert said["result"] == {"action": "decline"}

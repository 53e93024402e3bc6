"""Tools loaded in the middle: by reference where the provider knows that, as whole tools elsewhere."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from holdfast.models import ModelRequest
from holdfast.models.anthropic_body import BodyChoices, request_body, tools_with_breakpoint
from holdfast.models.claude import traits_of
from holdfast.models.references import referenced, without_references
from holdfast.testing import FakeTurn, error_turn

Ask = Callable[..., Any]
FIRST = b'{"name":"Bash","input_schema":{}},{"name":"ToolSearch","input_schema":{}}'
LOADED = b'{"name":"NotebookEdit","input_schema":{}},{"name":"mcp__x__y","input_schema":{}}'
TOOLS = b"[%b,%b]" % (FIRST, LOADED)


def found(*names: str, words: str = "Loaded.") -> list[Mapping[str, Any]]:
    parts = [{"type": "text", "text": words}, *({"type": "tool_reference", "tool_name": name} for name in names)]
    use = {"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {"query": "x"}}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": parts}]},
    ]


def result_in(messages: Any) -> Any:
    return messages[2]["content"][0]["content"]


def test_loaded_tools_are_named_where_they_were_found_and_marked_in_the_list() -> None:
    told = referenced(found("NotebookEdit", "mcp__x__y"), TOOLS)
    assert [part["type"] for part in result_in(told.messages)] == ["tool_reference", "tool_reference"]
    marked = told.in_list(TOOLS)
    assert marked.startswith(b"[" + FIRST)
    assert [entry.get("defer_loading") for entry in json.loads(marked)] == [None, None, True, True]
    assert "cache_control" in json.loads(tools_with_breakpoint(marked))[1]
    assert tools_with_breakpoint(marked).count(b"cache_control") == 1


def test_a_reference_to_a_tool_that_is_gone_is_never_sent() -> None:
    told = referenced(found("mcp__gone__z", "mcp__x__y"), TOOLS)
    assert [part["tool_name"] for part in result_in(told.messages)] == ["mcp__x__y"]
    assert told.names == {"mcp__x__y"}
    told = referenced(found("mcp__gone__z"), TOOLS)
    assert result_in(told.messages) == [{"type": "text", "text": "Loaded."}]
    assert told.in_list(TOOLS) == TOOLS


def test_a_conversation_without_references_keeps_its_messages_and_its_bytes() -> None:
    messages = [{"role": "user", "content": "go"}]
    told = referenced(messages, TOOLS)
    assert told.messages is messages
    assert told.in_list(TOOLS) is TOOLS
    assert without_references(messages) is messages


def test_who_does_not_know_references_gets_words_and_whole_tools() -> None:
    choices = BodyChoices("claude-haiku-4-5", traits_of("claude-haiku-4-5"), 1_000)
    request = ModelRequest(messages=found("mcp__x__y"), tools=TOOLS)
    body = request_body(request, choices, tools=TOOLS)
    assert b"tool_reference" not in body
    assert b"defer_loading" not in body
    assert b"Loaded." in body


@pytest.mark.parametrize(
    ("model", "knows"),
    [("claude-sonnet-4-5", True), ("claude-opus-5-5", True), ("claude-haiku-4-5", False), ("claude-opus-4-1", False)],
)
def test_the_models_that_know_references(model: str, knows: bool) -> None:
    assert traits_of(model).takes_references is knows


def test_an_address_that_refuses_references_is_asked_again_without_them(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_own(address: str) -> bool:
        return address.startswith("http://127.0.0.1")

    monkeypatch.setattr("holdfast.models.anthropic.is_first_party", is_own)
    refusal = error_turn(400, "invalid_request_error", "tools.2: unknown field defer_loading")
    request = ModelRequest(messages=found("mcp__x__y"), tools=TOOLS)
    asked = ask([refusal, FakeTurn(blocks=[{"type": "text", "text": "ok"}])], request, times=1)
    assert ["defer_loading" in json.dumps(sent.json) for sent in asked.requests] == [True, False]
    assert asked.events
    assert not asked.errors

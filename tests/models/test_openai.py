import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from holdfast.models import (
    BlockEnded,
    ModelError,
    ModelOptions,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseStarted,
    Usage,
    open_model,
)
from holdfast.models.call_ids import CallIds
from holdfast.models.openai import OpenAIModel
from holdfast.models.openai_stream import ChatReader
from holdfast.testing import FakeProvider, FakeTurn, Gate, error_turn

Ask = Callable[..., Any]
SPEC = "openai:local"
TEXT = {"type": "text", "text": "Grüße 🦀"}
THINKING = {"type": "thinking", "thinking": "hmm", "signature": ""}
READ = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/ä"}}
NOW: dict[str, Any] = {"type": "tool_use", "id": "call_2", "name": "Now", "input": {}}
BLOCKS = [THINKING, TEXT, READ, NOW]
TOOLS = b'[{"type":"function","function":{"name":"Read","parameters":{}}}]'
USAGE = {"input_tokens": 3, "output_tokens": 7, "cache_read_input_tokens": 11}
ENDED = [BlockEnded(index, dict(block)) for index, block in enumerate(BLOCKS)]


def test_a_stream_becomes_events(ask: Ask) -> None:
    asked = ask([FakeTurn(blocks=BLOCKS, usage=USAGE)], spec=SPEC)
    assert asked.events == [
        StreamStarted("chatcmpl-1", "fake-model"),
        ThinkingDelta(0, "hmm"),
        ENDED[0],
        TextDelta(1, "Grüße 🦀"),
        ENDED[1],
        ToolUseStarted(2, "call_1", "Read"),
        ToolInputDelta(2, '{"file_p'),
        ToolInputDelta(2, 'ath": "/'),
        ToolInputDelta(2, 'ä"}'),
        ENDED[2],
        ToolUseStarted(3, "call_2", "Now"),
        ToolInputDelta(3, "{}"),
        ENDED[3],
        StreamEnded("tool_use", Usage(3, 7, 11)),
    ]
    assert asked.requests[0].path == "/v1/chat/completions"
    assert asked.requests[0].headers["authorization"] == "Bearer sk-test-0123456789"


def test_the_bytes_may_come_in_any_pieces_and_as_a_whole(ask: Ask) -> None:
    turns = [FakeTurn(blocks=BLOCKS, usage=USAGE, split_bytes=size) for size in (1, 3, 64)]
    for is_streaming in (True, False):
        request = ModelRequest(messages=[{"role": "user", "content": "x"}], is_streaming=is_streaming)
        for answer in ask(turns, request, spec=SPEC).answers:
            assert [event for event in answer if isinstance(event, BlockEnded)] == ENDED
            assert answer[-1] == StreamEnded("tool_use", Usage(3, 7, 11))


def read(*chunks: dict[str, Any], ids: CallIds | None = None, names: Sequence[str] = ()) -> list[StreamEvent]:
    reader = ChatReader(ids, text_calls=names)
    events = [event for chunk in chunks for event in reader.feed(json.dumps(chunk).encode())]
    return events + reader.finish()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(
    arguments: Any = None, *, index: int | None = 0, id_: str | None = None, name: str | None = None
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return delta(tool_calls=[{"index": index, "id": id_, "function": function}])


def blocks(events: list[StreamEvent]) -> list[Any]:
    return [event.block for event in events if isinstance(event, BlockEnded)]


def inputs(events: list[StreamEvent]) -> list[Any]:
    return [(block["name"], block["input"]) for block in blocks(events)]


TWO = [("A", {"x": 1}), ("B", {"y": 2})]
A, B = call('{"x": 1}', id_="a", name="A"), call('{"y": 2}', index=1, id_="b", name="B")
MESSAGE = {
    "tool_calls": [
        {"id": "a", "function": {"name": "A", "arguments": '{"x": 1}'}},
        {"id": "b", "function": {"name": "B", "arguments": '{"y": 2}'}},
    ]
}
B_WITHOUT_INDEX = call('{"y": 2}', index=None, id_="b", name="B")
CARELESS: dict[str, list[dict[str, Any]]] = {
    "one index for all": [A, call('{"y": 2}', id_="b", name="B")],
    "no index at all": [call('{"x": 1}', index=None, id_="a", name="A"), B_WITHOUT_INDEX],
    "no index, in pieces": [call('{"x"', index=None, id_="a", name="A"), call(": 1}", index=None), B_WITHOUT_INDEX],
    "no ids": [call('{"x": 1}', index=None, name="A"), call('{"y": 2}', index=None, name="B")],
    "the same id twice": [A, call('{"y": 2}', index=1, id_="a", name="B")],
    "objects as arguments": [call({"x": 1}, id_="a", name="A"), call({"y": 2}, index=1, id_="b", name="B")],
    "id and name repeated": [call('{"x"', id_="a", name="A"), call(": 1}", id_="a", name="A"), B],
    "interleaved": [
        call('{"x"', id_="a", name="A"),
        call('{"y"', index=1, id_="b", name="B"),
        call(": 1}"),
        call(": 2}", index=1),
    ],
    "all at once": [{"choices": [{"index": 0, "message": MESSAGE}]}],
    "the name later": [call(id_="a"), call('{"x": 1}', name="A"), B],
}


@pytest.mark.parametrize("chunks", CARELESS.values(), ids=CARELESS.keys())
def test_calls_are_told_apart_however_a_server_numbers_them(chunks: list[dict[str, Any]]) -> None:
    events = read(*chunks, delta("stop"))
    assert inputs(events) == TWO
    ids = [block["id"] for block in blocks(events)]
    assert len(set(ids)) == 2
    assert events[-1] == StreamEnded("tool_use", Usage())


def test_a_call_ends_when_the_next_begins() -> None:
    reader = ChatReader()
    first = [call('{"x": 1}', id_="a", name="A"), call(None, index=1, id_="b", name="B")]
    events = [event for chunk in first for event in reader.feed(json.dumps(chunk).encode())]
    assert inputs(events) == [("A", {"x": 1})]
    with pytest.raises(ValueError, match="complete"):
        reader.feed(json.dumps(call("more")).encode())


def test_an_id_of_an_earlier_turn_is_not_used_again() -> None:
    ids = CallIds([{"role": "assistant", "content": [{"type": "tool_use", "id": "call_0"}]}])
    found = [block["id"] for block in blocks(read(call("{}", id_="call_0", name="A"), ids=ids))]
    assert found != ["call_0"]
    assert [block["id"] for block in blocks(read(call("{}", id_="functions.A:0", name="A")))] != ["functions.A:0"]


@pytest.mark.parametrize(
    ("text", "value"), [(None, {}), ("", {}), (" ", {}), ("{}", {}), ('{"a":', '{"a":'), ("[]", "[]")]
)
def test_arguments_are_an_object_or_the_text_they_are(text: str | None, value: Any) -> None:
    assert inputs(read(call(text, id_="a", name="A"), delta("tool_calls"))) == [("A", value)]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("new", "new"), (None, "end_turn")],
)
def test_reasons_to_stop_are_translated(finish: str | None, reason: str) -> None:
    assert read(delta(content="x"), delta(finish))[-1] == StreamEnded(reason, Usage())


def test_thinking_and_text_come_in_several_forms() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, {"type": "text", "text": "c"}]
    found = blocks(read(delta(reasoning="a"), delta(content=parts), delta(refusal="d")))
    assert found == [{"type": "thinking", "thinking": "ab", "signature": ""}, {"type": "text", "text": "cd"}]
    assert inputs(read(delta(function_call={"name": "A", "arguments": "{}"}))) == [("A", {})]
    other = {"choices": [{"index": 1, "delta": {"content": "another choice"}}]}
    assert blocks(read(other, delta(content="x"))) == [{"type": "text", "text": "x"}]


def test_calls_in_text_are_taken_only_without_native_ones() -> None:
    written = '<tool_call>{"name": "A", "arguments": {"x": 1}}</tool_call>'
    assert inputs(read(delta(content=written), names=["A"])) == [("A", {"x": 1})]
    mixed = blocks(
        read(delta(content="```json\n" + '{"name":"A","arguments":{}}'), call("{}", id_="b", name="B"), names=["A"])
    )
    assert [block["type"] for block in mixed] == ["text", "tool_use"]


def test_calls_in_text_are_for_servers_that_are_not_openai(ask: Ask) -> None:
    turn = FakeTurn(blocks=[{"type": "text", "text": '{"name": "Read", "arguments": {}}'}])
    request = ModelRequest(messages=[{"role": "user", "content": "x"}], tools=TOOLS)
    assert ask([turn], request, spec=SPEC).events[-1].stop_reason == "tool_use"
    assert ask([turn], request, spec=SPEC, options=ModelOptions(text_calls=False)).events[-1].stop_reason == "end_turn"
    openai = OpenAIModel("gpt-5", environ={"OPENAI_API_KEY": "x"})
    assert not openai._takes_text_calls


def test_the_answer_is_complete_without_usage_and_without_a_last_mark(ask: Ask) -> None:
    raw = b'data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\n'
    asked = ask([FakeTurn(raw=raw)], spec=SPEC)
    assert asked.events[-1] == StreamEnded("end_turn", Usage(6, 1))


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'data: {"error":{"message":"slow","code":429}}\n\n', "rate_limit"),
        (b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n', "broken_stream"),
        (b"data: {broken\n\n", "broken_stream"),
    ],
)
def test_errors_in_a_stream_are_errors(ask: Ask, raw: bytes, kind: str) -> None:
    assert ask([FakeTurn(raw=raw)], spec=SPEC).error.kind == kind


def test_a_server_that_refuses_a_field_is_asked_without_it_from_then_on(ask: Ask) -> None:
    turns = [
        error_turn(400, "invalid_request_error", "Unknown parameter: stream_options"),
        error_turn(400, "invalid_request_error", "'max_tokens' is not supported, use 'max_completion_tokens'"),
        FakeTurn(blocks=[TEXT]),
        FakeTurn(blocks=[TEXT]),
    ]
    asked = ask(turns, spec=SPEC, options=ModelOptions(max_output_tokens=9), times=2)
    assert asked.errors == []
    keys = [sorted(set(request.json) - {"model", "stream", "messages"}) for request in asked.requests]
    assert keys == [
        ["max_tokens", "stream_options"],
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_the_conversation_is_translated(ask: Ask) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "a", "content": "text"},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "see"}, image]},
        {"type": "tool_result", "tool_use_id": "c", "content": []},
        {"type": "text", "text": "go on"},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
    ]
    thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": [thinking, TEXT, {**READ, "id": "a"}]},
        {"role": "user", "content": results},
        {"role": "assistant", "content": [thinking]},
    ]
    request = ModelRequest(
        messages=messages, tools=TOOLS, tool_choice="any", stop_sequences=("END",), effort="max", extra={"seed": 1}
    )
    body = ask([FakeTurn(blocks=[TEXT])], request, spec=SPEC).body
    seen = [
        {"type": "text", "text": "What the call b gave to look at:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "go on"},
        {"type": "text", "text": "[a document that this model cannot be shown]"},
    ]
    function = {"name": "Read", "arguments": '{"file_path":"/ä"}'}
    assert body["messages"] == [
        {"role": "user", "content": "one\n\ntwo"},
        {
            "role": "assistant",
            "content": TEXT["text"],
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "text"},
        {"role": "tool", "tool_call_id": "b", "content": "see"},
        {"role": "tool", "tool_call_id": "c", "content": "(no output)"},
        {"role": "user", "content": seen},
    ]
    assert (body["tool_choice"], body["stop"], body["reasoning_effort"], body["seed"]) == (
        "required",
        ["END"],
        "high",
        1,
    )


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:1234", "http://box:1234/v1"),
        (":1234", "http://127.0.0.1:1234/v1"),
        ("http://box:99/", "http://box:99/v1"),
        ("https://ollama.example.com", "https://ollama.example.com:443/v1"),
        ("https://box/sub/v1", "https://box:443/sub/v1"),
    ],
)
def test_the_address_of_ollama_in_all_its_forms(host: str, url: str) -> None:
    assert OpenAIModel("x", environ={"OLLAMA_HOST": host}, provider="ollama")._channel.base_url == url


def test_openai_itself_is_spoken_to_in_its_newest_form() -> None:
    model = OpenAIModel("gpt-5.5", environ={"OPENAI_API_KEY": "x"})
    assert (model._dialect.names_completion_tokens, model.cost_usd(Usage(100_000))) == (True, 0.5)
    assert OpenAIModel("gpt-5.5", environ={"OPENAI_BASE_URL": "http://127.0.0.1/v1"}).cost_usd(Usage(1)) is None


def test_a_call_is_told_while_the_server_stands_still() -> None:
    async def whole() -> list[str]:
        gate = Gate()
        async with FakeProvider([FakeTurn(blocks=[READ, NOW, gate])]) as provider:
            model = open_model(SPEC, environ={"OPENAI_BASE_URL": provider.openai_url})
            names: list[str] = []
            try:
                async for event in model.stream(ModelRequest(messages=[{"role": "user", "content": "x"}])):
                    if isinstance(event, BlockEnded):
                        names.append(event.block["name"])
                        gate.open()
            except ModelError as error:
                names.append(str(error))
            await model.close()
            return names

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == ["Read", "Now"]


def test_counts_that_cannot_be_true_do_not_count() -> None:
    reader = ChatReader()
    told = {"prompt_tokens": 5, "completion_tokens": -7, "prompt_tokens_details": {"cached_tokens": 9}}
    reader.feed(json.dumps({"usage": told}).encode())
    assert reader.usage == Usage(0, 0, 5)


def test_a_custom_header_wins_over_the_key_however_it_is_spelled(ask: Ask) -> None:
    environ = {"OPENAI_CUSTOM_HEADERS": "Authorization: Bearer gateway-token"}
    asked = ask([FakeTurn(blocks=[TEXT])], spec=SPEC, environ=environ)
    assert asked.requests[0].headers["authorization"] == "Bearer gateway-token"


def test_the_headers_for_openai_are_not_told_to_ollama(ask: Ask) -> None:
    environ = {"OPENAI_CUSTOM_HEADERS": "X-Secret: gateway-token"}
    asked = ask([FakeTurn(blocks=[TEXT])], spec="ollama:local", environ=environ)
    assert "x-secret" not in asked.requests[0].headers


def test_a_server_that_repeats_the_name_with_each_piece_gives_one_call() -> None:
    reader = ChatReader()
    events: list[StreamEvent] = []
    for piece in ("{", '"a": {"b": 1}', ", ", '"c": 2', " }", " "):
        call = {"index": 0, "function": {"name": "Go", "arguments": piece}}
        events += reader.feed(json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]}).encode())
    events += reader.finish()
    ended = [event.block["input"] for event in events if isinstance(event, BlockEnded)]
    assert ended[0] == {"a": {"b": 1}, "c": 2}

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

import pytest

from holdfast.models import (
    BlockEnded,
    ModelErrorKind,
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
from holdfast.models.anthropic_stream import AnthropicReader, ErrorEvent, events_of_message
from holdfast.models.json_text import nested_too_deeply
from holdfast.testing import FakeProvider, FakeTurn, Gate, Pause, error_turn

KEY = "sk-test-0123456789"
HELLO = ModelRequest(messages=[{"role": "user", "content": "hello"}])
THINKING = {"type": "thinking", "thinking": "hmm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
TEXT = {"type": "text", "text": "Grüße 🦀"}
READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/ä"}}
NOW: dict[str, Any] = {"type": "tool_use", "id": "toolu_2", "name": "Now", "input": {}}
ALL = FakeTurn(
    blocks=[THINKING, REDACTED, TEXT, READ, NOW],
    usage={"input_tokens": 3, "output_tokens": 7, "cache_read_input_tokens": 11, "cache_creation_input_tokens": 13},
)
ENDED = [BlockEnded(index, dict(block)) for index, block in enumerate([THINKING, REDACTED, TEXT, READ, NOW])]
Ask = Callable[..., Any]


def test_a_stream_becomes_events(ask: Ask) -> None:
    assert ask([ALL]).events == [
        StreamStarted("msg_1", "fake-model", Usage(3, 1, 11, 13)),
        ThinkingDelta(0, "hmm"),
        ENDED[0],
        ENDED[1],
        TextDelta(2, "Grüße 🦀"),
        ENDED[2],
        ToolUseStarted(3, "toolu_1", "Read"),
        ToolInputDelta(3, '{"file_p'),
        ToolInputDelta(3, 'ath": "/'),
        ToolInputDelta(3, 'ä"}'),
        ENDED[3],
        ToolUseStarted(4, "toolu_2", "Now"),
        ToolInputDelta(4, ""),
        ENDED[4],
        StreamEnded("tool_use", Usage(3, 7, 11, 13)),
    ]


def test_the_bytes_may_come_in_any_pieces(ask: Ask) -> None:
    asked = ask([FakeTurn(blocks=ALL.blocks, usage=ALL.usage, split_bytes=size) for size in (1, 2, 3, 5, 64, 4_096)])
    whole = [[event for event in answer if not isinstance(event, StreamStarted)] for answer in asked.answers]
    assert all(answer == whole[0] for answer in whole)
    assert [event for event in whole[0] if isinstance(event, BlockEnded)] == ENDED


@pytest.mark.parametrize("is_streaming", [False, True])
def test_a_whole_answer_gives_the_same_blocks(ask: Ask, is_streaming: bool) -> None:
    """Also from a gateway that answers a request for a stream with one document."""
    turn = FakeTurn(blocks=ALL.blocks, usage=ALL.usage)
    asked_for = ModelRequest(messages=HELLO.messages, is_streaming=is_streaming)
    if is_streaming:
        document = {
            "id": "m",
            "model": "x",
            "content": ALL.content,
            "stop_reason": "tool_use",
            "usage": dict(ALL.usage),
        }
        turn = FakeTurn(raw=json.dumps(document).encode(), content_type="application/json")
    asked = ask([turn], asked_for)
    assert [event for event in asked.events if isinstance(event, BlockEnded)] == ENDED
    assert asked.events[-1] == StreamEnded("tool_use", Usage(3, 7, 11, 13))
    assert asked.body.get("stream", False) is is_streaming


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn", "brand_new"])
def test_the_reason_to_stop_is_passed_on(ask: Ask, reason: str) -> None:
    assert ask([FakeTurn(blocks=[TEXT], stop_reason=reason)]).events[-1].stop_reason == reason


def test_connections_are_kept_and_headers_are_those_that_gateways_take(ask: Ask) -> None:
    asked = ask([ALL, ALL, error_turn(500, "api_error", "x"), ALL])
    assert [request.connection for request in asked.requests] == [1, 1, 1, 1]
    headers = asked.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert headers["accept-encoding"] == "identity"
    assert "authorization" not in headers
    assert asked.requests[0].path == "/v1/messages"


@pytest.mark.parametrize(
    ("options", "environ", "expected"),
    [
        (ModelOptions(auth="bearer"), {}, {"authorization": f"Bearer {KEY}"}),
        (None, {"ANTHROPIC_AUTH_TOKEN": "token-1"}, {"authorization": "Bearer token-1"}),
        (ModelOptions(auth="key"), {"ANTHROPIC_AUTH_TOKEN": "token-1"}, {"x-api-key": KEY}),
        (ModelOptions(api_key="mine"), {"ANTHROPIC_AUTH_TOKEN": "token-1"}, {"x-api-key": "mine"}),
        (ModelOptions(api_version="2026-10-21"), {}, {"anthropic-version": "2026-10-21", "x-api-key": KEY}),
        (None, {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: a\nX-Two: b: c"}, {"x-team": "a", "x-two": "b: c"}),
        (ModelOptions(headers={"X-Api-Key": "", "X-Mine": "1"}), {}, {"x-mine": "1", "x-api-key": None}),
        (None, {"ANTHROPIC_BETAS": "some-beta"}, {"anthropic-beta": "some-beta"}),
    ],
)
def test_the_form_of_the_headers_can_be_chosen(
    ask: Ask, options: ModelOptions | None, environ: dict[str, str], expected: dict[str, str | None]
) -> None:
    headers = ask([ALL], options=options, environ=environ).requests[0].headers
    assert {name: headers.get(name) for name in expected} == expected
    assert not {"authorization", "x-api-key"} <= headers.keys()


def test_every_cut_of_a_stream_is_an_error_that_keeps_what_came(ask: Ask) -> None:
    turn = FakeTurn(blocks=[TEXT, READ], delta_chars=50)
    asked = ask([FakeTurn(blocks=turn.blocks, delta_chars=50, cut_at=size) for size in range(1, 1_400, 60)])
    assert len(asked.errors) + sum(isinstance(answer[-1], StreamEnded) for answer in asked.answers if answer) == len(
        asked.answers
    )
    assert {error.kind for error in asked.errors} == {"broken_stream"}
    assert all(error.is_retryable for error in asked.errors)


ERRORS: list[tuple[bytes, ModelErrorKind]] = [
    (b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n', "overloaded"),
    (b'data: {"type":"error","error":{"type":"api_error","message":"x"},"request_id":"req_7"}\n\n', "server"),
    (b"data: {nonsense\n\n", "broken_stream"),
    (b'data: {"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}\n\n', "broken_stream"),
    (b'data: {"type":"content_block_delta","index":"x"}\n\n', "broken_stream"),
    (b'data: {"type":"message_start","message":{"id":"\xff"}}\n\n', "broken_stream"),
    (b"data: " + b"x" * 3_000, "broken_stream"),
    (b"", "broken_stream"),
    (b"\x00\x01\x02", "broken_stream"),
]


@pytest.mark.parametrize(("raw", "kind"), ERRORS)
def test_what_makes_no_sense_in_a_stream_is_an_error(ask: Ask, raw: bytes, kind: ModelErrorKind) -> None:
    start = b'data: {"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}\n\n'
    asked = ask([FakeTurn(raw=start + raw)], options=ModelOptions(max_event_bytes=2_000))
    assert asked.error.kind == kind
    assert asked.error.request_id == ("req_7" if b"req_7" in raw else "req_fake")
    assert asked.events == [StreamStarted("m", "x", Usage(1))]


def test_what_we_do_not_know_yet_is_passed_over() -> None:
    reader = AnthropicReader()
    lines: list[dict[str, Any]] = [
        {"type": "ping"},
        {"type": "brand_new", "index": "not a number", "delta": 3},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "brand_new_block", "id": "s", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "a", "citations": None}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"x": 1}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_stop", "index": 9},
    ]
    events = [event for line in lines for event in reader.feed(json.dumps(line).encode())]
    assert events == [TextDelta(1, "a"), TextDelta(1, "b"), BlockEnded(1, {"type": "text", "text": "ab"})]


def test_tools_that_the_provider_runs_keep_their_blocks_to_the_letter() -> None:
    reader = AnthropicReader()
    asked: dict[str, Any] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    cited = {"type": "web_search_result_location", "url": "https://a.example/", "encrypted_index": "y=="}
    told = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "x=="}]}
    lines: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": asked},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query":"q"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": told},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "", "citations": []}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "So."}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": cited}},
        {"type": "content_block_stop", "index": 2},
    ]
    events = [event for line in lines for event in reader.feed(json.dumps(line).encode())]
    assert [event for event in events if isinstance(event, BlockEnded)] == [
        BlockEnded(0, {**asked, "input": {"query": "q"}}),
        BlockEnded(1, told),
        BlockEnded(2, {"type": "text", "text": "So.", "citations": [cited]}),
    ]


def test_gateways_that_are_careless_with_the_end_are_understood() -> None:
    reader = AnthropicReader()
    call = {"type": "tool_use", "id": "not valid!", "name": "Read", "input": {"a": 1}}
    reader.feed(json.dumps({"type": "content_block_start", "index": 0, "content_block": call}).encode())
    reader.feed(b'{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}')
    ended, last = reader.finish()
    assert isinstance(ended, BlockEnded)
    assert ended.block["input"] == {"a": 1}
    assert ended.block["id"].replace("_", "").isalnum()
    assert last == StreamEnded("tool_use", Usage(0, 3))


@pytest.mark.parametrize("text", ['{"a": ', "[1]", "3", '{"a": 1} and'])
def test_an_input_that_is_no_object_stays_the_text_it_is(ask: Ask, text: str) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": text}
    events = ask([FakeTurn(blocks=[block])]).events
    assert [event.block["input"] for event in events if isinstance(event, BlockEnded)] == [text]


def test_an_error_event_is_told_apart_from_an_event_of_that_shape() -> None:
    with pytest.raises(ErrorEvent):
        AnthropicReader().feed(b'{"type":"error","error":{"type":"api_error"}}')


def test_a_status_error_keeps_what_the_provider_told(ask: Ask) -> None:
    error = ask([error_turn(429, "rate_limit_error", f"slow down, {KEY}", retry_after="7", request_id="req_1")]).error
    assert (error.kind, error.status, error.retry_after_s, error.request_id) == ("rate_limit", 429, 7.0, "req_1")
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("turn", "options"),
    [
        (FakeTurn(blocks=[TEXT], first_delay_s=20), ModelOptions(first_byte_timeout_s=0.05)),
        (FakeTurn(blocks=[Pause(20), TEXT], raw=None), ModelOptions(silence_timeout_s=0.05)),
        (FakeTurn(raw=[b": headers only\n\n", Pause(20)]), ModelOptions(first_byte_timeout_s=0.05)),
    ],
)
def test_silence_ends_in_a_timeout(ask: Ask, turn: FakeTurn, options: ModelOptions) -> None:
    error = ask([turn], options=options).error
    assert (error.kind, error.is_retryable) == ("timeout", True)


def test_a_server_that_is_not_there_is_a_connection_error(ask: Ask) -> None:
    error = ask([], times=1, environ={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}).error
    assert (error.kind, error.is_retryable) == ("connection", True)


def test_a_server_that_keeps_the_stream_open_does_not_keep_us(ask: Ask) -> None:
    asked = ask([FakeTurn(blocks=[TEXT], keeps_open=True), FakeTurn(blocks=[TEXT])])
    assert [type(answer[-1]) for answer in asked.answers] == [StreamEnded, StreamEnded]


def test_a_call_is_told_as_soon_as_its_block_has_ended() -> None:
    """The server stands still behind the first call: nothing but the block's end is needed to begin it."""

    async def whole() -> list[str]:
        gate = Gate()
        async with FakeProvider([FakeTurn(blocks=[READ, gate, NOW])]) as provider:
            model = open_model("claude-x", environ={"ANTHROPIC_BASE_URL": provider.url})
            names: list[str] = []
            async for event in model.stream(HELLO):
                if isinstance(event, BlockEnded):
                    names.append(event.block["name"])
                    gate.open()
            await model.close()
            return names

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == ["Read", "Now"]


def test_closing_the_iterator_ends_the_request() -> None:
    async def whole() -> int:
        async with FakeProvider([FakeTurn(blocks=[TEXT, Gate()])]) as provider:
            model = open_model("claude-x", environ={"ANTHROPIC_BASE_URL": provider.url})
            stream = cast("AsyncGenerator[StreamEvent]", model.stream(HELLO))
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            await provider.disconnected()
            await model.close()
            return provider.disconnects

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == 1


def test_cancelling_the_reader_ends_the_request() -> None:
    async def whole() -> None:
        async with FakeProvider([FakeTurn(blocks=[Gate()])]) as provider:
            model = open_model("claude-x", environ={"ANTHROPIC_BASE_URL": provider.url})
            began = asyncio.Event()

            async def read() -> None:
                async for _ in model.stream(HELLO):
                    began.set()

            task = asyncio.create_task(read())
            await asyncio.wait_for(began.wait(), 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await provider.disconnected()
            await model.close()

    asyncio.run(asyncio.wait_for(whole(), 20))


def test_a_model_can_be_used_in_one_event_loop_after_another() -> None:
    environ: dict[str, str] = {}
    model: list[Any] = []

    async def once() -> str:
        async with FakeProvider([FakeTurn(blocks=[TEXT])]) as provider:
            if not model:
                environ["ANTHROPIC_BASE_URL"] = provider.url
                model.append(open_model("claude-x", environ=environ))
            model[0]._channel.base_url = provider.url
            text = "".join([event.text async for event in model[0].stream(HELLO) if isinstance(event, TextDelta)])
            await model[0].close()
            return text

    assert [asyncio.run(once()), asyncio.run(once())] == [TEXT["text"], TEXT["text"]]


@pytest.mark.parametrize(("counted", "expected"), [(42, [42, 42]), (None, [6, 6])])
def test_tokens_are_counted_by_the_provider_or_estimated(counted: int | None, expected: list[int]) -> None:
    async def whole() -> tuple[list[int], int]:
        async with FakeProvider(counted_tokens=counted) as provider:
            model = open_model("claude-x", environ={"ANTHROPIC_BASE_URL": provider.url})
            found = [await model.count_tokens(HELLO), await model.count_tokens(HELLO)]
            await model.close()
            return found, len(provider.counts)

    found, asked = asyncio.run(asyncio.wait_for(whole(), 20))
    assert found == expected
    assert asked == (2 if counted else 1), "a server that cannot count is asked once"


@pytest.mark.parametrize(
    ("block", "ended"),
    [
        ({"type": "text", "text": {"a": 1}}, {"type": "text", "text": ""}),
        (
            {"type": "thinking", "thinking": [1], "signature": 5},
            {"type": "thinking", "thinking": "", "signature": ""},
        ),
        ({"type": "redacted_thinking", "data": {}}, {"type": "redacted_thinking", "data": ""}),
    ],
)
def test_a_block_with_something_else_for_text_says_nothing(block: dict[str, Any], ended: dict[str, Any]) -> None:
    reader = AnthropicReader()
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    assert reader.feed(json.dumps(start).encode()) == []
    assert reader.finish()[0] == BlockEnded(0, ended)


@pytest.mark.parametrize("index", [-1, 10**25])
def test_a_block_with_an_impossible_number_makes_no_sense(index: int) -> None:
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text"}}
    with pytest.raises(ValueError, match="number"):
        AnthropicReader().feed(json.dumps(start).encode())


def test_counts_that_cannot_be_true_neither_pay_a_budget_back_nor_break_the_journal() -> None:
    reader = AnthropicReader()
    usage = {"input_tokens": -5, "output_tokens": 10**30}
    reader.feed(json.dumps({"type": "message_start", "message": {"usage": usage}}).encode())
    assert reader.usage == Usage(0, 10**12)


def test_a_whole_answer_that_is_nested_without_end_makes_no_sense() -> None:
    deep = b'{"content":[{"type":"tool_use","input":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}]}"
    with pytest.raises(ValueError, match="deeply"):
        events_of_message(deep)


def test_a_block_whose_number_comes_again_was_complete() -> None:
    reader = AnthropicReader()
    blocks = [{"type": "text", "text": "one"}, {"type": "tool_use", "id": "a", "name": "Read", "input": {"x": 1}}]
    events: list[StreamEvent] = []
    for block in blocks:
        events += reader.feed(json.dumps({"type": "content_block_start", "index": 0, "content_block": block}).encode())
    events += reader.feed(b'{"type":"message_stop"}')
    assert [event.block for event in events if isinstance(event, BlockEnded)] == blocks


def test_brackets_in_texts_and_side_by_side_are_not_nested() -> None:
    assert not nested_too_deeply(b"[" + b"{}," * 5_000 + b"1]")
    assert not nested_too_deeply(json.dumps(["{[" * 5_000, '\\"{' * 5_000]).encode())
    assert nested_too_deeply(b"[" * 501 + b"]" * 501)

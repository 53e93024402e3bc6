import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing
from typing import Any, cast

import pytest

from holdfast.models import Model, ModelError, ModelOptions, ModelRequest, StreamEnded, StreamEvent, open_model
from holdfast.models.anthropic import AnthropicModel
from holdfast.models.http import header_lines
from holdfast.models.openai import OpenAIModel
from holdfast.testing import FakeProvider, FakeTurn, Pause

HELLO = ModelRequest(messages=[{"role": "user", "content": "hello"}])


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
def test_a_reader_that_leaves_at_the_last_event_keeps_the_connection(spec: str) -> None:
    async def whole() -> list[int]:
        turn = FakeTurn(blocks=[{"type": "text", "text": "hi"}])
        async with FakeProvider([turn] * 3) as provider:
            environ = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
            model = open_model(spec, environ=environ)
            for _ in range(3):
                async with aclosing(cast("AsyncGenerator[StreamEvent]", model.stream(HELLO))) as events:
                    async for event in events:
                        if isinstance(event, StreamEnded):
                            break
            await model.close()
            return [request.connection for request in provider.requests]

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == [1, 1, 1]


def test_a_server_that_takes_no_connection_counts_as_not_reached() -> None:
    async def whole() -> ModelError:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
            address = listener.getsockname()
            for _ in range(3):  # nobody accepts them, and then there is no room for another one
                client = waiting.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(address)
            options = ModelOptions(base_url=f"http://127.0.0.1:{address[1]}/v1", connect_timeout_s=0.2)
            model = open_model("openai:local", environ={}, settings=options)
            try:
                with pytest.raises(ModelError) as caught:
                    _ = [event async for event in model.stream(HELLO)]
            finally:
                await model.close()
            return caught.value

    error = asyncio.run(asyncio.wait_for(whole(), 20))
    assert error.kind == "connection"
    assert "could not be reached in 0.2 s" in str(error)


def test_headers_are_read_from_lines() -> None:
    assert header_lines("A: 1\n\nno colon\n B : x: y \r\n: z") == {"A": "1", "B": "x: y"}


def test_both_clients_are_models() -> None:
    models: list[Model] = [
        AnthropicModel("claude-x", environ={"ANTHROPIC_API_KEY": "k"}),
        OpenAIModel("local", environ={"OPENAI_BASE_URL": "http://127.0.0.1/v1"}),
    ]
    assert [model.wire for model in models] == ["anthropic", "openai"]


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
def test_a_stream_that_never_ends_is_left(ask: Callable[..., Any], spec: str) -> None:
    pings = [b'event: ping\ndata: {"type":"ping"}\n\n' * 100] * 100
    asked = ask([FakeTurn(raw=pings, keeps_open=True)], spec=spec, options=ModelOptions(max_stream_bytes=100_000))
    assert asked.error.kind == "broken_stream"
    assert "100000 bytes" in str(asked.error)


PING = b'event: ping\ndata: {"type":"ping"}\n\n'
BEGUN = {
    "anthropic:claude-x": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"x"}}\n\n',
    "openai:local": b'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
}


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
def test_nobody_has_to_ask_for_a_bound_on_what_a_server_sends(ask: Callable[..., Any], spec: str) -> None:
    comment = b":" + b" " * ((1 << 20) - 3) + b"\n\n"
    stream = ask([FakeTurn(raw=[BEGUN[spec], *[comment] * 70], keeps_open=True)], spec=spec)
    assert (stream.error.kind, f"more than {64 << 20} bytes" in str(stream.error)) == ("broken_stream", True)
    line = ask([FakeTurn(raw=[BEGUN[spec], b"data: ", *[b"x" * (1 << 20)] * 20], keeps_open=True)], spec=spec)
    assert f"more than {16 << 20} bytes" in str(line.error)
    whole = FakeTurn(raw=[b"{", *[b" x" * (1 << 19)] * 40], keeps_open=True, content_type="application/json")
    assert f"more than {32 << 20} bytes" in str(ask([whole], spec=spec).error)


def test_what_a_server_says_cannot_steer_a_terminal(ask: Callable[..., Any]) -> None:
    said = {"type": "error", "error": {"type": "invalid_request_error", "message": "no\x1b]52;c;eA==\x07\u202e"}}
    error = ask([FakeTurn(raw=json.dumps(said).encode(), status=400, content_type="application/json")]).error
    assert r"no\x1b]52;c;eA==\x07<U+202E>" in str(error)


EMPTY = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":""}}]}\n\n'


@pytest.mark.parametrize(
    ("spec", "sign"),
    [
        ("anthropic:claude-x", PING),
        ("anthropic:claude-x", b": still here\n\n"),
        ("openai:local", b": still here\n\n"),
        ("openai:local", EMPTY),
    ],
)
@pytest.mark.parametrize("has_begun", [True, False])
def test_signs_of_life_do_not_keep_a_request_waiting(
    ask: Callable[..., Any], spec: str, sign: bytes, *, has_begun: bool
) -> None:
    begun = [BEGUN[spec]] if has_begun or sign == EMPTY else []
    signs = [part for _ in range(600) for part in (Pause(0.02), sign)]
    options = ModelOptions(idle_timeout_s=0.4, silence_timeout_s=30, first_byte_timeout_s=30)
    asked = ask([FakeTurn(raw=[*begun, *signs], content_type="text/event-stream")], spec=spec, options=options)
    assert asked.error.kind == "timeout"
    assert asked.error.is_retryable
    assert "only signs of life for 0.4 s" in str(asked.error)


def test_a_whole_answer_is_not_waited_for_because_of_blanks(ask: Callable[..., Any]) -> None:
    request = ModelRequest(messages=[{"role": "user", "content": "hello"}], is_streaming=False)
    blanks = [part for _ in range(600) for part in (Pause(0.02), b"\n")]
    options = ModelOptions(idle_timeout_s=0.4)
    assert ask([FakeTurn(raw=blanks)], request, options=options).error.kind == "timeout"


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
def test_an_answer_that_goes_on_slowly_is_waited_for(ask: Callable[..., Any], spec: str) -> None:
    blocks = [part for _ in range(7) for part in (Pause(0.2), {"type": "text", "text": "hi"})]
    asked = ask([FakeTurn(blocks=blocks)], spec=spec, options=ModelOptions(idle_timeout_s=1.2))
    assert asked.errors == []


def test_text_that_is_held_back_as_a_possible_call_counts_as_going_on(ask: Callable[..., Any]) -> None:
    tools = json.dumps([{"type": "function", "function": {"name": "Go"}}]).encode()
    request = ModelRequest(messages=[{"role": "user", "content": "hello"}], tools=tools)
    call = ['{"name": "Go", ', '"arguments": ', "{", '"a": ', "1", "}", "}"]
    blocks = [part for text in call for part in (Pause(0.2), {"type": "text", "text": text})]
    asked = ask([FakeTurn(blocks=blocks)], request, spec="openai:local", options=ModelOptions(idle_timeout_s=1.2))
    assert asked.errors == []
    assert asked.events[-1].stop_reason == "tool_use"


LOGIN = b"<!DOCTYPE html>\n<html><title>Sign in</title> sk-test-0123456789 \x1b[31m</html>"


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", "application/json"])
@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_page_in_place_of_an_answer_is_told_and_not_asked_for_again(
    ask: Callable[..., Any], spec: str, content_type: str, *, is_streaming: bool
) -> None:
    request = ModelRequest(messages=[{"role": "user", "content": "hello"}], is_streaming=is_streaming)
    error = ask([FakeTurn(raw=LOGIN, content_type=content_type)], request, spec=spec).error
    assert not error.is_retryable
    assert repr(content_type) in str(error)
    assert "'<!DOCTYPE html> <html><title>Sign in</title> [redacted] " in str(error)
    assert "\x1b" not in str(error)
    assert "base URL 'http://127.0.0.1" in str(error)
    assert "proxy" in str(error)


def test_a_page_that_drips_is_not_waited_for(ask: Callable[..., Any]) -> None:
    drip = [b"  ", b"<p>", *(part for _ in range(2_000) for part in (Pause(0.02), b"<p>"))]
    error = ask([FakeTurn(raw=drip, content_type="text/html")]).error
    assert "content type 'text/html'" in str(error)


def test_a_refusal_that_drips_is_not_waited_for(ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.models.http._REFUSAL_S", 0.3)
    drip = [part for _ in range(2_000) for part in (Pause(0.02), b"x")]
    assert ask([FakeTurn(raw=drip, status=500)]).error.kind == "server"


@pytest.mark.parametrize("spec", ["anthropic:claude-x", "openai:local"])
def test_a_stream_that_calls_itself_a_page_is_read_and_words_that_do_are_told(
    ask: Callable[..., Any], spec: str
) -> None:
    stream = FakeTurn(blocks=[{"type": "text", "text": "hi"}], content_type="text/html")
    words = FakeTurn(raw=b"Please sign in first.", content_type="text/html")
    asked = ask([stream, words], spec=spec)
    assert isinstance(asked.events[-1], StreamEnded)
    assert not asked.error.is_retryable
    assert "Please sign in first." in str(asked.error)


def test_a_redirect_says_where_it_leads(ask: Callable[..., Any]) -> None:
    error = ask([FakeTurn(status=302, raw=b"", headers={"location": "https://login.example/"})]).error
    assert error.kind == "invalid_request"
    assert "sends us on to https://login.example/" in str(error)

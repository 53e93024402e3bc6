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
from holdfast.testing import FakeProvider, FakeTurn

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


def test_what_a_server_says_cannot_steer_a_terminal(ask: Callable[..., Any]) -> None:
    said = {"type": "error", "error": {"type": "invalid_request_error", "message": "no\x1b]52;c;eA==\x07\u202e"}}
    error = ask([FakeTurn(raw=json.dumps(said).encode(), status=400, content_type="application/json")]).error
    assert r"no\x1b]52;c;eA==\x07<U+202E>" in str(error)

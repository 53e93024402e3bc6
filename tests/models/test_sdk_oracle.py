"""The providers' own clients as judges: the same bytes give the same answer, the same request the same body."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest

from holdfast.models import (
    BlockEnded,
    Model,
    ModelError,
    ModelOptions,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    SystemBlock,
    TextDelta,
    Usage,
    open_model,
)
from holdfast.testing import FakeProvider, FakeTurn, RecordedRequest, error_turn
from holdfast.testing.fake_wires import anthropic_pieces, openai_pieces

KEY = "sk-test-0123456789"
HELLO: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
TEXT = {"type": "text", "text": 'Grüße, 世界 🦀!\u2028 "quoted" \\ \n\tend'}
THINKING = {"type": "thinking", "thinking": "Ich überlege 🤔", "signature": "c2lnbmF0dXJl"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/tmp/ä🦀", "limit": 3, "f": 1.5}}
DEEP: dict[str, Any] = {
    "type": "tool_use",
    "id": "toolu_2",
    "name": "Deep",
    "input": {"a": [{"b": [None, True, '\\u0000 " ']}], "c": {}},
}
EMPTY: dict[str, Any] = {"type": "tool_use", "id": "toolu_3", "name": "Now", "input": {}}
USAGE = {"input_tokens": 3, "output_tokens": 7, "cache_read_input_tokens": 11}
STREAMS: dict[str, FakeTurn] = {
    "text": FakeTurn(blocks=[TEXT], usage=USAGE),
    "nothing": FakeTurn(usage=USAGE),
    "thinking": FakeTurn(blocks=[THINKING, TEXT], usage=USAGE),
    "parallel calls": FakeTurn(blocks=[TEXT, READ, DEEP, EMPTY], usage=USAGE),
    "cut short": FakeTurn(blocks=[TEXT], stop_reason="max_tokens"),
    "byte by byte": FakeTurn(blocks=[THINKING, TEXT, READ, EMPTY], split_bytes=1),
    "long deltas": FakeTurn(blocks=[TEXT, READ], delta_chars=1_000),
}
Answer = tuple[list[Any], str, Usage]
Client = Callable[[FakeProvider], Awaitable[Any]]


def served(turns: Sequence[FakeTurn], *clients: Client) -> tuple[list[Any], list[RecordedRequest]]:
    """What each client gets of its own turn, and what it sent."""

    async def whole() -> tuple[list[Any], list[RecordedRequest]]:
        async with FakeProvider(turns) as provider:
            return [await client(provider) for client in clients], provider.requests

    return asyncio.run(asyncio.wait_for(whole(), 60))


def ours(spec: str, request: ModelRequest | None = None, **options: Any) -> Client:
    async def run(provider: FakeProvider) -> Answer | ModelError:
        environ = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
        settings = ModelOptions(api_key=KEY, cache_prompts=False, **options)
        model = open_model(spec, environ=environ, settings=settings)
        try:
            return await _answer(model, request or ModelRequest(messages=HELLO, max_output_tokens=100))
        except ModelError as error:
            return error
        finally:
            await model.close()

    return run


async def _answer(model: Model, request: ModelRequest) -> Answer:
    events: list[StreamEvent] = [event async for event in model.stream(request)]
    last = events[-1]
    assert isinstance(last, StreamEnded)
    blocks = [event.block for event in events if isinstance(event, BlockEnded)]
    texts = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert texts == "".join(block["text"] for block in blocks if block["type"] == "text")
    return blocks, last.stop_reason, last.usage


def anthropic_sdk(**arguments: Any) -> Client:
    sdk: Any = import_module("anthropic")

    async def run(provider: FakeProvider) -> Any:
        given = {"model": "claude-x", "max_tokens": 100, "messages": HELLO, **arguments}
        async with sdk.AsyncAnthropic(api_key=KEY, base_url=provider.url, max_retries=0) as client:
            try:
                async with client.messages.stream(**given) as stream:
                    message = await stream.get_final_message()
            except sdk.APIError as error:
                return error
        usage = message.usage
        cached = usage.cache_read_input_tokens or 0
        blocks = [_plain(block.model_dump(exclude_none=True)) for block in message.content]
        return blocks, message.stop_reason, Usage(usage.input_tokens, usage.output_tokens, cached)

    return run


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the SDK adds for its own use."""
    known = ("type", "text", "thinking", "signature", "data", "id", "name", "input")
    return {key: block[key] for key in known if key in block}


def openai_sdk(**arguments: Any) -> Client:
    sdk: Any = import_module("openai")

    async def run(provider: FakeProvider) -> Any:
        given = {"model": "local", "messages": HELLO, "stream_options": {"include_usage": True}, **arguments}
        async with sdk.AsyncOpenAI(api_key=KEY, base_url=provider.openai_url, max_retries=0) as client:
            try:
                chunks = [chunk async for chunk in await client.chat.completions.create(stream=True, **given)]
            except sdk.APIError as error:
                return error
        return _from_chunks(chunks)

    return run


def _from_chunks(chunks: Sequence[Any]) -> Answer:
    """The answer as a program puts it together from the SDK's chunks."""
    thought, text, finish = "", "", ""
    calls: dict[int, dict[str, Any]] = {}
    usage = Usage()
    for chunk in chunks:
        if chunk.usage:
            details = chunk.usage.prompt_tokens_details
            cached = (details.cached_tokens if details else 0) or 0
            usage = Usage(chunk.usage.prompt_tokens - cached, chunk.usage.completion_tokens, cached)
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for delta in choice.delta.tool_calls or ():
                call = calls.setdefault(delta.index, {"id": delta.id, "name": delta.function.name, "arguments": ""})
                call["arguments"] += delta.function.arguments or ""
    json: Any = import_module("json")
    blocks: list[Any] = [{"type": "thinking", "thinking": thought, "signature": ""}] if thought else []
    blocks += [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": json.loads(call["arguments"])}
        for call in calls.values()
    ]
    reasons = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
    return blocks, reasons[finish], usage


@pytest.mark.parametrize("name", STREAMS)
def test_anthropics_client_reads_the_same_from_a_stream(name: str) -> None:
    turn = STREAMS[name]
    (theirs, mine), _ = served([turn, turn], anthropic_sdk(), ours("anthropic:claude-x"))
    assert mine == theirs
    assert len(mine[0]) == len(turn.content)


@pytest.mark.parametrize("name", STREAMS)
def test_openais_client_reads_the_same_from_a_stream(name: str) -> None:
    turn = STREAMS[name]
    (theirs, mine), _ = served([turn, turn], openai_sdk(), ours("openai:local"))
    assert mine == theirs


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_a_cut_at_every_byte_changes_nothing(wire: str) -> None:
    turn = FakeTurn(blocks=[{"type": "text", "text": "ä🦀"}, {**READ, "input": {"a": "世"}}], delta_chars=50)
    pieces = anthropic_pieces(turn, 1) if wire == "anthropic" else openai_pieces(turn, 1, with_usage=True)
    data = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    kind = "text/event-stream"
    cuts = [FakeTurn(raw=[data[:at], data[at:]], content_type=kind) for at in range(0, len(data), 3)]
    sdk, spec = (anthropic_sdk(), "anthropic:claude-x") if wire == "anthropic" else (openai_sdk(), "openai:local")
    asking = ours(spec)
    answers, _ = served([FakeTurn(raw=data, content_type=kind), *cuts], sdk, *[asking] * len(cuts))
    assert all(answer == answers[0] for answer in answers[1:])
    assert len(answers[0][0]) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request"), (401, "auth"), (429, "rate_limit"), (500, "server"), (529, "overloaded")],
)
def test_both_clients_tell_the_same_of_a_refusal(status: int, kind: str) -> None:
    turn = error_turn(status, "some_error", "because of this", request_id="req_5", x_request_id="req_5")
    for sdk, spec in ((anthropic_sdk(), "anthropic:claude-x"), (openai_sdk(), "openai:local")):
        (theirs, mine), _ = served([turn, turn], sdk, ours(spec))
        assert (mine.status, mine.request_id, mine.kind) == (theirs.status_code, theirs.request_id, kind)
        assert "because of this" in str(mine)


def test_both_clients_raise_on_an_error_inside_a_stream() -> None:
    raw = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    turn = FakeTurn(raw=raw, content_type="text/event-stream")
    (theirs, mine), _ = served([turn, turn], anthropic_sdk(), ours("anthropic:claude-x"))
    assert "busy" in str(theirs)
    assert (type(mine), mine.kind) == (ModelError, "overloaded")


CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": [THINKING, TEXT, READ]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x", "is_error": True}]},
]


def test_anthropics_client_sends_the_same_body() -> None:
    tools = b'[{"name":"Read","description":"d","input_schema":{"type":"object"}}]'
    request = ModelRequest(
        messages=CONVERSATION,
        system=(SystemBlock("be good", cacheable=True),),
        tools=tools,
        tool_choice="Read",
        max_output_tokens=100,
        stop_sequences=("END",),
    )
    sdk = anthropic_sdk(
        messages=CONVERSATION,
        system=[{"type": "text", "text": "be good"}],
        tools=[{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
        tool_choice={"type": "tool", "name": "Read"},
        stop_sequences=["END"],
    )
    turn = STREAMS["text"]
    _, (theirs, mine) = served([turn, turn], sdk, ours("anthropic:claude-x", request))
    assert mine.json == theirs.json
    assert mine.path.partition("?")[0] == theirs.path.partition("?")[0]


def test_openais_client_sends_the_same_body() -> None:
    function = {"name": "Read", "description": "d", "parameters": {"type": "object"}}
    request = ModelRequest(
        messages=HELLO,
        system=(SystemBlock("be good"),),
        tools=b'[{"type":"function","function":{"name":"Read","description":"d","parameters":{"type":"object"}}}]',
        tool_choice="Read",
        max_output_tokens=100,
        stop_sequences=("END",),
    )
    sdk = openai_sdk(
        messages=[{"role": "system", "content": "be good"}, *HELLO],
        tools=[{"type": "function", "function": function}],
        tool_choice={"type": "function", "function": {"name": "Read"}},
        max_tokens=100,
        stop=["END"],
    )
    turn = STREAMS["text"]
    _, (theirs, mine) = served([turn, turn], sdk, ours("openai:local", request))
    assert mine.json == theirs.json
    assert mine.headers["authorization"] == theirs.headers["authorization"]

"""Responses, Gemini and Bedrock: what is sent, what is read, what their own clients say to the same bytes."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.models import BlockEnded, ModelOptions, ModelRequest, StreamEnded, SystemBlock, Usage, open_model
from holdfast.models.aws_events import AwsEventSplitter
from holdfast.models.aws_sign import AwsKeys, signed_headers
from holdfast.models.sse import EventTooLarge
from holdfast.testing import FakeProvider, FakeTurn, error_turn
from holdfast.testing.fake_other_wires import aws_event

SPECS = ("openai-responses:gpt-6-sol", "gemini:gemini-3-pro", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0")
TEXT = {"type": "text", "text": 'Grüße, 世界 🦀! "quoted" \\ \n\tend'}
THINKING = {"type": "thinking", "thinking": "Ich überlege 🤔", "signature": "c2ln"}
READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/tmp/ä🦀", "limit": 3}}
NOW: dict[str, Any] = {"type": "tool_use", "id": "toolu_2", "name": "Now", "input": {}}
USAGE = {"input_tokens": 3, "output_tokens": 7, "cache_read_input_tokens": 11}
ANTHROPIC_TOOLS = [{"name": "Read", "description": "Read it.", "input_schema": {"type": "object"}, "strict": True}]
OPENAI_TOOLS = [
    {"type": "function", "function": {"name": "Read", "description": "Read it.", "parameters": {"type": "object"}}}
]
HELLO: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "look"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "I look."}, READ, NOW]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [
                    {"type": "text", "text": "1\tx"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                ],
            },
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no clock", "is_error": True},
            {"type": "text", "text": "go on"},
        ],
    },
]


def environ(provider: FakeProvider) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": provider.openai_url,
        "OPENAI_API_KEY": "sk-test-123456",
        "GEMINI_BASE_URL": f"{provider.url}/v1beta",
        "GEMINI_API_KEY": "key-gemini-123456",
        "ANTHROPIC_BEDROCK_BASE_URL": provider.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret-example",
    }


def ask(spec: str, turn: FakeTurn, request: ModelRequest | None = None, **options: Any) -> tuple[Any, Any]:
    """What came back (events, or the error) and the request that was sent."""

    async def whole() -> tuple[Any, Any]:
        async with FakeProvider([turn]) as provider:
            model = open_model(spec, environ=environ(provider), settings=ModelOptions(cache_prompts=False, **options))
            try:
                came: Any = [event async for event in model.stream(request or ModelRequest(messages=HELLO))]
            except Exception as error:  # noqa: BLE001 - the caller looks at it
                came = error
            finally:
                await model.close()
            return came, provider.requests[0]

    return asyncio.run(asyncio.wait_for(whole(), 30))


def blocks(events: list[Any]) -> list[dict[str, Any]]:
    return [event.block for event in events if isinstance(event, BlockEnded)]


def tools_of(spec: str) -> bytes:
    return json.dumps(ANTHROPIC_TOOLS if spec.startswith("bedrock") else OPENAI_TOOLS, separators=(",", ":")).encode()


# What is read.


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "turn",
    [
        FakeTurn(blocks=[TEXT], usage=USAGE),
        FakeTurn(blocks=[TEXT, READ, NOW], usage=USAGE),
        FakeTurn(blocks=[TEXT, READ], usage=USAGE, split_bytes=1),
        FakeTurn(blocks=[TEXT, READ], usage=USAGE, delta_chars=10_000),
        FakeTurn(blocks=[TEXT], usage=USAGE, stop_reason="max_tokens"),
    ],
    ids=["text", "calls", "byte by byte", "long", "cut short"],
)
@pytest.mark.parametrize("is_streaming", [True, False])
def test_an_answer_is_read_streamed_and_whole(spec: str, turn: FakeTurn, is_streaming: bool) -> None:
    events, _ = ask(spec, turn, ModelRequest(messages=HELLO, is_streaming=is_streaming))
    assert blocks(events) == turn.content
    last = events[-1]
    assert isinstance(last, StreamEnded)
    assert (last.stop_reason, last.usage) == (turn.reason, Usage(3, 7, 11))


@pytest.mark.parametrize("spec", SPECS)
def test_a_cut_answer_is_broken_and_a_refusal_has_its_kind(spec: str) -> None:
    cut, _ = ask(spec, FakeTurn(blocks=[TEXT, READ], cut_at=150))
    assert cut.kind == "broken_stream"
    for status, kind in ((401, "auth"), (429, "rate_limit"), (500, "server"), (400, "invalid_request")):
        error, _ = ask(spec, error_turn(status, "x", "no"))
        assert (error.kind, error.status) == (kind, status)
    error, _ = ask(spec, FakeTurn(raw=b"<html>Log in</html>", content_type="text/html"))
    assert error.kind == "invalid_request"


@pytest.mark.parametrize("spec", SPECS)
def test_nonsense_and_depth_are_errors_of_ours(spec: str) -> None:
    for raw in (b"data: [1]\n\n", b'data: {"type":', b"data: " + b'{"a":' * 5_000 + b"\n\n", b"\x00" * 40):
        error, _ = ask(spec, FakeTurn(raw=raw, content_type="text/event-stream"))
        assert error.kind in {"broken_stream", "invalid_request"}


def test_gemini_and_responses_tell_errors_in_the_middle() -> None:
    told = b'data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}\n\n'
    error, _ = ask(SPECS[1], FakeTurn(raw=told, content_type="text/event-stream"))
    assert (error.kind, "busy" in str(error)) == ("overloaded", True)
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oops"}}}
    error, _ = ask(
        SPECS[0], FakeTurn(raw=b"data: %b\n\n" % json.dumps(failed).encode(), content_type="text/event-stream")
    )
    assert error.kind == "server"


def test_bedrock_tells_exceptions_in_the_middle() -> None:
    names = {":message-type": "exception", ":exception-type": "throttlingException"}
    raw = aws_event(b'{"message":"Too many requests"}', names)
    error, _ = ask(SPECS[2], FakeTurn(raw=raw, content_type="application/vnd.amazon.eventstream"))
    assert (error.kind, "Too many requests" in str(error)) == ("rate_limit", True)


def test_a_changed_byte_in_amazons_stream_is_noticed() -> None:
    message = bytearray(aws_event(b'{"bytes":"e30="}', {":event-type": "chunk", ":message-type": "event"}))
    for place in range(len(message)):
        changed = bytearray(message)
        changed[place] ^= 0x5A
        splitter = AwsEventSplitter(max_event_bytes=1_000)
        with pytest.raises(EventTooLarge):
            splitter.feed(bytes(changed))


# What is sent.


@pytest.mark.parametrize("spec", SPECS)
def test_thinking_goes_back_as_the_provider_wants_it_and_not_to_others(spec: str) -> None:
    thinking = FakeTurn(blocks=[THINKING, {**READ, "signature": "c2ln"} if spec.startswith("gemini") else READ])
    events, _ = ask(spec, thinking)
    said = blocks(events)
    assert said[0]["thinking"] == THINKING["thinking"]
    history = [*HELLO, {"role": "assistant", "content": said}, {"role": "user", "content": "on"}]
    for other in SPECS:
        _, sent = ask(other, FakeTurn(blocks=[TEXT]), ModelRequest(messages=history))
        assert ("c2ln" in sent.body.decode()) == (other == spec)


def test_responses_sends_instructions_and_items() -> None:
    request = ModelRequest(
        messages=CONVERSATION,
        system=(SystemBlock("Be kind.", cacheable=True), SystemBlock("Be short.")),
        tools=tools_of(SPECS[0]),
        tool_choice="Read",
        max_output_tokens=50,
        effort="high",
        thinking=True,
    )
    _, sent = ask(SPECS[0], FakeTurn(blocks=[TEXT]), request)
    assert (sent.path, sent.headers["authorization"]) == ("/v1/responses", "Bearer sk-test-123456")
    body = sent.json
    assert body["instructions"] == "Be kind.\n\nBe short."
    assert (body["store"], body["stream"], body["max_output_tokens"]) == (False, True, 50)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["tool_choice"] == {"type": "function", "name": "Read"}
    assert body["tools"][0]["name"] == "Read"
    kinds = [item.get("type") or item["role"] for item in body["input"]]
    call, output = "function_call", "function_call_output"
    assert kinds == ["user", "assistant", call, call, output, output, "user"]
    assert body["input"][4]["output"][1] == {"type": "input_image", "image_url": "data:image/png;base64,aGk="}


def test_gemini_sends_contents_and_declarations() -> None:
    request = ModelRequest(
        messages=CONVERSATION,
        system=(SystemBlock("Be kind."),),
        tools=tools_of(SPECS[1]),
        tool_choice="any",
        max_output_tokens=50,
        stop_sequences=("END",),
        thinking=True,
    )
    _, sent = ask(SPECS[1], FakeTurn(blocks=[TEXT]), request)
    assert sent.path == "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "key-gemini-123456"
    body = sent.json
    assert body["systemInstruction"] == {"parts": [{"text": "Be kind."}]}
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == {"type": "object"}
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    results = body["contents"][2]["parts"]
    assert results[0]["functionResponse"] == {"name": "Read", "response": {"output": "1\tx"}}
    assert results[1]["functionResponse"] == {"name": "Now", "response": {"error": "no clock"}}
    assert results[3] == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    chosen = body["generationConfig"]
    assert chosen == {"maxOutputTokens": 50, "stopSequences": ["END"], "thinkingConfig": {"includeThoughts": True}}


def test_gemini_counts_tokens_at_the_provider() -> None:
    async def whole() -> tuple[int, str, Any]:
        async with FakeProvider() as provider:
            model = open_model(SPECS[1], environ=environ(provider))
            counted = await model.count_tokens(ModelRequest(messages=HELLO))
            await model.close()
            return counted, provider.counts[0].path, provider.counts[0].json

    counted, path, body = asyncio.run(asyncio.wait_for(whole(), 30))
    assert (counted, path) == (42, "/v1beta/models/gemini-3-pro:countTokens")
    assert body["generateContentRequest"]["model"] == "models/gemini-3-pro"


def test_bedrock_sends_the_messages_api_without_what_the_address_says() -> None:
    _, sent = ask(SPECS[2], FakeTurn(blocks=[TEXT]), ModelRequest(messages=CONVERSATION, tools=tools_of(SPECS[2])))
    place = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"
    assert sent.path == place
    assert sent.json["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & set(sent.json)
    assert "strict" not in sent.json["tools"][0]
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")


def test_bedrock_takes_a_bearer_token_instead_of_a_signature() -> None:
    async def whole() -> Mapping[str, str]:
        async with FakeProvider([FakeTurn(blocks=[TEXT])]) as provider:
            given = {**environ(provider), "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key-123"}
            model = open_model(SPECS[2], environ=given)
            _ = [event async for event in model.stream(ModelRequest(messages=HELLO))]
            await model.close()
            return provider.requests[0].headers

    headers = asyncio.run(asyncio.wait_for(whole(), 30))
    assert headers["authorization"] == "Bearer bedrock-key-123"
    assert "x-amz-date" not in headers


def test_bedrock_without_credentials_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)

    async def whole() -> str:
        model = open_model(SPECS[2], environ={"AWS_REGION": "eu-west-1"})
        with pytest.raises(Exception, match="AWS_ACCESS_KEY_ID") as caught:
            _ = [event async for event in model.stream(ModelRequest(messages=HELLO))]
        return str(caught.value)

    assert "holdfast[bedrock]" in asyncio.run(asyncio.wait_for(whole(), 30))


# Prices.


def test_settings_overrule_list_prices_and_windows() -> None:
    settings = {
        "gemini:gemini-9": {"price": {"input": 1, "output": 2, "cacheRead": 0.5}, "contextWindow": 5},
        "ollama": {"price": {"input": 0, "output": 0}},
    }
    keys = {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}
    own = open_model("gemini:gemini-9", environ=keys, settings=settings)
    assert own.context_window == 5
    assert own.cost_usd(Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)) == pytest.approx(1 + 2 + 0.5 + 1)
    assert open_model("ollama:x", environ=keys, settings=settings).cost_usd(Usage(5, 5)) == 0
    assert open_model("gemini:gemini-9", environ=keys).cost_usd(Usage(5, 5)) is None
    assert open_model("openai-responses:gpt-5", environ=keys).cost_usd(Usage(1_000_000)) == pytest.approx(1.25)


def test_a_bedrock_name_has_the_price_of_its_model() -> None:
    model = open_model(SPECS[2], environ={"AWS_REGION": "x"})
    assert model.cost_usd(Usage(1_000_000)) == pytest.approx(3)


# Their own clients as judges.


def test_openais_client_reads_the_same_answer_and_sends_the_same_calls() -> None:
    sdk: Any = pytest.importorskip("openai")
    turn = FakeTurn(blocks=[TEXT, READ], usage=USAGE)

    async def whole() -> tuple[Any, Any]:
        async with (
            FakeProvider([turn]) as provider,
            sdk.AsyncOpenAI(api_key="sk", base_url=provider.openai_url, max_retries=0) as client,
        ):
            async with client.responses.stream(model="m", input="hello") as stream:
                final = await stream.get_final_response()
            return final, provider.requests[0].json

    final, _ = asyncio.run(asyncio.wait_for(whole(), 60))
    events, _ = ask(SPECS[0], turn)
    _, sent = ask(SPECS[0], turn, ModelRequest(messages=CONVERSATION, tools=tools_of(SPECS[0])))
    ours = blocks(events)
    assert final.output_text == ours[0]["text"]
    call = next(item for item in final.output if item.type == "function_call")
    assert (call.call_id, call.name, json.loads(call.arguments)) == (ours[1]["id"], ours[1]["name"], ours[1]["input"])
    assert (final.usage.input_tokens, final.usage.output_tokens) == (14, 7)
    params: Any = pytest.importorskip("openai.types.responses.response_input_param")
    pydantic: Any = pytest.importorskip("pydantic")
    pydantic.TypeAdapter(params.ResponseInputParam).validate_python(sent.json["input"])


def test_googles_client_reads_the_same_answer_and_takes_our_body() -> None:
    genai: Any = pytest.importorskip("google.genai", reason="google-genai is not installed")
    turn = FakeTurn(blocks=[TEXT, READ], usage=USAGE, delta_chars=10_000)

    async def whole() -> Any:
        async with FakeProvider([turn]) as provider:
            options = genai.types.HttpOptions(base_url=provider.url, api_version="v1beta")
            client = genai.Client(api_key="k", http_options=options)
            answer = await client.aio.models.generate_content(model="gemini-3-pro", contents="hello")
            await client.aio.aclose()
            return answer

    answer = asyncio.run(asyncio.wait_for(whole(), 60))
    events, sent = ask(SPECS[1], turn, ModelRequest(messages=CONVERSATION, tools=tools_of(SPECS[1])))
    parts = answer.candidates[0].content.parts
    ours = blocks(events)
    assert parts[0].text == ours[0]["text"]
    assert (parts[1].function_call.name, parts[1].function_call.args) == (ours[1]["name"], ours[1]["input"])
    for content in sent.json["contents"]:
        genai.types.Content.model_validate(content)
    genai.types.Tool.model_validate(sent.json["tools"][0])


def test_amazons_library_signs_and_reads_the_same() -> None:
    auth: Any = pytest.importorskip("botocore.auth", reason="botocore is not installed")
    credentials: Any = pytest.importorskip("botocore.credentials")
    request: Any = pytest.importorskip("botocore.awsrequest")
    stream: Any = pytest.importorskip("botocore.eventstream")
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke"
    keys = AwsKeys("AKID", "secret", "token/with+signs=")
    theirs = request.AWSRequest("POST", url, data=b"{}", headers={})
    signer = auth.SigV4Auth(credentials.Credentials(*keys), "bedrock", "eu-west-1")
    signer.add_auth(theirs)
    stamp = theirs.headers["X-Amz-Date"]
    calendar, time = __import__("calendar"), __import__("time")
    now_s = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    ours = signed_headers(url, b"{}", keys, "eu-west-1", now_s=now_s)
    assert ours["authorization"] == theirs.headers["Authorization"]
    buffer = stream.EventStreamBuffer()
    buffer.add_data(aws_event(b'{"bytes":"e30="}', {":event-type": "chunk", ":message-type": "event"}))
    (message,) = list(buffer)
    assert message.headers[":event-type"] == "chunk"
    assert message.payload == b'{"bytes":"e30="}'

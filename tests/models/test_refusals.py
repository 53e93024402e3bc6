import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from holdfast.models.errors import ModelError, ModelErrorKind
from holdfast.models.refusals import error_from_answer, error_from_event, retry_after_s


def refused(status: int, body: object, **headers: str) -> ModelError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_answer(status, named, data, clean=lambda text: text.replace("sk-secret", "[redacted]"))


def anthropic(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_9"}


def openai(message: str, *, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


CASES: list[tuple[int, object, ModelErrorKind]] = [
    (401, anthropic("authentication_error", "invalid x-api-key"), "auth"),
    (403, anthropic("permission_error", "no"), "auth"),
    (402, anthropic("billing_error", "pay"), "quota"),
    (404, anthropic("not_found_error", "model: claude-none"), "invalid_request"),
    (413, anthropic("request_too_large", "Request exceeds the maximum size"), "invalid_request"),
    (429, anthropic("rate_limit_error", "slow down"), "rate_limit"),
    (500, anthropic("api_error", "oops"), "server"),
    (504, anthropic("timeout_error", "too slow"), "server"),
    (529, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    (503, b"<html>busy</html>", "overloaded"),
    (502, b"", "server"),
    (500, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "context_overflow"),
    (
        400,
        anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 32000"),
        "context_overflow",
    ),
    (400, anthropic("invalid_request_error", "Your credit balance is too low to access the API"), "quota"),
    (400, anthropic("invalid_request_error", "tools.0.name: too long"), "invalid_request"),
    (400, openai("The maximum context length is 8192 tokens", code="context_length_exceeded"), "context_overflow"),
    (429, openai("You exceeded your current quota", code="insufficient_quota"), "quota"),
    (429, openai("Rate limit reached", code="rate_limit_exceeded"), "rate_limit"),
    (401, openai("Incorrect API key provided", code="invalid_api_key"), "auth"),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size"}}, "context_overflow"),
    (500, {"error": {"code": 500, "message": "x", "type": "exceed_context_size_error"}}, "context_overflow"),
    (404, {"error": "model 'none' not found, try pulling it first"}, "invalid_request"),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "invalid_request"),
    (408, b"", "timeout"),
    (307, b"", "invalid_request"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
def test_a_refusal_is_sorted_by_what_helps(status: int, body: object, kind: ModelErrorKind) -> None:
    error = refused(status, body)
    assert (error.kind, error.status) == (kind, status)


def test_the_request_is_named_by_the_header_or_by_the_body() -> None:
    assert refused(500, anthropic("api_error", "x")).request_id == "req_9"
    assert refused(500, anthropic("api_error", "x"), request_id="req_1").request_id == "req_1"
    assert refused(500, b"", x_request_id="abc").request_id == "abc"


def test_a_refusal_never_tells_the_key_and_is_short() -> None:
    error = refused(401, openai("Incorrect API key provided: sk-secret. " + "blah " * 10_000))
    assert "sk-secret" not in str(error)
    assert len(str(error)) < 800


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 01 Jan 999999999999 00:00:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_wait_until_a_date_is_the_time_until_then() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    seconds = retry_after_s({"retry-after": then})
    assert seconds is not None
    assert 60 < seconds <= 90


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (anthropic("overloaded_error", "Overloaded"), "overloaded"),
        (anthropic("api_error", "Internal"), "server"),
        (anthropic("rate_limit_error", "slow"), "rate_limit"),
        (anthropic("invalid_request_error", "prompt is too long"), "context_overflow"),
        (anthropic("some_new_error", "?"), "server"),
        ({"error": {"code": 429, "message": "slow"}}, "rate_limit"),
        ({"error": "out of memory"}, "server"),
    ],
)
def test_an_error_in_a_stream_is_sorted_too(data: object, kind: ModelErrorKind) -> None:
    assert error_from_event(json.dumps(data).encode(), clean=str).kind == kind


def test_a_body_that_is_nested_without_end_is_still_a_refusal() -> None:
    assert refused(400, b"[" * 16_000).kind == "invalid_request"
    assert error_from_event(b'{"error":' + b"[" * 16_000, clean=str).kind == "server"


def test_an_error_in_a_stream_says_what_to_do_about_the_kind_that_its_words_tell() -> None:
    data = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
    error = error_from_event(json.dumps(data).encode(), clean=str)
    assert error.kind == "quota"
    assert "needs credit" in str(error)

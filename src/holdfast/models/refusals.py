"""What a provider's refusal means: its status, headers and body as one `ModelError`."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from holdfast.models.errors import ModelError, ModelErrorKind

__all__ = ["error_from_answer", "error_from_event", "retry_after_s"]

_MAX_TEXT_CHARS = 600
_BY_STATUS: dict[int, ModelErrorKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "timeout",
    425: "overloaded",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
_BY_TYPE: dict[str, ModelErrorKind] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "billing_error": "quota",
    "insufficient_quota": "quota",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "timeout",
    "api_error": "server",
    "server_error": "server",
    "invalid_request_error": "invalid_request",
    "not_found_error": "invalid_request",
    "request_too_large": "invalid_request",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
}
# Providers have no common code for this; these are parts of their sentences.
_OVERFLOW_TEXTS = (
    "prompt is too long",
    "exceed context limit",
    "context_length_exceeded",
    "maximum context length",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "exceed the context window",
    "exceeds the model's context",
    "exceeds maximum context",
    "context length exceeded",
    "context window exceeded",
    "input is too long for",
    "longer than the context length",
    "reduce the length of the messages",
    "too many tokens in the prompt",
)
_QUOTA_TEXTS = (
    "credit balance is too low",
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient credits",
)


def error_from_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, clean: Callable[[str], str]
) -> ModelError:
    """The error for an answer that is no success.

    Args:
        status: The HTTP status.
        headers: Names in lower case.
        body: The first part of the body.
        clean: Takes secrets out of a text.
    """
    kinds, text, named_id = _told(body)
    if 300 <= status < 400 and (place := headers.get("location")):
        text = f"it sends us on to {place}, which no request follows. Check the base URL and the proxy."
    kind = _refined(_of_status(status), kinds, text)
    request_id = headers.get("request-id") or headers.get("x-request-id") or named_id
    return ModelError(
        f"The provider answered {status}: {clean(_short(text)) or 'without a reason'}{_advice(kind)}",
        kind,
        status=status,
        retry_after_s=retry_after_s(headers),
        request_id=request_id,
    )


def error_from_event(data: bytes, *, clean: Callable[[str], str], request_id: str | None = None) -> ModelError:
    """The error that a provider sends in the middle of a stream."""
    kinds, text, named_id = _told(data)
    kind: ModelErrorKind | None = next((_BY_TYPE[name] for name in kinds if name in _BY_TYPE), None)
    if kind is None:
        status = next((int(name) for name in kinds if name.isdigit() and len(name) == 3), 500)
        kind = _of_status(status)
    kind = _refined(kind, kinds, text)
    return ModelError(
        f"The provider broke off its answer: {clean(_short(text)) or 'without a reason'}{_advice(kind)}",
        kind,
        request_id=named_id or request_id,
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the provider asks us to wait: milliseconds, seconds or a date; None where it does not say."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    given = headers.get("retry-after", "").strip()
    seconds = _number(given)
    if seconds is not None or not given:
        return seconds
    from datetime import UTC, datetime  # noqa: PLC0415 - only for the rare date form
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to load

    try:
        when = parsedate_to_datetime(given)
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _of_status(status: int) -> ModelErrorKind:
    return _BY_STATUS.get(status) or ("server" if status >= 500 else "invalid_request")


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e9 else None


def _refined(kind: ModelErrorKind, kinds: tuple[str, ...], text: str) -> ModelErrorKind:
    """What the words say beyond the status: too long, no money, or overloaded behind another number."""
    lower = text.lower()
    if kind in {"invalid_request", "server"}:
        if any(part in lower for part in _OVERFLOW_TEXTS):
            return "context_overflow"
        named = next((_BY_TYPE[name] for name in kinds if name in _BY_TYPE), None)
        if named == "context_overflow" or named == "overloaded" or named == "quota":  # noqa: PLR1714 - keeps the type
            return named
    if kind == "invalid_request" and "api key not valid" in lower:
        return "auth"
    if kind in {"invalid_request", "rate_limit", "auth"} and (
        "insufficient_quota" in kinds or "billing_error" in kinds or any(part in lower for part in _QUOTA_TEXTS)
    ):
        return "quota"
    return kind


def _told(body: bytes) -> tuple[tuple[str, ...], str, str | None]:
    """The names, the sentence and the request id in an error body, whatever form the server gives it."""
    try:
        whole: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return (), body.decode("utf-8", "replace").strip(), None
    if not isinstance(whole, dict):
        return (), str(whole), None
    outer = cast("dict[str, Any]", whole)
    inner: Any = outer.get("error", outer)
    request_id = outer.get("request_id")
    named_id = request_id if isinstance(request_id, str) else None
    if not isinstance(inner, dict):
        return (), str(inner), named_id
    told = cast("dict[str, Any]", inner)
    kinds = tuple(str(told[key]) for key in ("code", "type") if told.get(key))
    text = told.get("message") or told.get("detail") or told.get("error") or ""
    return kinds, text if isinstance(text, str) else str(text), named_id


def _short(text: str) -> str:
    flat = " ".join(text[: _MAX_TEXT_CHARS * 2].split())
    return flat if len(flat) <= _MAX_TEXT_CHARS else flat[:_MAX_TEXT_CHARS] + "…"


def _advice(kind: ModelErrorKind) -> str:
    if kind == "auth":
        return ". Check the key and what it may use."
    if kind == "quota":
        return ". The account needs credit."
    return ""

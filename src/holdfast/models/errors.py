"""What can go wrong between us and a provider, sorted by what to do next."""

from typing import Literal

from holdfast.contract.errors import HoldfastError

__all__ = ["ModelError", "ModelErrorKind"]

ModelErrorKind = Literal[
    "connection",  # refused, reset, cut, DNS
    "timeout",
    "rate_limit",  # 429
    "overloaded",  # 529, 503
    "server",  # any other 5xx
    "broken_stream",  # it began, then the connection was cut or the bytes made no sense
    "context_overflow",  # the conversation is too long for the model
    "invalid_request",  # 400, 404, 413, 422, or whoever answered is no model
    "auth",  # 401, 403, no key
    "quota",  # no money left
]
_RETRYABLE = frozenset({"connection", "timeout", "rate_limit", "overloaded", "server", "broken_stream"})


class ModelError(HoldfastError):
    """A request to a model failed. `kind` says what helps."""

    def __init__(
        self,
        message: str,
        kind: ModelErrorKind,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        """Keep what the provider told."""
        super().__init__(message)
        self.kind: ModelErrorKind = kind
        self.status = status
        self.retry_after_s = retry_after_s
        self.request_id = request_id

    @property
    def is_retryable(self) -> bool:
        """The same request may work a little later."""
        return self.kind in _RETRYABLE

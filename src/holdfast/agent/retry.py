"""When a failed request is sent again, and how long to wait before."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from holdfast.models import ModelError

__all__ = ["Retries", "RetryPolicy"]


_INTERNAL = 500
"""An error inside the provider. Gateways in front of it (502, 504) tell of trouble that passes."""


class RetryPolicy(NamedTuple):
    """Waits double from `base_s` up to `cap_s`; a provider that says how long to wait is believed, within limits."""

    attempts: int = 8
    """So many times one request is sent in all."""
    unreached_attempts: int = 5
    """So many when nothing was reached yet: then the address or the network is wrong, and waiting seldom helps."""
    base_s: float = 1.0
    cap_s: float = 32.0
    retry_after_cap_s: float = 120.0
    """No longer than this, whatever the provider asks for."""
    total_s: float = 600.0
    """All waits for one request together stay below this."""
    jitter: float = 0.25
    """Up to this share longer, so that many clients do not come back at the same moment."""
    fallback_after: int = 3
    """So many overloads in a row, and the fallback model is asked."""
    server_attempts: int = 3
    """So many server errors in a row, and it is taken as broken: the fallback model is asked, or the run ends."""
    broken_streams: int = 2
    """So many broken streams in a row, and whole answers are asked for instead."""
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Retries:
    """The attempts at one request."""

    __slots__ = ("_policy", "_waited_s", "_was_reached", "attempt", "overloads", "server_errors")

    def __init__(self, policy: RetryPolicy, *, was_reached: bool = True) -> None:
        """`was_reached` says that the provider has answered something before."""
        self._policy = policy
        self._was_reached = was_reached
        self._waited_s = 0.0
        self.attempt = 1
        """Which one is under way, from 1."""
        self.overloads = 0
        """How many in a row failed because the provider has too much to do."""
        self.server_errors = 0
        """How many in a row failed by an error inside the provider."""

    def failed(self, error: ModelError) -> float | None:
        """The attempt failed: how long to wait before the next, or None when there is none."""
        self.overloads = self.overloads + 1 if error.kind == "overloaded" else 0
        self.server_errors = self.server_errors + 1 if error.kind == "server" and error.status == _INTERNAL else 0
        self._was_reached = self._was_reached or error.kind != "connection"
        attempts = self._policy.attempts if self._was_reached else self._policy.unreached_attempts
        delay_s = self._delay_s(error.retry_after_s)
        if not error.is_retryable or self.attempt >= min(attempts, self._policy.attempts):
            return None
        if self.server_errors >= self._policy.server_attempts:
            return None
        if self._waited_s + delay_s > self._policy.total_s:
            return None
        self._waited_s += delay_s
        self.attempt += 1
        return delay_s

    @property
    def wants_another(self) -> bool:
        """This model has failed often enough that another should be asked."""
        policy = self._policy
        return self.overloads >= policy.fallback_after or self.server_errors >= policy.server_attempts

    def begin_anew(self) -> None:
        """Another model is asked now: its attempts count from one."""
        self.attempt = 1
        self.overloads = self.server_errors = 0

    def _delay_s(self, retry_after_s: float | None) -> float:
        policy = self._policy
        if retry_after_s is not None and retry_after_s >= 0:
            return min(retry_after_s, policy.retry_after_cap_s)
        # A huge attempt number must not become a huge float before the cap applies.
        doubled_s = policy.base_s * 2 ** min(self.attempt - 1, 30)
        return min(doubled_s, policy.cap_s) * (1 + policy.jitter * policy.random())

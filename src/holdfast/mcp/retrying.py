"""When a server is connected to again that failed or was lost: soon, then with growing pauses, and not for ever."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from holdfast.mcp.wire import McpError

__all__ = ["Retrying"]

_log = logging.getLogger(__name__)
_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0)
_LASTS_S = 60.0
"""A connection that is lost sooner counts as one that failed, so that a server which dies at once is not in a loop."""


class Retrying:
    """Tries in the background, one attempt at a time."""

    def __init__(
        self,
        ensure: Callable[[], Awaitable[object]],
        spawn: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"],
        *,
        is_useless: Callable[[], bool],
    ) -> None:
        """Take how to connect, and who knows that another attempt would be the same."""
        self._ensure = ensure
        self._spawn = spawn
        self._is_useless = is_useless
        self._failures = 0
        """In a row: connections that could not be made, or did not last."""
        self._connected_at = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def gives_up(self) -> bool:
        """Only a call tries again."""
        return self._failures > len(_BACKOFF_S)

    @property
    def is_first_failure(self) -> bool:
        """The connection that just failed was the first one tried, so nobody has heard of it."""
        return self._failures == 1 and not self._connected_at

    def start(self) -> None:
        """Connect in the background."""
        if self._task is None or self._task.done():
            self._task = self._spawn(self._try())

    def connected(self) -> None:
        """There is a connection."""
        self._connected_at = time.monotonic()

    def failed(self) -> None:
        """One could not be made."""
        self._failures += 1

    def lost(self) -> None:
        """It is gone."""
        self._failures = 0 if time.monotonic() - self._connected_at > _LASTS_S else self._failures + 1

    async def _try(self) -> None:
        while not self.gives_up:
            await asyncio.sleep(0.0 if not self._failures else _BACKOFF_S[self._failures - 1])
            try:
                await self._ensure()
            except McpError as error:
                _log.info("%s", error)
                if self._is_useless():
                    return
            else:
                return

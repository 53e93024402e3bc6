"""The prompts of a host that wait for their turn."""

import asyncio
from collections import deque
from collections.abc import Callable

from holdfast.cli.stream_input import UserPrompt

__all__ = ["NEWS", "WaitingPrompts"]

NEWS = UserPrompt("", line={"origin": {"kind": "task-notification"}})
"""Nobody said anything; something has happened that the model should hear."""


class WaitingPrompts:
    """A queue whose prompts can be taken back by their uuid."""

    def __init__(self) -> None:
        self._prompts: deque[UserPrompt] = deque()
        self._news = asyncio.Event()
        self._is_closed = False
        self._is_woken = False
        self.holds: Callable[[], bool] = lambda: False
        """Whether something may still happen that is worth waiting for, although no prompt will follow."""

    def put(self, prompt: UserPrompt) -> None:
        """Let a prompt wait."""
        self._prompts.append(prompt)
        self._news.set()

    def close(self) -> None:
        """No prompt will follow; those that wait are still handed out."""
        self._is_closed = True
        self._news.set()

    def wake(self) -> None:
        """Something has happened beside the prompts."""
        self._is_woken = True
        self._news.set()

    async def next(self) -> UserPrompt | None:
        """Wait for the next one, or for `NEWS`; None when there will be none."""
        while not self._prompts:
            if self._is_woken:
                self._is_woken = False
                return NEWS
            if self._is_closed and not self.holds():
                return None
            self._news.clear()
            await self._news.wait()
        return self._prompts.popleft()

    @property
    def is_any(self) -> bool:
        """A prompt waits for its turn."""
        return bool(self._prompts)

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._prompts)

    @property
    def is_closed(self) -> bool:
        """No prompt will follow."""
        return self._is_closed

    @property
    def uuids(self) -> list[str]:
        """Those that wait and can be named."""
        return [str(prompt.line["uuid"]) for prompt in self._prompts if prompt.line.get("uuid")]

    def drop(self, uuid: str) -> bool:
        """Take a prompt back; false when it does not wait (any more)."""
        kept = [prompt for prompt in self._prompts if prompt.line.get("uuid") != uuid]
        is_found = len(kept) < len(self._prompts)
        self._prompts = deque(kept)
        return is_found

    def drop_all(self) -> list[str]:
        """Take all back; the uuids of those that have one."""
        found = self.uuids
        self._prompts.clear()
        return found

"""Work beside the runs of a model that Esc ends, such as shortening the conversation or a look at the machine."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.contract import HoldfastError

__all__ = ["Stoppable", "StoppedError"]

T = TypeVar("T")


class StoppedError(HoldfastError):
    """The person ended what was under way."""


class Stoppable:
    """What is under way now."""

    def __init__(self) -> None:
        self._works: set[asyncio.Future[Any]] = set()

    @property
    def is_on(self) -> bool:
        """Something is under way."""
        return bool(self._works)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work.

        Raises:
            StoppedError: Somebody called `stop` before it was done.
        """
        task = asyncio.ensure_future(work)
        self._works.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._works.discard(task)
            if not task.done():  # we are ended ourselves
                task.cancel()
                await asyncio.wait({task})
        if task.cancelled():
            raise StoppedError("stopped; nothing has changed")
        return task.result()

    def stop(self) -> bool:
        """End it; false where nothing is under way."""
        found = [work for work in self._works if work.cancel()]
        return bool(found)

"""What of an agent lives and must be ended, whoever forgets to."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.contract import UsageError
from holdfast.events import Event

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["AgentCore"]

_BUSY = (
    "this agent is already answering a prompt; use agent.copy() for runs side by side, `submit` to add to this run, or "
    "`interrupt` to end it"
)


class AgentCore:
    """What lives and must be ended; it does not know its agent, so that a forgotten agent can be collected."""

    def __init__(self) -> None:
        self.running: RunningAgent | None = None
        self.runner: asyncio.Runner | None = None
        self.events: AsyncGenerator[Event] | None = None
        self.is_closed = False
        self._is_starting = False

    @contextmanager
    def starting(self) -> Generator[None]:
        """Keep a second run away while the first one opens the session.

        Raises:
            UsageError: Another run is opening it.
        """
        if self._is_starting:
            raise UsageError(_BUSY)
        self._is_starting = True
        try:
            yield
        finally:
            self._is_starting = False

    async def begin_run(self) -> None:
        """End a run that somebody stopped reading; one that is being read is in the way."""
        events, self.events = self.events, None
        if events is None:
            return
        try:
            await events.aclose()
        except RuntimeError as error:  # somebody waits for its next event
            self.events = events
            raise UsageError(_BUSY) from error

    async def close(self) -> None:
        """End everything."""
        self.is_closed = True
        running, self.running = self.running, None
        if running is not None:
            await running.close()

    def close_sync(self) -> None:
        """The same for code without asyncio."""
        runner, self.runner = self.runner, None
        if runner is not None:
            try:
                runner.run(self.close())
            finally:
                runner.close()

    def close_forgotten(self) -> None:
        """The same from wherever an agent is collected, which may be inside of another event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.close_sync()
        else:
            closing = threading.Thread(target=self.close_sync, name="holdfast-close")
            closing.start()
            closing.join()

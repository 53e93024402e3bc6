"""What goes on beside the first request: the session begins and remembers the prompt, and the rest is loaded.

A crash while the model thinks loses nothing: the prompt waits in the journal, like one that was said between two turns,
and the message that tells it says so. Loading is in nobody's way: it gives the event loop its turn at once, and an exit
does not wait for it.
"""

import asyncio
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from holdfast.app.begin import Beginning, SessionChoice, begin_session
from holdfast.contract.errors import HoldfastError

__all__ = ["Early"]

_GIVE_WAY_S = 0.0005


class Early:
    """Begins at once, and ends the session with `close`, unless it was handed over."""

    def __init__(self, project: str, choice: SessionChoice, prompt: str, modules: Sequence[str]) -> None:
        """Begin.

        Args:
            project: The working directory.
            choice: Which session.
            prompt: What the user said.
            modules: What is loaded then, in this order.
        """
        self.prompt = prompt
        self._loop = asyncio.get_running_loop()
        self.loaded: asyncio.Future[None] = self._loop.create_future()
        """Done when all of it is there; what cannot be loaded fails again where it is used."""
        self._modules = modules
        self._is_taken = False
        self._interval_s = sys.getswitchinterval()
        sys.setswitchinterval(_GIVE_WAY_S)
        self._begun = asyncio.ensure_future(asyncio.to_thread(self._begin, project, choice))

    async def beginning(self) -> Beginning:
        """The session; its journal knows the prompt.

        Raises:
            SessionError: The id that was chosen is taken.
        """
        return await asyncio.shield(self._begun)

    def hand_over(self) -> None:
        """Somebody else ends the session."""
        self._is_taken = True

    async def close(self) -> None:
        """End the session, unless that is somebody else's work."""
        if not self._is_taken:
            self._is_taken = True
            with suppress(HoldfastError):  # whoever asked for it was told
                beginning = await self.beginning()
                if beginning.session is not None:
                    beginning.session.close()

    def _begin(self, project: str, choice: SessionChoice) -> Beginning:
        try:
            beginning = begin_session(project, choice)
            said = {"content": self.prompt, "source": "user"}
            if beginning.session is not None:
                from holdfast.session.records import PROMPT_QUEUED  # noqa: PLC0415 - loaded with the session

                beginning.session.journal.record_note(PROMPT_QUEUED, said)
                from holdfast.session.leftovers import end_leftovers  # noqa: PLC0415 - the same

                end_leftovers()
            return beginning._replace(waiting=(said,))
        finally:
            threading.Thread(target=self._load, name="holdfast-loading", daemon=True).start()

    def _load(self) -> None:
        try:
            for name in self._modules:
                import_module(name)
        finally:
            sys.setswitchinterval(self._interval_s)
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        if not self.loaded.done():
            self.loaded.set_result(None)

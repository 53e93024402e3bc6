"""What goes wrong in a key, a timer or in drawing: it is told once, and the session goes on or ends with a word."""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from traceback import FrameSummary

__all__ = ["Bugs", "Teller", "telling_of_bugs"]

_AT_ONCE_S = 3.0
"""What follows an error within this time comes from the same cause."""
_TOO_MANY = 12
_KEPT_KINDS = 100


class Teller(Protocol):
    """Who tells the person."""

    def say(self, style: str, text: str) -> None:
        """Show a line."""
        ...


class Bugs:
    """Tells of each kind once. When they do not end, nobody can work here any more: the session is left."""

    def __init__(self, teller: Teller, leave: Callable[[], None]) -> None:
        self._teller = teller
        self._leave = leave
        self._known: set[str] = set()
        self._last_s = 0.0
        self._row = 0
        self.farewell = ""
        """Why it was left; empty: it was not."""

    def take(self, context: dict[str, Any]) -> None:
        """As handlers of loops take it."""
        error = context.get("exception")
        what = str(error or context.get("message"))
        now = time.monotonic()
        self._row = self._row + 1 if now - self._last_s < _AT_ONCE_S else 1
        self._last_s = now
        if (kind := _kind(error, what)) not in self._known and len(self._known) < _KEPT_KINDS:
            self._known.add(kind)
            logging.getLogger(__name__).error("in the terminal: %s", context.get("message"), exc_info=error)
            self._teller.say("bad", f"an error in Holdfast: {what}; the log has more, and the session goes on")
        if self._row == _TOO_MANY:
            self.farewell = f"the terminal cannot be drawn any more: an error in Holdfast: {what}; the log has more"
            self._leave()


def _kind(error: object, what: str) -> str:
    if not isinstance(error, BaseException) or error.__traceback__ is None:
        return what
    place: FrameSummary = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} {place.filename}:{place.lineno}"


@contextmanager
def telling_of_bugs(teller: Teller, leave: Callable[[], None]) -> Generator[Bugs]:
    """Nobody has to press a key because of a bug, as the library would want it."""
    loop = asyncio.get_running_loop()
    before, bugs = loop.get_exception_handler(), Bugs(teller, leave)
    loop.set_exception_handler(lambda _loop, context: bugs.take(context))
    try:
        yield bugs
    finally:
        loop.set_exception_handler(before)

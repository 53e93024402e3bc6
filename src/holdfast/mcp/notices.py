"""What a person is told of one server: whatever the server does, there is never so much of it that the rest drowns."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

__all__ = ["Notices"]

_log = logging.getLogger(__name__)
_MOST = 12
_SPAN_S = 60.0
_NAMED = 5


class Notices:
    """The notices of one server: some in a minute, and of many things of one kind only the first by name."""

    def __init__(self, tell: Callable[[str], None], label: str, now: Callable[[], float] = time.monotonic) -> None:
        """Take who is told, the server, and a clock."""
        self._tell = tell
        self._label = label
        self._now = now
        self._told: deque[float] = deque(maxlen=_MOST)
        self._is_quiet = False

    def __call__(self, text: str) -> None:
        """Tell it, or put it into the log alone."""
        now = self._now()
        if len(self._told) < _MOST or now - self._told[0] > _SPAN_S:
            self._told.append(now)
            self._is_quiet = False
            self._tell(text)
            return
        _log.info("not shown: %s", text)
        if not self._is_quiet:
            self._is_quiet = True
            self._tell(f"The MCP server {self._label} gives cause for more notices than are shown; the log has them.")

    def several(self, texts: Iterable[str], count: int, what: str) -> None:
        """The first few of `count` texts, and how many more there are."""
        for text in islice(texts, _NAMED):
            self(text)
        if count > _NAMED:
            self(f"So are {count - _NAMED:,} more {what} of the MCP server {self._label}.")

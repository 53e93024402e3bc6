"""Whether the terminal is light or dark: it is asked for its background, and the answer is kept out of the keys."""

import os
import re
import select
import time
from collections.abc import Callable, Mapping

__all__ = ["ASK", "BackgroundReply", "may_be_asked", "shade"]

ASK = "\x1b]11;?\x1b\\"
_REPLY = re.compile(r"\x1b\]11;([^\x07\x1b]{0,100})(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,100}\x1b?)?)?)?\Z")
_COLOUR = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})", re.IGNORECASE)
_SOON_S = 3.0
"""So long the beginning of an answer is not taken for a key."""
_LAST_WAIT_S = 0.2


def may_be_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this terminal knows such questions, and has not said it already."""
    return not environ.get("COLORFGBG") and not environ.get("TERM", "").startswith(("linux", "cons", "vt"))


def shade(colour: str) -> str:
    """`light` or `dark`, for a colour as terminals write it; empty where it is not written so."""
    found = _COLOUR.match(colour)
    if found is None:
        return ""
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "dark"


class BackgroundReply:
    """Stands between what is read and the keys that it means."""

    def __init__(self, feed: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self._feed = feed
        self._tell = tell
        self._held = ""
        self._asked_s: float | None = None

    def asked(self) -> None:
        """The terminal was asked now."""
        self._asked_s = time.monotonic()

    def feed(self, data: str) -> None:
        """What was read: the answer goes to who wants to know, everything else on."""
        data, self._held = self._held + data, ""
        if self._asked_s is not None and "\x1b]" in data:
            data = self._without_reply(data)
        if data:
            self._feed(data)

    def _without_reply(self, data: str) -> str:
        if found := _REPLY.search(data):
            self._asked_s = None
            self._tell(shade(found[1]))
            return data[: found.start()] + data[found.end() :]
        begun = _BEGUN.search(data)
        if begun and (begun[0].startswith("\x1b]11;") or self._is_soon):
            self._held = begun[0]
            return data[: begun.start()]
        return data

    @property
    def _is_soon(self) -> bool:
        return self._asked_s is not None and time.monotonic() - self._asked_s < _SOON_S

    def drop_late(self, descriptor: int) -> None:
        """At the end: an answer that is still on its way is not left to the shell, which would take it as typed."""
        if not self._is_soon:
            return
        try:
            if select.select([descriptor], [], [], _LAST_WAIT_S)[0]:
                os.read(descriptor, 4_096)
        except OSError:
            return

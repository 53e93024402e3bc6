"""What was shown short and can be opened in full: outputs of calls, and thoughts."""

import os
from collections import deque
from typing import NamedTuple

__all__ = ["Kept", "KeptTexts"]

_MOST = 200
_MOST_CHARS = 4_000_000
"""Of all that is kept here; what went to disk is not counted."""
_MOST_READ_BYTES = 8 << 20


class Kept(NamedTuple):
    """One of them."""

    title: str
    """Safe to show."""
    text: str
    """As it came, not made safe."""
    path: str | None = None
    """Where all of it is, when it was too long to keep."""

    def whole(self) -> str:
        """All of it, from disk where it went there; not more than a person would page through."""
        if self.path is None:
            return self.text
        try:
            size = os.path.getsize(self.path)
            with open(self.path, "rb") as file:
                raw = file.read(_MOST_READ_BYTES)
        except OSError as error:
            return f"{self.path} cannot be read any more ({error.strerror}); this is what was kept:\n{self.text}"
        text = raw.decode("utf-8", "replace")
        if size > _MOST_READ_BYTES:
            text += f"\n… the first {_MOST_READ_BYTES:,} of {size:,} bytes; all of it is in {self.path}"
        return text


class KeptTexts:
    """The last ones, within a bound."""

    def __init__(self) -> None:
        self._items: deque[Kept] = deque()
        self._chars = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, kept: Kept) -> None:
        """Keep this; the oldest go when there is too much."""
        if len(kept.text) > _MOST_CHARS // 4:
            kept = kept._replace(text=kept.text[: _MOST_CHARS // 4])
        self._items.append(kept)
        self._chars += len(kept.text)
        while len(self._items) > _MOST or self._chars > _MOST_CHARS:
            self._chars -= len(self._items.popleft().text)

    def all(self) -> list[Kept]:
        """The oldest first."""
        return list(self._items)

"""Pages that were just fetched: for 15 minutes, bounded in bytes, by the address that was asked for."""

import sys
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

__all__ = ["KEPT_S", "Page", "PageCache"]

KEPT_S = 15 * 60.0
_MAX_BYTES = 50 * 1024 * 1024


class Page(NamedTuple):
    """A page as text."""

    url: str
    status: int
    reason: str
    media_type: str
    size_bytes: int
    """As it came, decoded."""
    text: str
    is_cut: bool = False
    title: str = ""
    """As the page calls itself, for people."""


class PageCache:
    """Forgets by age, and the oldest first when there is too much."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES, clock: Callable[[], float] = monotonic) -> None:
        self._pages: OrderedDict[str, tuple[float, Page]] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._clock = clock

    def get(self, url: str) -> Page | None:
        """The page, if it was fetched within the last 15 minutes."""
        self._forget_old()
        found = self._pages.get(url)
        return None if found is None else found[1]

    def put(self, url: str, page: Page) -> None:
        """Remember a page; one that fills more than a quarter is not kept."""
        if _bytes(page) > self._max_bytes // 4:
            return
        self.drop(url)
        self._pages[url] = (self._clock(), page)
        self._bytes += _bytes(page)
        while self._bytes > self._max_bytes:
            self.drop(next(iter(self._pages)))

    def drop(self, url: str) -> None:
        """Forget a page."""
        found = self._pages.pop(url, None)
        if found is not None:
            self._bytes -= _bytes(found[1])

    def _forget_old(self) -> None:
        oldest = self._clock() - KEPT_S
        while self._pages:
            url, (at, _) = next(iter(self._pages.items()))
            if at > oldest:
                return
            self.drop(url)


def _bytes(page: Page) -> int:
    """What the text takes in memory, which for some characters is four times their number."""
    return sys.getsizeof(page.text)

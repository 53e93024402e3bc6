"""Pages that may take far more memory or time than their size says: those are taken apart in a process of their own.

A tag costs some hundred bytes. Each line in a list is written again at every level around it, and of quotations the
text of every level is kept meanwhile. A row of a table gets as many cells as the widest one. What is counted here
bounds all of that without reading the page twice.
"""

import os
from itertools import islice
from re import finditer

from holdfast.host.parsing import ParseError

__all__ = ["beginning_of", "is_heavy", "page_text"]

_CHARS = 1024 * 1024
_TAGS = 50_000
_SPANS = 200
_LEVELS = ("<ul", "<ol", "<menu", "<dir")
_MAX_WRITTEN = 10_000_000
"""Beginnings of lines that the levels of a page could write at most; one has two to four characters."""
_MAX_CELLS = 4_000_000
_MOST_CHARS = 2 * 1024 * 1024
_MOST_TAGS = 100_000
_MOST_SHOWN = 8 * 1024 * 1024
_MEMORY_BYTES = 112 * 1024 * 1024


def is_heavy(page: str) -> bool:
    """Whether the page could take more than a few dozen megabytes, or a second."""
    tags = page.count("<")
    if len(page) > _CHARS or tags > _TAGS:
        return True
    lowered = page.lower()
    levels, quotations = sum(map(lowered.count, _LEVELS)), lowered.count("<blockquote")
    written = (tags + page.count("\n")) * (levels + quotations**2) + quotations * len(page) // 3
    cells = (lowered.count("<td") + lowered.count("<th")) * lowered.count("<tr")
    spans = lowered.count("colspan") + lowered.count("rowspan")
    return written > _MAX_WRITTEN or cells > _MAX_CELLS or spans > _SPANS


def beginning_of(page: str) -> tuple[str, bool]:
    """As much of a page as is read, and whether that is not all of it."""
    marks = islice(finditer("<", page), _MOST_TAGS, None)
    end = next((mark.start() for mark in marks), len(page))
    end = min(end, _MOST_CHARS)
    return page[:end], end < len(page)


def page_text(fd: int, request: dict[str, str]) -> dict[str, str | bool]:
    """A page as markdown, inside the process of its own; `host.bounded` calls it by name."""
    import resource  # noqa: PLC0415 - that process exists only where this does

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    from html_to_markdown.exceptions import ConversionError  # noqa: PLC0415 - within the limit

    from holdfast.tools.web._page import to_markdown  # noqa: PLC0415 - the same

    with os.fdopen(fd, "rb", closefd=False) as file:
        page, is_cut = beginning_of(file.read().decode())
    try:
        shown = to_markdown(page, request["url"])
    except ConversionError as error:
        raise ParseError(f"the page cannot be read: {error}") from error
    return {"text": shown[:_MOST_SHOWN], "is_cut": is_cut or len(shown) > _MOST_SHOWN}

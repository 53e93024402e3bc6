"""The whole output of the last calls, and the thoughts between them."""

from functools import cache

from holdfast.tui.panels.pages import Page, TextPage
from holdfast.tui.show.diffs import diff_lines, is_diff
from holdfast.tui.show.kept import Kept
from holdfast.tui.show.words import Line, shown_lines

__all__ = ["output_page"]


def output_page(items: list[Kept], place: int | None = None) -> Page:
    """One of them in full, the last one first; its neighbours are a key away."""
    here = len(items) - 1 if place is None else place
    item = items[here]

    @cache
    def lines() -> list[Line]:
        text = item.whole()
        return diff_lines(text) if is_diff(text) else [[("", line)] for line in shown_lines(text)]

    def neighbour(step: int) -> Page | None:
        return output_page(items, here + step) if 0 <= here + step < len(items) else None

    where = f"({here + 1} of {len(items)}) "  # in front, where a narrow screen does not cut it off
    return TextPage(f"{where}{item.title}", lines, neighbour=neighbour if len(items) > 1 else None)

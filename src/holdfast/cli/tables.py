"""Rows, times and sizes for people."""

import time
from collections.abc import Iterable, Sequence
from itertools import islice

import click

__all__ = ["echo_all", "relative_time", "size", "table"]

_LINES_AT_ONCE = 500


def relative_time(moment: float, now: float) -> str:
    """How long ago, in words; beyond a week the local date."""
    passed = now - moment
    for limit, unit_s, unit in ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h"), (604_800, 86_400, "d")):
        if passed < limit:
            return f"{max(0, int(passed // unit_s))} {unit} ago"
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def size(count: int) -> str:
    """Bytes in the unit that reads best."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in columns, the last as wide as it is."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    filled = ([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in rows)
    echo_all("  ".join([*cells, row[-1]]).rstrip() for cells, row in zip(filled, rows, strict=True))


def echo_all(lines: Iterable[str]) -> None:
    """Print many lines with few writes, each of which is a system call."""
    left = iter(lines)
    while batch := list(islice(left, _LINES_AT_ONCE)):
        click.echo("\n".join(batch))

"""Items of a list of work as people see them: a mark for how far each is."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from holdfast.contract.render import Line, Role

__all__ = ["item_line", "list_lines"]

_MARKS: Final[Mapping[str, tuple[Role, str]]] = {
    "pending": ("", "☐"),
    "in_progress": ("accent", "▶"),
    "completed": ("ok", "✔"),
    "deleted": ("dim", "✗"),
}
_SHOWN: Final = 12


def item_line(status: str, words: str, more: str = "") -> Line:
    """One item."""
    role, mark = _MARKS.get(status, ("", "☐"))
    line: list[tuple[Role, str]] = [(role, f"{mark} {words}")]
    return [*line, ("dim", f" {more}")] if more else line


def list_lines(items: Iterable[Mapping[str, Any]], words: str, *, condensed: bool) -> list[Line]:
    """A whole list; in short first what is left of it, then how many there are."""
    rows = list(items)
    left = [row for row in rows if row.get("status") != "completed"]
    shown = rows if not condensed or len(rows) <= _SHOWN else left[:_SHOWN]
    lines = [item_line(str(row.get("status")), str(row.get(words)), _waits(row)) for row in shown]
    if len(shown) < len(rows):
        lines.append([("dim", f"… {len(rows)} in all, {len(rows) - len(left)} completed")])
    return lines


def _waits(row: Mapping[str, Any]) -> str:
    return f"waits for {', '.join(row['blockedBy'])}" if row.get("blockedBy") else ""

"""The last line: the mode, what a message now would do, the model, how full its window is, what it has cost."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.show.words import Line, cells

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["status_line"]

_RISKY = ("bypassPermissions", "auto")
_CYCLE = " (shift+tab)"
_MIDDLE, _WIDE = 60, 100
"""From so many columns on there is room for longer words."""
_CUTS_IN = ("message cuts in", "a message now cuts in", "a message now cuts the running call short")
_WAITS = ("message waits", "a message now waits", "a message now waits for the end of this step")


def status_line(agent: "RunningAgent | None", columns: int, *, waiting: int = 0) -> Line:
    """As many of the words as fit, the weightiest first; the mode always, and during a run what a message would do."""
    if agent is None:
        return [("dim", "starting; what you type is kept")]
    mode = agent.mode
    shown: Line = [("warn" if mode in _RISKY else "accent", mode)]
    room = columns - 1 - cells(mode)
    parts = _parts(agent, columns, waiting)
    must = sum(cells(part) + 3 for _, part in parts[:2]) if agent.is_running else 0
    if room >= len(_CYCLE) + must:
        shown.append(("dim", _CYCLE))
        room -= len(_CYCLE)
    for style, part in parts:
        if cells(part) + 3 <= room:
            shown += [("dim", " · "), (style, part)]
            room -= cells(part) + 3
    return shown


def _parts(agent: "RunningAgent", columns: int, waiting: int) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    if agent.is_running:
        narrow, middle, wide = _CUTS_IN if agent.would_interrupt else _WAITS
        said = narrow if columns < _MIDDLE else middle if columns < _WIDE else wide
        parts.append(("warn" if agent.would_interrupt else "dim", said))
        parts.append(("dim", "Esc stops" if columns < _MIDDLE else "Esc interrupts"))
    running = sum(task.status == "running" for task in agent.tasks)
    if running:
        parts.append(("accent", f"{running} in the background (/tasks)"))
    if waiting:
        parts.append(("dim", f"{waiting} queued"))
    window = agent.model.context_window or 1
    parts.append(("dim", _short_name(agent.model.name)))
    parts.append(("dim", f"context {100 * agent.context_tokens // window} %"))
    if agent.cost_usd:
        parts.append(("dim", f"${agent.cost_usd:.2f}"))
    return parts


def _short_name(model: str) -> str:
    return visible(model.rpartition(":")[2].rpartition("/")[2], limit_chars=24)

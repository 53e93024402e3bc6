"""The last line: the mode, what a message now would do, the model, how full its window is, what it has cost."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.early import WAITING
from holdfast.tui.show.words import Line, cells

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["mode_words", "status_line"]

_RISKY = ("bypassPermissions", "auto")
_CYCLE = " (shift+tab)"
_MIDDLE, _WIDE = 60, 100
"""From so many columns on there is room for longer words."""
_CUTS_IN = ("message cuts in", "a message now cuts in", "a message now cuts the running call short")
_WAITS = ("message waits", "a message now waits", "a message now waits for the end of this step")


def status_line(agent: "RunningAgent | None", columns: int, *, waiting: int = 0, stops: bool = False) -> Line:
    """As many of the words as fit, the weightiest first; the mode always, and during a run what a message would do.

    Args:
        agent: Whose session it is; none while it starts.
        columns: How wide the terminal is.
        waiting: How many messages wait.
        stops: Something beside a run is under way that Esc ends.
    """
    if agent is None:
        return [("dim", WAITING)]
    shown = mode_words(agent)
    room = columns - 1 - cells(agent.mode)
    is_busy = stops or agent.is_running
    parts = [*(_busy_parts(agent, columns) if is_busy else []), *_parts(agent, waiting)]
    must = sum(cells(part) + 3 for _, part in parts[:2]) if is_busy else 0
    if room >= len(_CYCLE) + must:
        shown.append(("dim", _CYCLE))
        room -= len(_CYCLE)
    for style, part in parts:
        if cells(part) + 3 <= room:
            shown += [("dim", " · "), (style, part)]
            room -= cells(part) + 3
    return shown


def mode_words(agent: "RunningAgent | None") -> Line:
    """The permission mode, with its colour."""
    return [] if agent is None else [("warn" if agent.mode in _RISKY else "accent", agent.mode)]


def _busy_parts(agent: "RunningAgent", columns: int) -> list[tuple[str, str]]:
    cuts_in = agent.would_interrupt
    narrow, middle, wide = _CUTS_IN if cuts_in else _WAITS
    said = narrow if columns < _MIDDLE else middle if columns < _WIDE else wide
    return [("warn" if cuts_in else "dim", said), ("dim", "Esc stops" if columns < _MIDDLE else "Esc interrupts")]


def _parts(agent: "RunningAgent", waiting: int) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
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

"""The last line: the mode, what a message now would do, the model, how full its window is, what it has cost."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.show.words import Line, cells

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["status_line"]

_RISKY = ("bypassPermissions", "auto")


def status_line(agent: "RunningAgent | None", columns: int, *, waiting: int = 0) -> Line:
    """As many of the words as fit, the weightiest first."""
    if agent is None:
        return [("dim", "starting; what you type is kept")]
    mode = agent.mode
    shown: Line = [("warn" if mode in _RISKY else "accent", mode), ("dim", " (shift+tab)")]
    room = columns - 1 - sum(cells(text) for _, text in shown)
    for style, part in _parts(agent, waiting):
        if cells(part) + 3 <= room:
            shown += [("dim", " · "), (style, part)]
            room -= cells(part) + 3
    return shown


def _parts(agent: "RunningAgent", waiting: int) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    if agent.is_running:
        parts.append(("dim", "Esc interrupts"))
        if agent.would_interrupt:
            parts.append(("warn", "a message now cuts the running call short"))
        else:
            parts.append(("dim", "a message now waits for the running call"))
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

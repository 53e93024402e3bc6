"""Shift-Tab: from one permission mode to the next."""

from typing import TYPE_CHECKING

from holdfast.contract import UsageError

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["go_to_next_mode"]

_CYCLE = ("default", "acceptEdits", "plan")


def go_to_next_mode(agent: "RunningAgent", first: str) -> str:
    """Change the mode to the next one, or say why it stays; `first`, in which the session began, is one of them."""
    modes = list(dict.fromkeys((*_CYCLE, first)))
    wanted = modes[(modes.index(agent.mode) + 1) % len(modes)] if agent.mode in modes else "default"
    try:
        agent.change_mode(wanted)
    except UsageError as error:
        return str(error)
    return ""

"""What a command of the terminal is."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from holdfast.tui.conversation import Conversation

__all__ = ["Run", "SlashCommand"]

Run = Callable[["Conversation", str], Awaitable[None]]


class SlashCommand(NamedTuple):
    """One of them."""

    name: str
    about: str
    run: Run
    """Takes the words behind the name."""
    beside: bool = False
    """It only looks, so it need not wait for the end of a run."""
    is_panel: bool = False
    """It opens a panel: nothing of it stays among the lines."""

"""What a session at the terminal is started with."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.options import AgentOptions, Options

if TYPE_CHECKING:
    from holdfast.events import Event
    from holdfast.tui.ask.menu import Menu

__all__ = ["ENDS_FOR_THE_PERSON", "Launch"]

ENDS_FOR_THE_PERSON = ("interrupted", "refused")
"""How runs end that now wait for the person's words."""


class Launch(NamedTuple):
    """What the command line asked for."""

    options: Options = Options()
    agent: AgentOptions = AgentOptions()
    choice: SessionChoice = NEW_SESSION
    prompt: str | None = None
    plain: bool = False
    set_up: tuple[str, ...] = ()
    """What Setup hooks are told before the first prompt."""
    ends: bool = False
    """It ends with the first answer that the person has not stopped."""
    farewell: str = ""
    """What is said in the end, where the session says nothing of its own."""
    watched_s: float | None = None
    """Questions answer themselves after so long, with what `answers` says: a person only watches."""
    answers: "Callable[[Menu], int] | None" = None
    on_event: "Callable[[Event], None] | None" = None
    demo: "Callable[[], AbstractContextManager[Launch]] | None" = None
    """What is shown to who has no model yet."""

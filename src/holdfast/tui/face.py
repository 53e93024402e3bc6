"""What the conversation needs of whoever shows it: a screen, or plain lines."""

from typing import TYPE_CHECKING, Protocol

from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.panels.pages import Page
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.words import Line

if TYPE_CHECKING:
    from holdfast.tui.preferences import Preferences
    from holdfast.tui.show.pictures import Picture

__all__ = ["Face"]


class Face(Protocol):
    """Shows lines for good, a few more for now, and puts questions."""

    @property
    def opens(self) -> bool:
        """Panels can be opened beside everything else, also while a question waits."""
        ...

    @property
    def columns(self) -> int:
        """How wide it is now."""
        ...

    def commit(self, lines: list[Line]) -> None:
        """Show these for good."""
        ...

    def commit_piece(self, piece: Piece) -> None:
        """Show a finished piece of an answer for good."""
        ...

    def commit_picture(self, picture: "Picture") -> None:
        """Show a picture for good, where that can be done."""
        ...

    def signal(self, sequence: str) -> None:
        """Let the terminal ring, notify or have a title; nothing else is in the sequence."""
        ...

    def refresh(self) -> None:
        """Something that is shown for now has changed."""
        ...

    async def choose(self, menu: Menu) -> Chosen:
        """Put a question; several wait for each other."""
        ...

    async def open(self, page: Page) -> None:
        """Show a page until the person closes it."""
        ...

    async def edit(self, text: str) -> str | None:
        """Let the person change a text in their editor; none when that is not possible."""
        ...

    async def edit_file(self, path: str) -> bool:
        """Let the person change a file in their editor; whether that ended well."""
        ...

    def fill_input(self, text: str) -> None:
        """Put words into the input line, for the person to send."""
        ...

    def insert_input(self, text: str) -> None:
        """Put words into the input line where the cursor is."""
        ...

    def prefer(self, preferences: "Preferences") -> None:
        """Be as the person likes it."""
        ...

    def call_attention(self, text: str) -> None:
        """Somebody waits for the person, who may look elsewhere."""
        ...

    def leave(self) -> None:
        """The person wants to go."""
        ...

"""A face that keeps what it is shown."""

from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.panels.pages import Page
from holdfast.tui.preferences import Preferences
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.pictures import Picture
from holdfast.tui.show.words import Line, as_text


class MemoryFace:
    """Keeps every line; nobody sits before it, so every question is put away."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self.opens = True
        self.lines: list[str] = []
        self.signals: list[str] = []
        self.filled: list[str] = []

    @property
    def text(self) -> str:
        """What is shown for good, without doubled blank lines."""
        kept: list[str] = []
        for line in self.lines:
            if line or (kept and kept[-1]):
                kept.append(line)
        return "\n".join(kept).strip("\n")

    def commit(self, lines: list[Line]) -> None:
        self.lines += [as_text(line).rstrip() for line in lines]

    def commit_piece(self, piece: Piece) -> None:
        self.lines += piece.text.split("\n")

    def commit_picture(self, picture: Picture) -> None:
        self.lines.append(f"<picture {picture.media_type}>")

    def signal(self, sequence: str) -> None:
        self.signals.append(sequence)

    def refresh(self) -> None:
        pass

    async def choose(self, menu: Menu) -> Chosen:
        del menu
        return Chosen(None)

    async def open(self, page: Page) -> None:
        self.commit(page.all_lines())

    async def edit(self, text: str) -> str | None:
        del text
        return None

    async def edit_file(self, path: str) -> bool:
        del path
        return False

    def fill_input(self, text: str) -> None:
        self.filled.append(text)

    def insert_input(self, text: str) -> None:
        del text

    def prefer(self, preferences: Preferences) -> None:
        del preferences

    def call_attention(self, text: str) -> None:
        del text

    def leave(self) -> None:
        pass


class AnsweringFace(MemoryFace):
    """Somebody sits before it who knows the answers beforehand: a number, or a number and words."""

    def __init__(
        self, *answers: "int | tuple[int, str] | list[int] | None", columns: int = 80, edited: str = ""
    ) -> None:
        super().__init__(columns)
        self.answers = list(answers)
        self.menus: list[Menu] = []
        self.edited = edited or None

    async def choose(self, menu: Menu) -> Chosen:
        self.menus.append(menu)
        self.commit(menu.body)
        answer = self.answers.pop(0)
        if isinstance(answer, list):
            menu.answer_with_marks([place - 1 for place in answer])
        elif answer is None:
            menu.withdraw()
        else:
            number, text = answer if isinstance(answer, tuple) else (answer, "")
            menu.place = number - 1
            menu.say(text)
        return await menu.answer

    async def edit(self, text: str) -> str | None:
        del text
        return self.edited

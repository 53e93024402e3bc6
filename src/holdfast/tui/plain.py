"""Lines instead of a screen: for screen readers, dumb terminals and pipes, with the same abilities."""

import asyncio
import codecs
import os
import sys
import threading
from contextlib import suppress
from functools import partial

from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.conversation import Conversation
from holdfast.tui.holding import Holding
from holdfast.tui.launch import Launch
from holdfast.tui.notify import notification
from holdfast.tui.panels.pages import Page
from holdfast.tui.preferences import Preferences
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.pictures import Picture
from holdfast.tui.show.words import Line, prose

__all__ = ["run_plain"]


_COLUMNS = 10_000
"""Lines are not broken: a terminal does it, and whoever reads them aloud wants them whole."""
_GLYPHS = {"● ": "tool: ", "? ": "", "✻ ": "note: ", "❯ ": "you: "}  # noqa: RUF001 - the marks of the screen
_HINT = " (/output)"
_HOW_ALLOWED = "Permission required: a number and Enter. Other words are a no, and the model is told them"
_HOW_SAID = "A number and Enter, or words of your own"
_HOW = "A number and Enter; anything else dismisses the question"
_HOW_WRITTEN = "Write it, and Enter"
_HOW_MANY = "The numbers with spaces between them, and Enter"


class PlainFace:
    """Writes every line once and reads whole lines."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.is_over = asyncio.Event()
        self._asking = asyncio.Lock()
        self._asked = 0
        self.menu: Menu | None = None
        self.has_ended = False
        """Nobody can answer any more."""
        self._holding = Holding()
        self._is_blank = True
        self._notify = ""

    opens = False

    @property
    def columns(self) -> int:
        """How wide a line may be."""
        return _COLUMNS

    def commit(self, lines: list[Line]) -> None:
        """Write the lines; while a question is open, behind its answer."""
        self._holding.do(partial(self._write, lines))

    def _write(self, lines: list[Line]) -> None:
        for line in lines:
            text = "".join(_HINT if style == "hint" else _GLYPHS.get(part, part) for style, part in line).rstrip()
            if text or not self._is_blank:
                sys.stdout.write(f"{text}\n".encode("utf-8", "backslashreplace").decode())
            self._is_blank = not text
        sys.stdout.flush()

    def commit_piece(self, piece: Piece) -> None:
        """Write a piece of the answer as it is, made safe."""
        self.commit([[("", line)] for line in prose(piece.text).split("\n")])

    def commit_picture(self, picture: Picture) -> None:
        """The line of its call tells of it."""

    def signal(self, sequence: str) -> None:
        """Lines are read aloud or by programs: nothing rings in them."""

    def refresh(self) -> None:
        """Nothing is shown for now."""

    async def open(self, page: Page) -> None:
        """Write all of it."""
        self.commit([[("", page.title)], *page.all_lines(), []])

    async def edit(self, text: str) -> str | None:
        """In the editor, where there is a terminal for it."""
        from holdfast.tui.input.editor import edit_text  # noqa: PLC0415 - only for who edits

        return await edit_text(text) if sys.stdin.isatty() and sys.stdout.isatty() else None

    async def edit_file(self, path: str) -> bool:
        """The same with a file."""
        from holdfast.tui.input.editor import edit_file  # noqa: PLC0415 - only for who edits

        return await edit_file(path) if sys.stdin.isatty() and sys.stdout.isatty() else False

    def fill_input(self, text: str) -> None:
        """Say what could be sent."""
        self.commit([[("", f"suggestion: {prose(text)}")]])

    def insert_input(self, text: str) -> None:
        """Say what stands for it."""
        self.commit([[("", f"write {prose(text)} in your next line to send it")]])

    def prefer(self, preferences: Preferences) -> None:
        """Lines have no looks; only how to call counts."""
        self._notify = preferences.notify

    def call_attention(self, text: str) -> None:
        """By the bell, where it is wanted and somebody could hear it."""
        if self._notify and sys.stdout.isatty():
            notification(text, self._notify, sys.stdout.write)
            sys.stdout.flush()

    def leave(self) -> None:
        """Go."""
        self.is_over.set()

    async def choose(self, menu: Menu) -> Chosen:
        """Write the question with its numbers; the next line is the answer."""
        self._asked += 1
        try:
            return await self._choose(menu)
        finally:
            self._asked -= 1

    async def _choose(self, menu: Menu) -> Chosen:
        async with self._asking:
            if menu.answer.done():  # settled while it waited behind others
                return await menu.answer
            if self.has_ended:
                return Chosen(None)
            self._holding.release()
            if self._asked > 1:
                self._write([[], [("", f"{self._asked} questions wait; this is the first of them.")]])
            self._write([*menu.body, *menu.lines()[:1]])
            for number, option in enumerate(menu.options, 1):
                if option.value != "done" and not menu.is_only_words:
                    self._write([[("", f"{number}. {menu.labels[number - 1]}")], *menu.details.get(number - 1, [])])
            self._write([[("", _how(menu))]])
            self._holding.hold()
            self.menu = menu
            try:
                return await menu.answer
            finally:
                self.menu = None
                self._holding.answered()

    def end(self) -> None:
        """The input is over: what is open is put away, and nothing more is asked."""
        self.has_ended = True
        if self.menu is not None:
            self.menu.withdraw()

    def take(self, line: str) -> bool:
        """Whether this line is the answer to a question."""
        menu = self.menu
        if menu is None:
            return False
        if menu.is_only_words:
            menu.answer_in_words(line.strip())
            return True
        words = line.replace(",", " ").split() if menu.has_many else line.split(maxsplit=1)
        first = _place(menu, words[0]) if words else None
        if first is None:
            menu.answer_in_words(line.strip())
        elif menu.has_many:
            menu.answer_with_marks([place for word in words if (place := _place(menu, word)) is not None])
        else:
            menu.answer_with(first, words[1] if len(words) > 1 else "")
        return True


def _how(menu: Menu) -> str:
    """How this question is answered."""
    if menu.is_only_words:
        return f"{_HOW_WRITTEN}; Enter alone: {prose(menu.prefilled)}" if menu.prefilled else _HOW_WRITTEN
    if menu.has_many:
        return _HOW_MANY
    if any(option.value == "why" for option in menu.options):
        return _HOW_ALLOWED
    return _HOW_SAID if any(option.wants_text for option in menu.options) else _HOW


def _place(menu: Menu, word: str) -> int | None:
    """Which option a number means."""
    place = int(word) - 1 if word.isascii() and word.isdigit() else -1
    return place if 0 <= place < len(menu.options) else None


async def run_plain(launch: Launch, *, announcement: str = "") -> int:
    """Run a session line by line, until its input ends or somebody leaves; say at a terminal why it is so."""
    face = PlainFace()
    if sys.stdout.isatty():
        face.commit([[("", f"[Lines instead of a screen, for screen readers too: on by {announcement}]")]])
    talk = Conversation(face, launch)
    reader = threading.Thread(target=_read, args=(asyncio.get_running_loop(), face.lines), name="stdin", daemon=True)
    reader.start()
    work = asyncio.create_task(talk.run())
    over = asyncio.create_task(face.is_over.wait())
    reading = asyncio.create_task(_read_all(face, talk))
    try:
        await asyncio.wait({work, over, reading}, return_when=asyncio.FIRST_COMPLETED)
        if work.done() and not work.cancelled() and (error := work.exception()):
            raise error
    finally:
        for task in (work, over, reading):
            task.cancel()
        await asyncio.wait({work, over, reading})
        await talk.close()
    return 0


async def _read_all(face: PlainFace, talk: Conversation) -> None:
    while (line := await face.lines.get()) is not None:
        if not face.take(line) and line.strip():
            talk.submit(line)
    face.end()
    await talk.idle()


def _read(loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[str | None]") -> None:
    """Hand over the lines of standard input, then None. By descriptor: a reader that waits holds no lock."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    with suppress(RuntimeError):  # the loop has ended: nobody wants the rest
        while chunk := _chunk():
            *found, rest = (rest + decoder.decode(chunk)).split("\n")
            for line in found:
                loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\r"))
        if rest:
            loop.call_soon_threadsafe(lines.put_nowait, rest)
        loop.call_soon_threadsafe(lines.put_nowait, None)


def _chunk() -> bytes:
    try:
        return os.read(0, 1 << 16)
    except OSError:  # the terminal went away: as good as the end
        return b""

"""A run that somebody only watches, as lines: `holdfast -p` in a terminal. It looks as the session does."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from holdfast.app.call_lines import CallLines
from holdfast.events import Event, PromptSubmitted
from holdfast.lib.visible import without_controls
from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.panels.pages import Page
from holdfast.tui.preferences import Preferences, early_preferences, preferences_of
from holdfast.tui.show.markdown import MarkdownStream, Piece
from holdfast.tui.show.pictures import Picture, picture_lines
from holdfast.tui.show.themes import Theme, choose_theme
from holdfast.tui.show.view import View
from holdfast.tui.show.words import Line, as_ansi, cut

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.contract import Tool

__all__ = ["WatchedRun", "drawn_answer", "is_watched"]

_CLEAR = "\r\x1b[K"
_EVERY_S = 0.1


def is_watched() -> bool:
    """A person sees both of our streams, on a terminal that can move its cursor."""
    return (
        sys.stdout.isatty()
        and sys.stderr.isatty()
        and os.environ.get("TERM", "dumb") not in ("dumb", "", "unknown")
        and not any(os.environ.get(name) not in (None, "", "0", "false") for name in _READERS)
    )


_READERS = ("HOLDFAST_SCREEN_READER", "CLAUDE_AX_SCREEN_READER")


class WatchedRun:
    """Shows a run's events on standard output; nobody is asked anything."""

    def __init__(self, agent: "RunningAgent") -> None:
        self._face = _WrittenLines(preferences_of(agent.rights.settings))
        self._view = View(self._face)
        lines = CallLines(partial(_tool_of, agent))
        naming = self._view.naming
        naming.use_of = lambda name, raw: lines.use(name, raw).replace(f"{agent.cwd}{os.sep}", "")
        naming.fold_of, naming.result_of = agent.folds_into, lines.own_result
        self._face.live = self._view.live

    def take(self, event: Event) -> None:
        """Show one event; the prompt stands on the screen already."""
        if not isinstance(event, PromptSubmitted):
            self._view.take(event)

    def close(self) -> None:
        """Nothing moves any more."""
        self._face.clear()


def drawn_answer(text: str) -> str:
    """A whole answer as the session would draw it; plain and safe where nobody watches."""
    if not is_watched():
        return without_controls(text)
    from holdfast.tui.show.rich_text import render  # noqa: PLC0415 - see above

    face = _WrittenLines(early_preferences())
    stream = MarkdownStream()
    pieces = [*stream.feed(text), *stream.end()]
    return "\n\n".join(render(piece, columns=face.columns, theme=face.theme) for piece in pieces)


class _WrittenLines:
    """A face that writes every line once, and below them one that moves."""

    def __init__(self, preferences: Preferences) -> None:
        self.theme: Theme | None = None if os.environ.get("NO_COLOR") else choose_theme(preferences.theme)
        self._is_blank = True
        self._was_code = False
        self._has_moving = False
        self._moved_s = 0.0
        self.live: Callable[[int], list[Line]] = _nothing

    opens = False

    @property
    def columns(self) -> int:
        """How wide the terminal is."""
        return os.get_terminal_size(sys.stdout.fileno()).columns

    def commit(self, lines: list[Line]) -> None:
        """Write the lines."""
        self._was_code = False
        shown = [[piece for piece in line if piece[0] != "hint"] for line in lines]
        self._write([as_ansi(line, self.theme) if line else "" for line in shown])

    def commit_piece(self, piece: Piece) -> None:
        """Write a finished piece of the answer."""
        from holdfast.tui.show.rich_text import render  # noqa: PLC0415 - rich waits for the first answer

        is_code = piece.language is not None
        lines = render(piece, columns=self.columns, theme=self.theme).split("\n")
        if self._was_code and (piece.begins or not is_code):
            lines.insert(0, "")
        self._write(lines if is_code else [*lines, ""], keeps_blank=is_code)
        self._was_code = is_code

    def commit_picture(self, picture: Picture) -> None:
        """Draw it, where the terminal can."""
        if lines := picture_lines(picture):
            self._write(lines, keeps_blank=True)

    def _write(self, lines: list[str], *, keeps_blank: bool = False) -> None:
        self.clear()
        for line in lines:
            if line or keeps_blank or not self._is_blank:
                sys.stdout.write(f"{line}\n")
            self._is_blank = not line
        sys.stdout.flush()

    def refresh(self) -> None:
        """Show how it goes on in one line, not too often."""
        now = time.monotonic()
        if now - self._moved_s < _EVERY_S:
            return
        self._moved_s = now
        lines = self.live(1)
        if lines:
            room = self.columns - 1
            line = [(style, cut(text, room)) for style, text in lines[-1]][:3]
            sys.stdout.write(_CLEAR + as_ansi(line, self.theme))
            sys.stdout.flush()
            self._has_moving = True

    def clear(self) -> None:
        """Take the moving line away."""
        if self._has_moving:
            self._has_moving = False
            sys.stdout.write(_CLEAR)
            sys.stdout.flush()

    async def choose(self, menu: Menu) -> Chosen:
        """Nobody is asked."""
        del menu
        return Chosen(None)

    async def open(self, page: Page) -> None:
        """Nobody opens anything."""
        del page

    async def edit(self, text: str) -> str | None:
        """Nobody edits."""
        del text
        return None

    async def edit_file(self, path: str) -> bool:
        """Nobody edits."""
        del path
        return False

    def fill_input(self, text: str) -> None:
        """There is no line to type in."""
        del text

    def insert_input(self, text: str) -> None:
        """There is no line to type in."""
        del text

    def prefer(self, preferences: Preferences) -> None:
        """Taken at the start."""
        del preferences

    def call_attention(self, text: str) -> None:
        """Who started it waits for it."""
        del text

    def signal(self, sequence: str) -> None:
        """Send what a hook may send."""
        sys.stdout.write(sequence)
        sys.stdout.flush()

    def leave(self) -> None:
        """It ends by itself."""


def _nothing(rows: int) -> list[Line]:
    del rows
    return []


def _tool_of(agent: "RunningAgent", name: str) -> "Tool | None":
    found = agent.tools.find(name)
    return None if found is None else found.tool

"""The terminal: a small live region at the bottom, and everything that is finished above it, written once."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import ConditionalProcessor, PasswordProcessor
from prompt_toolkit.output import Output
from prompt_toolkit.styles import DynamicStyle
from prompt_toolkit.widgets import SearchToolbar

from holdfast.tui.ask.menu import Chosen, Menu
from holdfast.tui.ask.queue import QuestionQueue
from holdfast.tui.background import ASK, BackgroundReply, may_be_asked
from holdfast.tui.early import MARK
from holdfast.tui.holding import Holding
from holdfast.tui.input.keys import Actions, Keys
from holdfast.tui.input.spelling import SpellingOut
from holdfast.tui.looks import offer_lines, style_of, terminal_output
from holdfast.tui.notify import notification
from holdfast.tui.panels.pages import Page, cut_line
from holdfast.tui.preferences import Preferences
from holdfast.tui.scrollback import Scrollback
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.pictures import Picture, picture_lines
from holdfast.tui.show.themes import Theme, choose_theme
from holdfast.tui.show.words import Line, as_ansi, fragments

if TYPE_CHECKING:
    from holdfast.tui.panels.panel import Panel

__all__ = ["Screen"]

_REFRESH_S = 0.06
_LIVE_ROWS = 8
_INPUT_ROWS = 6
_NARROW = 60


class Screen:
    """A face in the normal screen. It never clears it, and takes no mouse."""

    def __init__(
        self,
        *,
        history: History | None = None,
        given_input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.actions = Actions()
        self.theme: Theme | None = None if os.environ.get("NO_COLOR") else choose_theme("auto")
        self._wanted_theme = "auto"
        self._background = ""
        """What the terminal has said of its background."""
        self._reply: BackgroundReply | None = None
        self._notify = ""
        self._refreshed_s = 0.0
        self._live_of = -1
        self._live_lines: list[Line] = []
        self._refreshing: asyncio.TimerHandle | None = None
        self.questions = QuestionQueue(self)
        self.menus = self.questions.menus
        self.holding = Holding()
        self._panel: Panel | None = None
        self._was_code = False
        self._jobs: list[asyncio.Future[None]] = []
        self.buffer = Buffer(
            multiline=True,
            history=history,
            complete_while_typing=Condition(lambda: self.buffer.text.startswith("/") or "@" in self.buffer.text),
        )
        self._style = DynamicStyle(lambda: style_of(self.theme))
        self.app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=Keys(self).bindings(),
            style=self._style,
            full_screen=False,
            erase_when_done=True,
            mouse_support=False,
            min_redraw_interval=0.005,
            refresh_interval=0.5,
            input=given_input,
            output=output or terminal_output(),
        )
        self.paper = Scrollback(self.app)
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.05  # keys with Alt come at once; nobody waits for Esc

    # The face.

    opens = True

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self.app.output.get_size().columns

    def commit(self, lines: list[Line]) -> None:
        """Show these for good; while a question is open, behind its answer."""
        self.holding.do(partial(self.write, lines))

    def write(self, lines: list[Line]) -> None:
        """Show these for good now."""
        self._was_code = False
        self.paper.write([as_ansi(line, self.theme) if line else "" for line in lines])

    def commit_piece(self, piece: Piece) -> None:
        """Show a finished piece of an answer for good."""
        self.holding.do(partial(self._write_piece, piece))

    def _write_piece(self, piece: Piece) -> None:
        from holdfast.tui.show.rich_text import render  # noqa: PLC0415 - rich waits for the first answer

        is_code = piece.language is not None
        lines = render(piece, columns=self.columns, theme=self.theme).split("\n")
        if self._was_code and (piece.begins or not is_code):
            lines.insert(0, "")
        self.paper.write(lines if is_code else [*lines, ""], keeps_blank=is_code)
        self._was_code = is_code

    def commit_picture(self, picture: Picture) -> None:
        """Draw it, where the terminal can."""
        if lines := picture_lines(picture):
            self.holding.do(partial(self.paper.write, lines, keeps_blank=True))

    def signal(self, sequence: str) -> None:
        """Let the terminal ring, notify or have a title."""
        self.app.output.write_raw(sequence)
        self.app.output.flush()

    def refresh(self) -> None:
        """Draw the live region anew, soon; not so often that keys, which are drawn at once, would have to wait."""
        wait_s = self._refreshed_s + _REFRESH_S - time.monotonic()
        if self.app.loop is None or wait_s <= 0:
            self._refresh_now()
        elif self._refreshing is None:
            self._refreshing = self.app.loop.call_later(wait_s, self._refresh_now)

    def _refresh_now(self) -> None:
        self._refreshing = None
        self._refreshed_s = time.monotonic()
        self.app.invalidate()

    async def choose(self, menu: Menu) -> Chosen:
        """Put a question behind those that wait."""
        return await self.questions.choose(menu)

    async def open(self, page: Page) -> None:
        """Show a page above everything until the person closes it; lines and questions wait meanwhile."""
        await self._open(page, lambda: "a question waits for you: Esc" if self.menus else "")

    async def _open(self, page: Page, notice: Callable[[], str]) -> None:
        from holdfast.tui.panels.panel import Panel  # noqa: PLC0415 - with the first one

        if self._panel is not None or not self.app.is_running:
            return
        panel = Panel(page, style=self._style, given_input=self.app.input, output=self.app.output)
        panel.notice = notice
        async with self._set_aside():
            self._panel = panel
            try:
                await panel.run()
            finally:
                self._panel = None
                self.questions.uncovered()
        self.questions.show_first()

    def open_beside(self, page: Page) -> None:
        """Show a page about the questions themselves."""
        self._spawn(self._open(page, lambda: ""))

    @property
    def has_panel(self) -> bool:
        """A panel covers everything."""
        return self._panel is not None

    def tell_panel(self, *, rings: bool) -> None:
        """Something waits behind the panel."""
        if self._panel is not None:
            if rings:
                self.app.output.bell()
            self._panel.app.invalidate()

    def close_panel(self) -> None:
        """Close it, where one is open."""
        if self._panel is not None:
            self._panel.close()

    async def edit(self, text: str) -> str | None:
        """In the editor, which has the terminal meanwhile."""
        from holdfast.tui.input.editor import edit_text  # noqa: PLC0415 - only for who edits

        async with self._set_aside():
            return await edit_text(text)

    async def edit_file(self, path: str) -> bool:
        """The same with a file."""
        from holdfast.tui.input.editor import edit_file  # noqa: PLC0415 - only for who edits

        async with self._set_aside():
            return await edit_file(path)

    @asynccontextmanager
    async def _set_aside(self) -> AsyncGenerator[None]:
        """Somebody else has the terminal: lines wait, keys are theirs."""
        self.paper.flush()
        async with in_terminal():
            self.paper.is_covered = True
            try:
                yield
            finally:
                self.paper.is_covered = False
        self.paper.flush()

    def fill_input(self, text: str) -> None:
        """Put words into the input line."""
        self.buffer.text = text
        self.buffer.cursor_position = len(text)
        self.refresh()

    def insert_input(self, text: str) -> None:
        """Put words where the cursor is."""
        self.buffer.insert_text(text)
        self.refresh()

    def edit_input(self) -> None:
        """Go on with the line in the editor."""

        async def edit() -> None:
            edited = await self.edit(self.buffer.text)
            if edited is not None:
                self.fill_input(edited.rstrip("\n"))
            else:
                self.commit([[("warn", "nothing was edited: no editor could be started, or it failed; see EDITOR")]])

        self._spawn(edit())

    def prefer(self, preferences: Preferences) -> None:
        """Take the theme and the way to call."""
        self._wanted_theme, self._notify = preferences.theme, preferences.notify
        self._take_background(self._background)

    def ask_background(self) -> None:
        """Let the terminal say whether it is light or dark; what it answers is no key."""
        parser = getattr(self.app.input, "vt100_parser", None)
        if self.theme is not None and parser is not None and may_be_asked():
            self._reply = BackgroundReply(parser.feed, self._take_background)
            parser.feed = self._reply.feed
            self.signal(ASK)
            self._reply.asked()

    def _take_background(self, background: str) -> None:
        self._background = background
        if self.theme is not None:
            self.theme = choose_theme(self._wanted_theme, background=background)
            self.refresh()

    def ended(self) -> None:
        """Nothing is read here any more."""
        if self._reply is not None:
            self._reply.drop_late(self.app.input.fileno())

    def call_attention(self, text: str) -> None:
        """By the bell or a message of the terminal's, where the person wants that."""
        if self._notify:
            notification(text, self._notify, self.app.output.write_raw)
            self.app.output.flush()

    def leave(self) -> None:
        """End the application; what is committed stays."""
        self.close_panel()
        self.holding.release()
        self.paper.flush(draws=False)  # who cannot draw any more can still leave
        if self.app.is_running and not self.app.is_done:
            self.buffer.reset()
            self.app.exit()

    def complete_with(self, completer: Completer) -> None:
        """Offer what this one finds, without making the keys wait."""
        self.buffer.completer = ThreadedCompleter(completer)

    def _spawn(self, work: "Coroutine[Any, Any, None]") -> None:
        self._jobs = [job for job in self._jobs if not job.done()]
        self._jobs.append(asyncio.ensure_future(work))

    # The live region.

    def _layout(self) -> Layout:
        has_menu = Condition(lambda: bool(self.menus))
        is_writing = Condition(lambda: not self.menus or self.menus[0].is_typing)
        has_offers = Condition(lambda: self.buffer.complete_state is not None and not self.menus)
        searching = SearchToolbar(vi_mode=False, backward_search_prompt="earlier lines with: ")
        text = Window(
            BufferControl(
                self.buffer,
                input_processors=[
                    ConditionalProcessor(
                        PasswordProcessor(), Condition(lambda: bool(self.menus) and self.menus[0].is_secret)
                    ),
                    SpellingOut(),
                ],
                search_buffer_control=searching.control,
                preview_search=True,
            ),
            height=Dimension(min=1, max=_INPUT_ROWS),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=self._before_line,
        )
        offers = self._window(lambda: offer_lines(self.buffer.complete_state, self.columns - 1))
        rows: list[Any] = [
            ConditionalContainer(self._window(self._live), Condition(lambda: not self.menus and bool(self._live()))),
            ConditionalContainer(self._window(self._menu_lines), has_menu),
            ConditionalContainer(text, is_writing),
            searching,
            ConditionalContainer(offers, has_offers),
            ConditionalContainer(
                Window(
                    FormattedTextControl(lambda: to_formatted_text(ANSI(self.actions.own_status()))),
                    height=1,
                    dont_extend_height=True,
                ),
                Condition(lambda: bool(self.actions.own_status()) and not self.menus),
            ),
            Window(FormattedTextControl(self._status), height=1, dont_extend_height=True),
        ]
        return Layout(HSplit(rows), focused_element=text)

    def _window(self, lines: Callable[[], list[Line]]) -> Window:
        return Window(
            FormattedTextControl(lambda: fragments(lines())), dont_extend_height=True, wrap_lines=True, height=None
        )

    def _live(self) -> list[Line]:
        if self._live_of != self.app.render_counter:  # several parts of the layout ask for each drawing
            rows = self.app.output.get_size().rows
            self._live_of, self._live_lines = (
                self.app.render_counter,
                self.actions.live(max(1, min(_LIVE_ROWS, rows - 5))),
            )
        return self._live_lines

    def _menu_lines(self) -> list[Line]:
        if not self.menus:
            return []
        size = self.app.output.get_size()
        typing = _INPUT_ROWS if self.menus[0].is_typing else 0
        return self.menus[0].lines(size.columns - 1, max(3, size.rows - 2 - typing))

    def _before_line(self, number: int, part: int) -> StyleAndTextTuples:
        mark = "say: " if self.menus else MARK
        return [("class:hf-you", mark)] if not number and not part else [("", " " * len(mark))]

    def _status(self) -> StyleAndTextTuples:
        if self.menus:
            hint = self.menus[0].hint(len(self.menus) - 1, is_narrow=self.columns < _NARROW)
            mode = [*self.actions.mode(), ("dim", " · ")] if self.actions.mode() else []
            return fragments([cut_line([*mode, ("dim", hint)], self.columns - 1)])
        return fragments([self.actions.status()])

"""A panel: pages in the alternate screen, on demand. The conversation waits below and comes back untouched."""

import asyncio
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output
from prompt_toolkit.styles import BaseStyle

from holdfast.tui.panels.pages import Page, TextPage, cut_line
from holdfast.tui.show.words import Line, cut, fragments

__all__ = ["Panel"]

_KEYS = ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter")
_LETTERS = "gGnxsrdyea "


class Panel:
    """Shows one page, and those that open from it."""

    def __init__(self, page: Page, *, style: BaseStyle, given_input: Input, output: Output) -> None:
        self.notice: Callable[[], str] = lambda: ""
        """What the person should know meanwhile, such as a question that waits."""
        self._pages = [page]
        self._typed: str | None = None
        """A search that is being typed."""
        self._jobs: set[asyncio.Task[Any]] = set()
        windows = HSplit(
            [
                Window(FormattedTextControl(self._head), height=1),
                Window(FormattedTextControl(self._body, focusable=True, show_cursor=False)),
                Window(FormattedTextControl(self._foot), height=1),
            ]
        )
        self.app: Application[None] = Application(
            layout=Layout(windows),
            key_bindings=self._bindings(),
            style=style,
            full_screen=True,
            mouse_support=False,
            refresh_interval=0.5,
            input=given_input,
            output=output,
        )
        self.app.ttimeoutlen = 0.05

    async def run(self) -> None:
        """Show it until the person closes it."""
        try:
            await self.app.run_async()
        finally:
            for job in self._jobs:
                job.cancel()

    def close(self) -> None:
        """Close it from outside."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    @property
    def _page(self) -> Page:
        while len(self._pages) > 1 and self._pages[-1].is_over:
            self._pages.pop()
        return self._pages[-1]

    @property
    def _rows(self) -> int:
        return max(1, self.app.output.get_size().rows - 2)

    @property
    def _columns(self) -> int:
        return max(10, self.app.output.get_size().columns - 1)

    def _head(self) -> StyleAndTextTuples:
        return fragments([[("accent", "▌ "), ("bold", cut(self._page.title, self._columns - 2))]])

    def _body(self) -> StyleAndTextTuples:
        return fragments(self._page.view(self._columns, self._rows))

    def _foot(self) -> StyleAndTextTuples:
        if self._typed is not None:
            return fragments([[("accent", cut(f"/{self._typed}", self._columns))]])
        notice, hint = self.notice(), self._page.hint()
        line: Line = [("warn", cut(notice, self._columns)), ("dim", f" · {hint}")] if notice else [("dim", hint)]
        return fragments([cut_line(line, self._columns)])

    # Keys.

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        for name in (*_KEYS, *_LETTERS):
            keys.add(name)(self._pressed(name))
        keys.add("backspace")(self._rub_out)
        keys.add("<any>")(self._typed_key)
        keys.add("escape", eager=True)(self._back)
        for name in ("q", "c-c", "c-o", "c-d", "<sigint>"):
            keys.add(name)(self._pressed(name))
        keys.add("/")(self._pressed("/"))
        return keys

    def _pressed(self, name: str) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            del event
            if self._typed is not None and name not in ("c-c", "c-o", "c-d", "<sigint>"):
                self._search_key(name)
            elif name in ("q", "c-c", "c-o", "c-d", "<sigint>"):
                self.close()
            elif name == "/":
                self._typed = "" if isinstance(self._page, TextPage) else None
            else:
                self._act(name)

        return handle

    def _act(self, name: str) -> None:
        found = self._page.key(name, self._rows)
        if isinstance(found, Page):
            if name in ("left", "right"):
                self._pages.pop()
            self._pages.append(found)
        elif found is not None:
            job: asyncio.Task[Any] = asyncio.ensure_future(found)
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)

    def _search_key(self, name: str) -> None:
        page = self._page
        if name == "enter" and isinstance(page, TextPage):
            page.search(self._typed or "")
            self._typed = None
        elif len(name) == 1:
            self._typed = (self._typed or "") + name

    def _typed_key(self, event: KeyPressEvent) -> None:
        if self._typed is not None and event.data.isprintable():
            self._typed += event.data

    def _rub_out(self, event: KeyPressEvent) -> None:
        del event
        if self._typed is not None:
            self._typed = self._typed[:-1]

    def _back(self, event: KeyPressEvent) -> None:
        del event
        if self._typed is not None:
            self._typed = None
        elif len(self._pages) > 1:
            self._pages.pop()
        else:
            self.close()

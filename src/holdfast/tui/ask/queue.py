"""The questions that wait for the person: one is on the screen, the others are a key away."""

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from holdfast.tui.ask.menu import GUARD_S, Chosen, Menu
from holdfast.tui.panels.pages import TextPage
from holdfast.tui.show.words import wrapped

if TYPE_CHECKING:
    from holdfast.tui.screen import Screen

__all__ = ["QuestionQueue"]


class QuestionQueue:
    """Puts them one after the other, and takes the input line for each that wants words."""

    def __init__(self, screen: "Screen") -> None:
        self._screen = screen
        self.menus: deque[Menu] = deque()
        """The first one is on the screen."""
        self.is_reviewing = False
        """A panel shows the list of them."""
        self._shown: Menu | None = None
        self._draft = ""
        """What was being typed when the first one came."""

    async def choose(self, menu: Menu) -> Chosen:
        """Put a question behind those that wait."""
        screen = self._screen
        if not self.menus:
            self._draft = screen.buffer.text
        self.menus.append(menu)
        if len(self.menus) == 1:
            self._show(menu)
        try:
            chosen = await menu.answer
            if menu.body and not menu.was_shown and chosen.value is not None:  # answered in the list
                screen.holding.do(partial(self._write_body, menu))
            return chosen
        finally:
            was_first = self.menus[0] is menu
            self.menus.remove(menu)
            if was_first:
                screen.holding.answered()
            if self.menus and was_first:
                self.menus[0].deafen()
                asyncio.get_running_loop().call_soon(self.show_first)  # behind what is told of this one
            elif not self.menus:
                screen.fill_input(self._draft)
                self._end_review()
            screen.refresh()

    def go(self, step: int) -> None:
        """Go to another of the questions that wait."""
        if len(self.menus) > 1:
            self.menus.rotate(-step)
            self._show(self.menus[0])

    def review(self) -> None:
        """Show all the questions that wait in one list, to be answered there."""

        def go(menu: Menu) -> None:
            self.menus.remove(menu)
            self.menus.appendleft(menu)
            self._end_review()

        if len(self.menus) > 1:
            from holdfast.tui.panels.questions import questions_page  # noqa: PLC0415 - only for several

            self.is_reviewing = True
            self._screen.open_beside(questions_page(lambda: self.menus, go))

    def open_whole(self) -> None:
        """Show all that the first question is about."""
        menu = self.menus[0]
        lines = menu.body if menu.opens is None else menu.opens()
        self._screen.open_beside(TextPage(menu.title, lambda: lines))

    def uncovered(self) -> None:
        """A panel is closed: no key counts for a moment."""
        self.is_reviewing = False
        for menu in self.menus:  # before it is drawn again
            menu.deafen()

    def show_first(self) -> None:
        """Draw the first of those that wait."""
        if self.menus:
            self._show(self.menus[0])

    def _end_review(self) -> None:
        if self.is_reviewing:
            self._screen.close_panel()

    def _show(self, menu: Menu) -> None:
        screen = self._screen
        if screen.has_panel:  # it is shown when the panel is closed
            screen.tell_panel(rings=not self.is_reviewing)
            return
        if menu is not self._shown:
            if menu.body or self._shown in self.menus:  # another question: what came meanwhile stands above it
                screen.holding.release()
            self._shown = menu
            screen.fill_input(menu.prefilled if menu.is_typing else "")
        if menu.body and not menu.was_shown:
            self._write_body(menu)
        screen.holding.hold()
        screen.paper.flush()
        menu.shown()
        screen.refresh()
        if screen.app.loop is not None:
            screen.app.loop.call_later(GUARD_S, screen.refresh)  # then keys count, and the hint says so

    def _write_body(self, menu: Menu) -> None:
        columns = self._screen.columns - 1
        self._screen.write([part for line in menu.body for part in wrapped(line, columns)])
